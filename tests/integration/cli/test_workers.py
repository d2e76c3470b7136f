"""Does `windlass workers` say who is there and how each stands, and does `drain` ask exactly one of them to leave?"""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.conformance import given
from tests.integration.cli.scene import Scene
from windlass.cli import workers as cli
from windlass.cli.terminal import ASCII, UNICODE, Screen
from windlass.engine.coordinator import expire_workers
from windlass.model.commands import Heartbeat, RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.time import HOUR, SECOND, Duration, Instant
from windlass.model.worker import Served, ServedPipeline, Worker
from windlass.testing.harness import Harness

ORDERS = (Served("default", "order"), Served("default", "refund"))
LETTERS = (Served("mail", "letter", "2"),)


def id_of(letter: str) -> WorkerId:
    return WorkerId(f"wrk_01KD{letter * 22}")


async def register(harness: Harness, letter: str, *, served: tuple[Served, ...] = ORDERS, **fields: Any) -> None:
    values: dict[str, Any] = {"host": f"box-{letter.lower()}", "pid": 71, "slots": 10}
    command = RegisterWorker(namespace="default", id=id_of(letter), served=served, **(values | fields))
    # Without a lock: nobody stands behind these, and none of them is to be found dead.
    await harness.opened.engine.parts.store.run_tx("register", lambda tx: tx.workers.register(command))


async def beat(harness: Harness, letter: str, **counts: int) -> None:
    values: dict[str, Any] = {"active": 0, "completed": 0, "failed": 0, **counts}
    await harness.opened.work.heartbeat(Heartbeat(namespace="default", id=id_of(letter), **values))


async def hold(harness: Harness, letter: str, *, count: int, after: int = 0) -> None:
    """Let a worker claim that many runs, and say nothing about it yet."""
    store = harness.opened.engine.parts.store
    await given.create(store, *(given.new_run(after + number) for number in range(1, count + 1)))
    assert len(await given.claim(store, limit=count, worker=id_of(letter))) == count


async def a_fleet(harness: Harness) -> None:
    """One of each kind."""
    for letter in "XYZ":
        await register(harness, letter)
    await harness.opened.work.deregister_worker("default", id_of("Y"))
    harness.clock.advance("31s")
    await expire_workers.tick(harness.opened.engine.parts, silent_for=Duration(30 * SECOND), batch=1)
    harness.clock.advance("1h")
    await register(harness, "A")
    await register(harness, "B", served=LETTERS, slots=2)
    harness.clock.advance("90s")
    await beat(harness, "A", active=9, completed=1_240, failed=2)
    await beat(harness, "B")
    await hold(harness, "A", count=3)
    await hold(harness, "B", count=1, after=3)
    await harness.opened.control.drain_worker("default", id_of("B"))
    harness.clock.advance("4s")


def test_a_worker_is_listed_with_where_it_runs_how_it_stands_and_what_it_does(either: Scene) -> None:
    either.play(a_fleet, has_worker=False)

    shown = either.shown("workers").splitlines()

    assert [line.split() for line in shown] == [
        ["id", "status", "where", "runs", "done", "failed", "seen", "started", "serves"],
        [id_of("A"), "✓", "online", "box-a:71", "3/10", "1,240", "2", "4", "s", "1", "min", "order,", "refund"],
        [id_of("B"), "…", "draining", "box-b:71", "1/2", "0", "0", "4", "s", "1", "min", "mail/letter@2"],
        [id_of("Z"), "↯", "silent", "box-z:71", "0/10", "0", "0", "1", "h", "1", "h", "order,", "refund"],
    ]


def test_those_that_have_stopped_are_shown_if_asked_for_and_only_for_a_day(scene: Scene) -> None:
    scene.play(a_fleet, has_worker=False)

    *_, lost, left, note = scene.shown("workers", "--all").splitlines()

    assert lost.startswith(f"{id_of('X')}  ↯ offline ")
    assert left.startswith(f"{id_of('Y')}  ⊘ offline ")
    assert note == "↯ 1 worker said no goodbye: found dead, or silent for too long."
    assert left.split()[3:6] == ["box-y:71", "0", "0"]  # no slots any more
    scene.clock.advance("24h")
    assert len(scene.shown("workers", "--all").splitlines()) == 4


def test_as_json_everything_is_there(scene: Scene) -> None:
    scene.play(a_fleet, has_worker=False)

    found = {item["id"]: item for item in scene.json("workers", "--all")["workers"]}

    stands = {id[-1]: (item["status"], item["said_goodbye"], item["is_draining"]) for id, item in found.items()}
    assert stands == {
        "A": ("online", False, False),
        "B": ("draining", False, True),
        "Z": ("silent", False, False),
        "X": ("offline", False, False),
        "Y": ("offline", True, False),
    }
    assert found[id_of("B")] == {
        "id": id_of("B"),
        "namespace": "default",
        "host": "box-b",
        "pid": 71,
        "status": "draining",
        "is_draining": True,
        "said_goodbye": False,
        "serves": [{"queue": "mail", "workflow": "letter", "version": "2"}],
        "pipelines": [],
        "active": 1,
        "slots": 2,
        "completed": 0,
        "failed": 0,
        "started_at": "2026-01-01T01:00:31.000000Z",
        "seen_at": "2026-01-01T01:02:01.000000Z",
        "stopped_at": None,
    }


def test_how_long_a_silence_may_be_is_a_setting(scene: Scene) -> None:
    scene.play(a_fleet, has_worker=False)

    shown = scene.shown("workers", WINDLASS_COORDINATOR_WORKER_STALE_THRESHOLD_SECS="3")

    assert shown.count("silent") == 3


def test_where_nobody_is_it_says_how_to_start_one(scene: Scene) -> None:
    scene.play(register_and_leave, has_worker=False)

    assert scene.shown("workers") == (
        "No workers are there, so nothing is executed. Start one in the folder of your code:\n"
        "  windlass --url shop.db worker MODULE:APP\n"
        "  windlass --url shop.db worker MODULE:APP --queue NAME --slots 10\n"
        'Or inside a program: "async with app.worker():". '
        "Those that have stopped: windlass --url shop.db workers --all\n"
    )
    assert scene.json("workers") == {"workers": []}
    assert scene.shown("--namespace", "other", "workers", "--all").endswith("None has stopped within a day.\n")


async def register_and_leave(harness: Harness) -> None:
    await register(harness, "A")
    await harness.opened.work.deregister_worker("default", id_of("A"))


# On a narrow screen


def a_worker(**changes: Any) -> Worker:
    fields: dict[str, Any] = {
        "namespace": "default",
        "id": id_of("A"),
        "host": "web-1.europe.internal.example",
        "pid": 33_001,
        "served": tuple(Served("default", name) for name in ("order", "refund", "nightly_report", "invoice")),
        "slots": 100,
        "active": 12,
        "completed": 18_240,
        "failed": 2,
        "started_at": Instant(HOUR),
        "seen_at": Instant(3 * HOUR),
    }
    return Worker(**(fields | changes))


def drawn(*found: Worker, width: int, is_ascii: bool = False) -> list[str]:
    table = cli.table(
        found,
        now=Instant(3 * HOUR),
        silent_for=Duration(30 * SECOND),
        width=width,
        glyphs=ASCII if is_ascii else UNICODE,
    )
    return Screen(io.StringIO()).draw(table, width=10_000).splitlines()


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200])
def test_no_line_is_longer_than_the_screen(width: int) -> None:
    lines = drawn(a_worker(), a_worker(id=id_of("B"), host="日本" * 20, failed=0), width=width)

    assert max(map(len, lines)) <= width


def test_where_there_is_little_room_ids_are_short_and_counts_go_first() -> None:
    header, row, *_ = drawn(a_worker(), a_worker(id=id_of("B"), failed=0), width=80)

    assert header.split() == ["id", "status", "where", "runs", "failed", "seen", "serves"]
    assert row.split()[:6] == ["wrk_01KDAAAAAA", "✓", "online", "web-1.…:33001", "12/100", "2"]
    assert row.endswith("  order, refund, +2")


def test_a_terminal_without_unicode_gets_signs_it_can_show() -> None:
    silent, draining = a_worker(seen_at=Instant(0)), a_worker(id=id_of("B"), is_draining=True)

    _, first, second = drawn(silent, draining, width=120, is_ascii=True)

    assert (" ! silent " in first, " ~ draining " in second) == (True, True)
    assert (first.isascii(), second.isascii()) == (True, True)


def test_what_a_worker_says_about_itself_cannot_move_the_cursor(scene: Scene) -> None:
    async def hostile(harness: Harness) -> None:
        await register(harness, "A", host="be\x1b[2Jta", served=(Served("default", "or\x07der"),))

    scene.play(hostile, has_worker=False)

    assert "be\\x1b[2Jta:71" in scene.shown("workers")
    assert "or\\x07der" in scene.shown("workers")


# Drain


def test_a_worker_is_asked_to_leave_by_the_beginning_of_its_id(either: Scene) -> None:
    either.play(a_fleet, has_worker=False)

    said = either.shown("workers", "drain", "01KDA", "--by", "ann")

    assert said.startswith(
        f"{id_of('A')} on box-a (pid 71) is asked to leave: it takes nothing new, "
        "and goes once what it has at work in 3 slots has ended or its grace is over. See: windlass --url "
    )
    assert either.json("workers", "drain", id_of("A"))["status"] == "draining"  # asked again, it stays so

    async def read(harness: Harness) -> list[Any]:
        store = harness.opened.engine.parts.store
        return await store.read("log", lambda tx: tx.log.of_subject("default", kind="worker", id=id_of("A")))

    (entry,) = either.play(read, has_worker=False)
    assert (entry.to_status, entry.data) == ("draining", b'{"by":"ann"}')


def test_one_that_holds_nothing_goes_at_once(scene: Scene) -> None:
    scene.play(lambda harness: register(harness, "A"), has_worker=False)

    assert "it takes nothing new, and goes at once. See: " in scene.shown("workers", "drain", id_of("A"))
    scene.play(lambda harness: hold(harness, "A", count=1), has_worker=False)  # since its last sign of life
    assert "and goes once what it has at work has ended or its grace is over." in scene.shown(
        "workers", "drain", id_of("A")
    )


def test_nobody_is_asked_if_it_is_not_clear_who_is_meant(scene: Scene) -> None:
    scene.play(a_fleet, has_worker=False)

    several = scene.refused("workers", "drain", "wrk_01KD")
    unknown = scene.refused("workers", "drain", "wrk_02")
    whole = scene.refused("workers", "drain", id_of("A")[:-1] + "B")
    stopped = scene.refused("workers", "drain", id_of("Y")[:9])

    assert several.startswith("Several workers begin with 'wrk_01KD': ")
    assert unknown == "worker 'wrk_02' does not exist. See which there are: windlass --url shop.db workers"
    assert f" does not exist. Did you mean '{id_of('A')}'?" in whole
    assert stopped.startswith(f"worker {id_of('Y')} is offline; one that is there was expected.")
    assert {item["is_draining"] for item in scene.json("workers")["workers"] if item["id"] != id_of("B")} == {False}


@pytest.mark.parametrize("text", ["wrk_", "run_01KD", "wrk_01kd", "wrk_../x", "x" * 80])
def test_what_is_no_id_is_refused_before_anything_is_opened(scene: Scene, text: str) -> None:
    told = scene.refused("workers", "drain", text, exit_code=2)

    assert 'is no worker id: "wrk_" and 26 digits and capital letters, or the beginning of that.' in told


def test_whoever_types_an_id_without_drain_is_told_how(scene: Scene) -> None:
    told = scene.refused("workers", "wrk_01KD", exit_code=2)

    assert "To ask one to leave: windlass workers drain wrk_01KD." in told


def test_who_serves_only_pipelines_is_not_said_to_serve_nothing(scene: Scene) -> None:
    pipelines = (ServedPipeline("default", "payments", "r1"), ServedPipeline("mail", "inbox", "r2"))
    scene.play(lambda harness: register(harness, "A", served=(), pipelines=pipelines), has_worker=False)

    assert scene.shown("workers", COLUMNS="120").rstrip().endswith("payments, mail/inbox")
    (worker,) = scene.json("workers")["workers"]
    assert worker["pipelines"] == [{"queue": "default", "name": "payments"}, {"queue": "mail", "name": "inbox"}]

"""Does `windlass runs` list what there is, page by page, and say what each run waits for?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.cli.samples import a_run, at
from tests.integration.cli.scene import Scene, declare_order
from tests.integration.timetable import Timetable, declare
from tests.programs import nothing, raises, sleeps, steps
from windlass import Retry
from windlass.cli.waits import in_short
from windlass.model.run import RunStatus
from windlass.testing.harness import Harness


async def all_kinds(harness: Harness) -> dict[str, str]:
    """One run of every kind, and what the table is expected to say about it."""
    app = harness.app

    async def card() -> None:
        raise ConnectionError("no route\nto host")

    completes = app.workflow(name="completes")(nothing)
    sleeper = app.workflow(name="sleeps")(sleeps("3m"))
    retries = app.workflow(name="retries")(steps(card, retry=Retry(9, initial="4s", factor=1)))
    fails = app.workflow(name="fails")(raises(ValueError, "bad order"))
    handles = {
        "later": await harness.start(completes, delay="2h"),
        "elsewhere": await harness.start(completes, queue="other", key="elsewhere"),
        "sleeps": await harness.start(sleeper),
        "retries": await harness.start(retries),
        "fails": await harness.start(fails),
        "completes": await harness.start(completes, key="order-7"),
    }
    await harness.idle()
    return {name: handle.id for name, handle in handles.items()}


def test_every_run_says_what_it_waits_for(scene: Scene) -> None:
    ids = scene.play(all_kinds)
    scene.clock.advance("1s")

    rows = {line.split()[0]: line for line in scene.shown("runs").splitlines()[1:]}

    assert list(rows) == sorted(ids.values(), reverse=True)
    assert rows[ids["later"]].endswith("· pending    1 s  starts in 2 h")
    assert rows[ids["elsewhere"]].endswith("· pending    1 s  for a worker, 1 s")
    assert rows[ids["sleeps"]].endswith("☾ sleeping   1 s  sleeps, 2 min 59 s left")
    assert "· pending    1 s  retry in " in rows[ids["retries"]]
    assert rows[ids["fails"]].endswith("✗ failed     1 s  ValueError: bad order")
    assert rows[ids["completes"]].split()[1:] == ["completes", "order-7", "✓", "completed", "1", "s"]


def test_a_run_whose_workers_died_goes_on_later_and_is_no_retry() -> None:
    rests = a_run(RunStatus.PENDING, end=None, available_at=at(30), attempts=2, recoveries=2)

    assert in_short(rests, failure=None, now=at(10)) == "workers died, goes on in 20 s"
    assert in_short(replace(rests, recoveries=0), failure=None, now=at(10)) == "retry in 20 s"


def test_a_run_at_work_names_its_holder_and_the_end_of_the_claim(scene: Scene) -> None:
    async def look_while_it_works(harness: Harness) -> str:
        entered = asyncio.Event()
        release = asyncio.Event()

        async def body() -> None:
            entered.set()
            await release.wait()

        works = harness.app.workflow(steps(body))
        await harness.start(works)
        await entered.wait()
        shown = await asyncio.to_thread(scene.shown, "runs")
        release.set()
        await harness.idle()
        return shown

    shown = scene.play(look_while_it_works)

    assert "▶ running" in shown
    assert " by wrk_…" in shown
    assert shown.rstrip().endswith(" until 00:05")


def test_pages_follow_each_other_by_key(scene: Scene) -> None:
    async def seven(harness: Harness) -> list[str]:
        order = declare_order(harness)
        return [(await harness.start(order, str(number), delay="1h")).id for number in range(7)]

    ids = scene.play(seven)
    pages: list[list[str]] = []
    before: list[str] = []
    while True:
        page = scene.json("runs", "--limit", "3", *before)
        pages.append([run["id"] for run in page["runs"]])
        if page["next"] is None:
            break
        before = ["--before", page["next"]]

    newest_first = ids[::-1]
    assert pages == [newest_first[:3], newest_first[3:6], newest_first[6:]]


def test_filters_select_by_status_name_and_queue(scene: Scene) -> None:
    ids = scene.play(all_kinds)

    def listed(*args: str) -> set[str]:
        return {run["id"] for run in scene.json("runs", *args)["runs"]}

    assert listed("--status", "failed") == {ids["fails"]}
    assert listed("--name", "completes", "--queue", "default") == {ids["later"], ids["completes"]}
    assert listed("--queue", "other") == {ids["elsewhere"]}
    assert listed("--queue", "other", "--status", "completed") == set()


@pytest.mark.spec("security:93")
@pytest.mark.parametrize("text", ["' OR 1=1--", "%", "_leeps", "sle%", "\\", "x" * 10_000, "(a+)+$", ""])
def test_a_filter_matches_literally(scene: Scene, text: str) -> None:
    scene.play(all_kinds)

    assert scene.json("runs", "--name", text)["runs"] == []
    assert scene.shown("runs", "--name", text) == "No runs match.\n"


@pytest.mark.spec("security:92")
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--limit", "0"),
        ("--limit", "-1"),
        ("--limit", "1000000000"),
        ("--limit", "abc"),
        ("--before", "garbage"),
        ("--before", "run_01kdvq0000000000000000000a"),
        ("--before", "' OR 1=1--"),
        ("--status", "done"),
    ],
)
def test_a_bad_page_is_refused_naming_the_option(scene: Scene, option: str, value: str) -> None:
    scene.play(all_kinds)

    result = scene.run("runs", option, value)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert option in result.stderr
    assert result.stderr.count("\n") == 1


def test_json_has_stable_names_and_times_in_utc(scene: Scene) -> None:
    ids = scene.play(all_kinds)

    (failed,) = scene.json("runs", "--status", "failed")["runs"]
    (sleeping,) = scene.json("runs", "--status", "sleeping")["runs"]

    traceback = failed["failure"].pop("traceback")
    assert "bad order" in traceback
    assert failed == {
        "id": ids["fails"],
        "namespace": "default",
        "workflow": "fails",
        "version": None,
        "key": None,
        "queue": "default",
        "priority": 0,
        "status": "failed",
        "waits_for": None,
        "available_at": None,
        "worker": None,
        "attempts": 1,
        "recoveries": 0,
        "created_at": "2026-01-01T00:00:00.000000Z",
        "started_at": "2026-01-01T00:00:00.000000Z",
        "finished_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": None,
        "is_held": False,
        "parent": None,
        "parent_step": None,
        "kind": "workflow",
        "graph": None,
        "job": None,
        "ready_at": None,
        "retry_of": None,
        "schedule": None,
        "slot": None,
        "scheduled_at": None,
        "failure": {
            "kind": "logic",
            "type": "ValueError",
            "message": "bad order",
            "step": None,
            "data": None,
            "reason": None,
        },
    }
    assert (sleeping["available_at"], sleeping["waits_for"]) == ("2026-01-01T00:03:00.000000Z", "sleeps, 3 min left")


def test_an_empty_database_has_no_runs_and_that_is_no_error(scene: Scene) -> None:
    scene.shown("migrate")

    assert scene.shown("runs") == "No runs yet.\n"
    assert scene.json("runs") == {"runs": [], "next": None, "paused": []}


def test_a_schedule_that_there_is_not_is_refused_with_one_that_looks_alike(scene: Scene) -> None:
    async def made(harness: Harness) -> None:
        _, clean = declare(harness)
        await harness.app.schedules.create(clean, name="nightly", every="1h")

    scene.play(made, has_worker=False)

    assert scene.shown("runs", "--schedule", "nightly") == "No runs match.\n"
    for options in ((), ("--status", "failed"), ("--key", "order-7")):
        refused = scene.refused("runs", "--schedule", "nightyl", *options)
        assert refused == "Schedule 'nightyl' does not exist. Did you mean 'nightly'?"


def test_runs_of_a_schedule_that_was_deleted_are_listed(scene: Scene) -> None:
    async def made(harness: Harness) -> None:
        table = Timetable(harness)
        _, clean = declare(harness)
        for name in ("nightly", "nightly2"):
            await table.schedules.create(clean, name=name, every="1h")
        await table.fire(after="1h")
        await table.work("clean")
        await table.schedules.delete("nightly")

    scene.play(made, has_worker=False)

    assert len(scene.json("runs", "--schedule", "nightly")["runs"]) == 1
    assert scene.shown("runs", "--schedule", "nightly", "--status", "failed") == "No runs match.\n"


def test_options_may_stand_in_front_of_the_command_or_behind_it(scene: Scene) -> None:
    async def elsewhere(harness: Harness) -> Any:
        return await harness.start(declare_order(harness), "7")

    scene.play(elsewhere, namespace="shop", has_worker=False)

    assert len(scene.json("--namespace", "shop", "runs")["runs"]) == 1
    assert len(scene.json("runs", "--namespace", "shop")["runs"]) == 1
    assert scene.json("runs")["runs"] == []


def test_names_and_messages_cannot_speak_to_the_terminal(scene: Scene) -> None:
    async def hostile(harness: Harness) -> None:
        odd = harness.app.workflow(name="odd")(
            raises(ValueError, "\x1b[2J\x1b]0;owned\x07 [red]text[/red] \u202egnp.exe\r\n:smile:")
        )
        await harness.start(odd, key="[bold]key[/] \u200b")
        await harness.idle()

    scene.play(hostile)
    listed, shown = scene.shown("runs"), scene.shown("show", "--key", "[bold]key[/] \u200b")

    for output in (listed, shown):
        assert not {"\x1b", "\x07", "\r", "\u202e", "\u200b"} & set(output)
        assert "\\x1b[2J" in output
        assert "[red]text[/red]" in output
        assert ":smile:" in output
        assert "[bold]key[/] \\u200b" in output

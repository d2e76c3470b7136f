"""Do the commands below `windlass schedules` do what was meant, say what they did, and refuse everything else?"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.scene import Scene
from tests.integration.cli.test_schedules import a_day
from tests.integration.timetable import Timetable, declare
from windlass.model.commands import RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.worker import Served
from windlass.testing.harness import Harness

SHOP = """
import windlass

app = windlass.App()


@app.workflow(queue="slow", timeout="1h", version="2")
async def report(ctx: windlass.Context, region: str, count: int = 1) -> str: ...
"""
LEAP_DAY, EITHER_DAY = pytest.mark.spec("security:56"), pytest.mark.spec("security:57")
CHANGED_CLOCKS = pytest.mark.spec("security:59", "invariants:I-52")
DAILY = ("--cron", "0 9 * * *", "--tz", "Europe/Rome")


@pytest.fixture
def made(scene: Scene) -> Scene:
    """A schedule of nine in the morning, at eight in the morning and a bit, UTC: it has fired."""
    scene.play(a_day, has_worker=False)
    return scene


@pytest.fixture
def empty(scene: Scene) -> Scene:
    scene.shown("migrate")
    return scene


def of(scene: Scene, name: str = "nightly") -> Any:
    return scene.json("schedules", "show", name)


# create


def test_a_schedule_is_made_with_what_was_typed(either: Scene) -> None:
    either.shown("migrate")

    told = either.shown(
        *("schedules", "create", "eu", "report", "7", "word", "--every", "90m", "--jitter", "5m", "--overlap", "queue"),
        *("--catch-up", "all", "--max-catch-up", "9", "--queue", "slow", "--timeout", "2h", "--by", "ann"),
    )

    assert told == (
        "Schedule eu is made: report(7, 'word') every 1 hour 30 minutes; next in 1 h 30 min.\n"
        "  Thu 2026-01-01 01:30:00 +00:00\n"
    )
    record = of(either, "eu")
    assert (record["workflow"], record["input"], record["queue"]) == ("report", {"$tuple": [7, "word"]}, "slow")
    assert (record["every_secs"], record["jitter_secs"], record["timeout_secs"]) == (5_400, 300, 7_200)
    assert (record["overlap"], record["catch_up"], record["max_catch_up"]) == ("queue", "all", 9)
    assert [(entry["cause"], entry["by"]) for entry in record["log"]] == [("create", "ann")]


def test_the_same_again_changes_nothing_and_another_one_has_to_be_wanted(empty: Scene) -> None:
    create = ("schedules", "create", "eu", "report", *DAILY)
    empty.shown(*create)

    assert empty.shown(*create).startswith("Schedule eu was like this before: report() at 09:00 every day")
    assert empty.refused(*create, "--jitter", "5m") == (
        "Schedule 'eu' exists with another definition. Use another name, or replace it: replace=True, or --replace."
    )
    assert empty.shown(*create, "--jitter", "5m", "--replace", "--by", "bob").startswith("Schedule eu is changed: ")
    assert of(empty, "eu")["revision"] == 2
    assert [(entry["cause"], entry["by"]) for entry in of(empty, "eu")["log"]][1:] == [("change", "bob")]


def test_json_says_whether_it_is_new(empty: Scene) -> None:
    create = ("schedules", "create", "eu", "report", "--every", "1h")

    first, again = empty.json(*create), empty.json(*create)
    changed = empty.json("schedules", "create", "eu", "report", "--every", "2h", "--replace")

    assert [(item["is_new"], item["is_changed"]) for item in (first, again, changed)] == [
        (True, False),
        (False, False),
        (False, True),
    ]


def test_with_an_app_the_workflow_and_its_arguments_are_those_of_the_code(scene: Scene, module: Path) -> None:
    module.write_text(SHOP)

    scene.shown("schedules", "create", "eu", "report", "7", "3", *DAILY, "--app", "shop:app")

    record = of(scene, "eu")
    assert record["input"] == {"$tuple": ["7", 3]}  # text where the code declares text
    assert (record["queue"], record["version"], record["timeout_secs"]) == ("slow", "2", 3_600)
    assert "Expected int, got str at $.count" in scene.refused(
        "schedules", "create", "us", "report", "7", "many", *DAILY, "--app", "shop:app"
    )
    assert "Did you mean 'report'?" in scene.refused(
        "schedules", "create", "us", "reprot", "7", *DAILY, "--app", "shop:app"
    )
    assert [item["name"] for item in scene.json("schedules")["schedules"]] == ["eu"]


def test_without_an_app_a_database_is_not_created(scene: Scene) -> None:
    assert "shop.db" in scene.refused("schedules", "create", "eu", "report", *DAILY)


@pytest.mark.parametrize(
    ("served", "told"),
    [
        (Served("default", "reports"), "No live worker runs workflow 'report'. Did you mean 'reports'?"),
        (Served("slow", "report"), "Live workers run 'report' in 'slow', and none in queue 'default'."),
        (Served("default", "report", "2"), "Live workers run 'report' of another version only: name the code with"),
    ],
)
def test_what_no_live_worker_would_run_is_made_with_a_warning(scene: Scene, served: Served, told: str) -> None:
    async def register(harness: Harness) -> None:
        worker = WorkerId("wrk_01KDVQ0000000000000000000A")
        await harness.opened.work.register_worker(
            RegisterWorker(namespace="default", id=worker, host="alpha", pid=71, served=(served,), slots=5)
        )

    scene.play(register, has_worker=False)

    result = scene.run("schedules", "create", "eu", "report", *DAILY)

    assert result.exit_code == 0
    assert result.stderr.startswith(f"windlass: {told}")


def test_one_that_is_declared_in_code_is_changed_there(scene: Scene) -> None:
    async def declared(harness: Harness) -> None:
        report, _ = declare(harness)
        harness.app.schedule(cron="0 9 * * *", args=("eu",), name="nightly")(report)
        await harness.app._declare(harness.opened)

    scene.play(declared, has_worker=False)
    before = of(scene)

    refused = scene.refused("schedules", "create", "nightly", "report", "us", *DAILY, "--replace")

    assert refused.startswith("Schedule 'nightly' is declared in '")
    assert refused.endswith("Change it there, or use another name.")
    assert of(scene) == before


# preview


def test_times_are_shown_without_a_database(folder: Path, scene: Scene) -> None:
    shown = scene.shown("schedules", "preview", *DAILY, "--count", "2")

    assert shown == (
        "At 09:00 every day (Europe/Rome)\n"
        "  Thu 2026-01-01 09:00 +01:00  in 8 h\n"
        "  Fri 2026-01-02 09:00 +01:00  in 1 d 8 h\n"
    )
    assert list(folder.iterdir()) == []


def test_times_around_a_change_of_clocks_are_shown_with_it(scene: Scene) -> None:
    shown = scene.shown(
        *("schedules", "preview", "--cron", "0 */6 * * *", "--tz", "America/New_York"),
        *("--after", "2026-10-31T20:00:00Z", "--count", "3"),
    )

    assert [line.split("  ")[1] for line in shown.splitlines()[1:]] == [
        "Sat 2026-10-31 18:00 -04:00",
        "Sun 2026-11-01 00:00 -04:00",
        "Sun 2026-11-01 06:00 -05:00",
    ]
    assert shown.splitlines()[-1].endswith("clocks were put back 1 h")


def test_distances_are_counted_from_the_moment_that_was_given(scene: Scene) -> None:
    words = ("--cron", "30 2 * * *", "--tz", "Europe/Rome", "--after", "2026-03-27T00:00:00Z", "--count", "3")

    assert scene.shown("schedules", "preview", *words) == (
        "At 02:30 every day (Europe/Rome)\n"
        "  Fri 2026-03-27 02:30 +01:00  in 1 h 30 min\n"
        "  Sat 2026-03-28 02:30 +01:00  in 1 d 2 h\n"
        "  Sun 2026-03-29 03:00 +02:00  in 2 d 1 h     clocks were put forward 1 h\n"
    )


def test_a_change_of_clocks_before_the_first_time_is_shown(scene: Scene) -> None:
    words = ("--cron", "0 0 * * *", "--tz", "America/Santiago", "--after", "2026-09-05T05:00:00Z", "--count", "2")

    assert scene.shown("schedules", "preview", *words).splitlines()[1:] == [
        "  Sun 2026-09-06 01:00 -03:00  in 23 h      clocks were put forward 1 h",
        "  Mon 2026-09-07 00:00 -03:00  in 1 d 22 h",
    ]


@pytest.mark.parametrize("tz", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_where_the_calendar_ends_there_is_no_further_time(scene: Scene, tz: str) -> None:
    words = ("schedules", "preview", "--cron", "0 * * * *", "--tz", tz, "--after")

    none = scene.shown(*words, "9999-12-31T23:59:00Z").splitlines()
    some = scene.shown(*words, "9999-12-31T13:30:00Z", "--count", "20").splitlines()

    assert none[1:] == ["  There is no further time."]
    assert some[-1] == "  There is no further time." and "  in " in some[1]
    assert scene.json(*words, "9999-12-31T23:59:00Z")["next"] == []
    every = scene.shown("schedules", "preview", "--every", "1h", "--tz", tz, "--after", "9999-12-31T13:30:00Z")
    assert "9999-12-31" in every  # also where the clocks show the year 10000 by then


@pytest.mark.parametrize(
    ("cron", "tz", "after", "shown"),
    [
        pytest.param("0 0 29 2 *", "UTC", "2026-01-01", ["Tue 2028-02-29 00:00 +00:00"], marks=LEAP_DAY),
        pytest.param(
            *("0 0 13 * FRI", "UTC", "2026-01-08"),
            ["Fri 2026-01-09 00:00 +00:00", "Tue 2026-01-13 00:00 +00:00", "Fri 2026-01-16 00:00 +00:00"],
            marks=EITHER_DAY,
        ),
        pytest.param(
            *("30 2 * * *", "Europe/Rome", "2026-03-28"),
            ["Sat 2026-03-28 02:30 +01:00", "Sun 2026-03-29 03:00 +02:00", "Mon 2026-03-30 02:30 +02:00"],
            marks=CHANGED_CLOCKS,
        ),
        pytest.param(
            *("30 1 * * *", "America/New_York", "2026-11-01"),
            ["Sun 2026-11-01 01:30 -04:00", "Mon 2026-11-02 01:30 -05:00"],
            marks=CHANGED_CLOCKS,
        ),
        pytest.param(
            *("30 * * * *", "America/New_York", "2026-11-01T05:00"),
            ["Sun 2026-11-01 01:30 -04:00", "Sun 2026-11-01 01:30 -05:00", "Sun 2026-11-01 02:30 -05:00"],
            marks=CHANGED_CLOCKS,
        ),
    ],
)
def test_what_a_calendar_and_its_clocks_make_of_an_expression_can_be_seen(
    scene: Scene, cron: str, tz: str, after: str, shown: list[str]
) -> None:
    moment = after if "T" in after else f"{after}T00:00"
    words = ("--cron", cron, "--tz", tz, "--after", f"{moment}:00Z", "--count", str(len(shown)))

    lines = scene.shown("schedules", "preview", *words).splitlines()

    assert [line.strip()[:27] for line in lines[1:]] == shown


def test_times_are_shown_as_json(scene: Scene) -> None:
    assert scene.json("schedules", "preview", "--every", "90m", "--count", "2") == {
        "times": "every 1 hour 30 minutes",
        "cron": None,
        "every_secs": 5400.0,
        "tz": "UTC",
        "next": ["2026-01-01T01:30:00.000000Z", "2026-01-01T03:00:00.000000Z"],
    }


# pause, resume


def test_a_schedule_is_paused_and_goes_on(made: Scene) -> None:
    assert made.shown("schedules", "pause", "nightly", "--by", "ann", "--note", "audit") == (
        "Schedule nightly is paused: it starts nothing until it is resumed. Then: "
        "windlass --url shop.db schedules resume nightly\n"
    )
    assert made.shown("schedules", "pause", "nightly", "--by", "bob") == (
        "Schedule nightly was paused before: paused by ann: audit.\n"
    )
    assert (of(made)["status"], of(made)["next"]) == ("paused", [])
    assert made.shown("schedules", "resume", "nightly", "--by", "bob") == (
        "Schedule nightly goes on; next in 23 h 59 min · Fri 09:00 Europe/Rome.\n"
    )
    assert made.shown("schedules", "resume", "nightly") == (
        "Schedule nightly was not paused; next in 23 h 59 min · Fri 09:00 Europe/Rome.\n"
    )
    assert [(entry["cause"], entry["by"], entry["note"]) for entry in of(made)["log"]][1:] == [
        ("pause", "ann", "audit"),
        ("resume", "bob", None),
    ]


@pytest.mark.parametrize("options", [(), ("--backfill",)])
def test_what_passed_meanwhile_is_over_unless_it_is_asked_for(made: Scene, options: tuple[str, ...]) -> None:
    made.shown("schedules", "pause", "nightly")
    made.clock.advance("3d")

    told = made.shown("schedules", "resume", "nightly", *options)

    if options:
        assert told.startswith("Schedule nightly goes on; it is due now.\nWhat passed meanwhile was missed. Of times")
        assert of(made)["passed"] == 3
    else:
        assert told == "Schedule nightly goes on; next in 23 h 59 min · Mon 09:00 Europe/Rome.\n"
        assert of(made)["passed"] == 0


def test_json_of_a_pause_is_the_schedule(made: Scene) -> None:
    assert made.json("schedules", "pause", "nightly", "--by", "ann")["why"] == "paused by ann"
    assert made.json("schedules", "resume", "nightly")["standing"] == "active"


# trigger


def test_a_run_is_started_now_and_its_id_is_printed(either: Scene) -> None:
    either.play(a_day, has_worker=False)

    id = either.shown("schedules", "trigger", "nightly", "--by", "ann").strip()

    run = either.json("show", id)
    assert (run["workflow"], run["schedule"], run["slot"], run["status"]) == ("report", "nightly", None, "pending")
    assert [(entry["cause"], entry["by"]) for entry in run["log"]] == [("trigger", "ann")]
    assert "schedule nightly, triggered" in either.shown("show", id)
    assert either.refused("schedules", "trigger", "nightly") == (
        f"Schedule nightly is busy with {id}; one with room for another run was expected. Its runs do not overlap "
        "(overlap='skip')."
    )


def test_a_paused_one_can_be_triggered(made: Scene) -> None:
    made.shown("schedules", "pause", "nightly")

    record = json.loads(made.shown("schedules", "trigger", "nightly", "--json"))

    assert (record["schedule"], record["status"]) == ("nightly", "pending")
    assert of(made)["status"] == "paused"


def test_the_result_can_be_waited_for(made: Scene) -> None:
    async def beside_a_worker(harness: Harness) -> str:
        declare(harness)
        return await asyncio.to_thread(made.shown, "schedules", "trigger", "nightly", "--wait")

    id, result = made.play(beside_a_worker).splitlines()

    assert (made.json("show", id)["status"], result) == ("completed", "'eu'")


# delete


def test_a_schedule_is_forgotten_and_its_runs_stay(made: Scene) -> None:
    assert made.shown("schedules", "delete", "nightly", "--yes", "--by", "ann") == (
        "Schedule nightly is deleted; its runs stay.\n"
    )
    assert made.json("schedules") == {"schedules": []}
    assert len(made.json("runs", "--schedule", "nightly")["runs"]) == 1
    assert made.refused("schedules", "delete", "nightly", "--yes").startswith(
        "Schedule 'nightly' does not exist. See: windlass"
    )


def test_one_that_waits_for_its_turn_is_cancelled_with_it(scene: Scene) -> None:
    async def queued(harness: Harness) -> None:
        table = Timetable(harness)
        _, clean = declare(harness)
        await table.schedules.create(clean, name="sweep", every="1d", overlap="queue")
        await table.fire(after="1d")
        await table.fire(after="1d")

    scene.play(queued, has_worker=False)
    waiting, first = scene.json("runs")["runs"]

    record = scene.json("schedules", "delete", "sweep", "--yes")

    assert record == {"name": "sweep", "is_deleted": True, "cancelled": [waiting["id"]]}
    assert [run["status"] for run in scene.json("runs")["runs"]] == ["cancelled", "pending"]
    assert first["status"] == "pending"


def test_where_nobody_can_be_asked_a_yes_is_needed(made: Scene) -> None:
    refused = made.refused("schedules", "delete", "nightly", exit_code=2)

    assert refused.startswith("Deleting nightly cannot be taken back: say --yes where nobody can be asked.")
    assert of(made)["name"] == "nightly"


@pytest.mark.parametrize(
    ("answer", "told", "exit_code", "left"),
    [("y", "Schedule nightly is deleted; its runs stay.", 0, 0), ("n", "windlass: Nothing was deleted.", 1, 1)],
)
def test_on_a_terminal_it_is_asked_once(made: Scene, answer: str, told: str, exit_code: int, left: int) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "windlass", "--url", made.url, "schedules", "delete", "nightly"]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        os.write(master, f"{answer}\n".encode())
        written = read_all(master)
        assert process.wait(30) == exit_code

    assert "Delete schedule nightly? It has fired 1 time. [y/N]" in written
    assert told in written
    assert len(made.json("schedules")["schedules"]) == left


def read_all(terminal: int) -> str:
    written = b""
    with suppress(OSError):  # the other end is closed
        while chunk := os.read(terminal, 65_536):
            written += chunk
    os.close(terminal)
    return written.decode()


# whatever is wrong


@pytest.mark.parametrize("command", ["show", "pause", "resume", "trigger", "delete"])
def test_an_unknown_name_is_refused_with_one_that_looks_alike(made: Scene, command: str) -> None:
    options = ("--yes",) if command == "delete" else ()

    refused = made.refused("schedules", command, "nightyl", *options)

    assert refused == "Schedule 'nightyl' does not exist. Did you mean 'nightly'?"


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\x1b[31m"])
def test_what_can_be_no_name_is_refused(made: Scene, name: str) -> None:
    assert "schedule name" in made.refused("schedules", "show", name, exit_code=2)


@pytest.mark.parametrize("word", ["list", "ls"])
def test_who_asks_for_a_list_is_told_that_the_command_alone_lists(made: Scene, word: str) -> None:
    assert made.refused("schedules", word, exit_code=2) == (
        f"No such command '{word}'. To list schedules: windlass schedules. Try: windlass schedules --help"
    )


def test_a_name_in_place_of_a_command_is_refused_with_the_command_that_was_meant(made: Scene) -> None:
    assert made.refused("schedules", "nightly", exit_code=2) == (
        "No such command 'nightly'. To see one schedule: windlass schedules show nightly. Try: windlass schedules "
        "--help"
    )

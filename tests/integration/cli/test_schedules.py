"""Does `windlass schedules` show what each starts and when, how the last run ended, and why one does not fire?"""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.integration.cli.scene import Scene
from tests.integration.cli.test_workers import register
from tests.integration.timetable import Timetable, declare
from windlass.cli.main import cli
from windlass.cli.session import Session
from windlass.cli.terminal import Screen
from windlass.model.schedule_commands import Declare
from windlass.testing.harness import Harness


async def a_week(harness: Harness) -> None:
    """From Thursday to Wednesday: one fires, one is paused, one is blocked by its own runs."""
    table = Timetable(harness)
    report, clean = declare(harness)
    create = table.schedules.create
    await create(report, "eu", name="nightly", cron="0 9 * * *", tz="Europe/Rome")
    await create(report, "us", name="weekly", cron="30 8 * * MON", tz="America/New_York")
    await create(clean, name="sweep", every="1d", overlap="queue")
    for _ in range(6):
        await table.fire(after="8h")
        await table.work("report")
        await table.fire(after="16h")
    await table.schedules.pause("weekly", by="ann", note="audit")


async def a_day(harness: Harness) -> None:
    """One that has fired once, and waits for tomorrow."""
    table = Timetable(harness)
    report, _ = declare(harness)
    await table.schedules.create(report, "eu", name="nightly", cron="0 9 * * *", tz="Europe/Rome")
    await table.fire(after="8h")
    await table.work("report", took="3s")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def on_a_terminal(scene: Scene, monkeypatch: pytest.MonkeyPatch, *args: str, columns: int) -> list[str]:
    """What stands on a screen of that width."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    session, terminal = Session(clock=scene.clock), Terminal()
    session._screen = Screen(terminal)
    with pytest.raises(SystemExit) as ended:
        cli.main(args=["--url", scene.url, *args], obj=session)
    assert ended.value.code == 0
    return terminal.getvalue().splitlines()


def test_each_schedule_is_a_line_with_what_keeps_it_from_firing_below(either: Scene) -> None:
    either.play(a_week, has_worker=False)

    lines = either.shown("schedules").splitlines()

    sweep = either.json("schedules", "show", "sweep")
    assert lines == [
        "  name     starts        times                                  next                            last run",
        "  nightly  report('eu')  at 09:00 every day (Europe/Rome)       in 8 h · Wed 09:00 Europe/Rome  "
        "✓ completed 16 h ago",
        "… sweep    clean()       every day                              blocked                         "
        "… waiting 4 d ago",
        "‖ weekly   report('us')  at 08:30 on Monday (America/New_York)  paused                          "
        "✓ completed 16 h ago",
        f"sweep: blocked: {sweep['active'][0]} is not over, and one more waits",
        "  for it already",
        "weekly: paused by ann: audit",
    ]


def test_where_there_is_little_room_each_has_lines_of_its_own(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.play(a_week, has_worker=False)

    lines = on_a_terminal(scene, monkeypatch, "schedules", columns=80)

    sweep = scene.json("schedules", "show", "sweep")
    assert max(map(len, lines)) <= 80
    assert lines == [
        "  nightly  report('eu') · at 09:00 every day",
        "           in 8 h · Wed 09:00 Europe/Rome · last ✓ completed 16 h ago",
        "… sweep    clean() · every day",
        f"           blocked: {sweep['active'][0]} is not over, and one more",
        "           waits for it already",
        "           last … waiting 4 d ago",
        "‖ weekly   report('us') · at 08:30 on Monday (America/New_York)",
        "           paused by ann: audit",
        "           last ✓ completed 16 h ago",
    ]


def test_with_a_little_more_room_it_is_a_table_of_few_words(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.play(a_day, has_worker=False)

    assert on_a_terminal(scene, monkeypatch, "schedules", columns=90) == [
        "name     starts        times               next                            last run",
        "nightly  report('eu')  at 09:00 every day  in 1 d · Fri 09:00 Europe/Rome  ✓ 0 s ago",
    ]


async def a_night_off(harness: Harness) -> None:
    """Nobody looked for a day; then a run of an hour met the times of a schedule of every ten minutes."""
    table = Timetable(harness)
    _, clean = declare(harness)
    await table.schedules.create(clean, name="sweep", every="10m")
    await table.fire(after="1d")
    for _ in range(6):
        await table.fire(after="10m")


def test_times_that_were_let_go_are_counted_where_there_are_any(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.play(a_night_off, has_worker=False)

    header, row = scene.shown("schedules").splitlines()
    assert header.split()[-2:] == ["skipped", "dropped"]
    assert row.split()[-2:] == ["6", "143"]
    assert on_a_terminal(scene, monkeypatch, "schedules", columns=80)[-1] == "sweep: 6 skipped, 143 dropped"
    assert on_a_terminal(scene, monkeypatch, "schedules", columns=60)[-2:] == [
        "       in 10 min · Fri 01:10:00 UTC",
        "       last · pending 1 h ago · 6 skipped, 143 dropped",
    ]


def test_one_that_nobody_fires_is_late_and_says_who_would(scene: Scene) -> None:
    async def made(harness: Harness) -> None:
        _, clean = declare(harness)
        for name in ("one", "other"):
            await harness.app.schedules.create(clean, name=name, every="1h")

    scene.play(made, has_worker=False)
    scene.clock.advance("4h")

    *_, other, told, command = scene.shown("schedules").splitlines()

    assert "! other" in other
    assert "3 h late · Thu 01:00:00 UTC" in other
    assert told == "2 schedules are late: nobody fires them. A worker does:"
    assert command == "  windlass --url shop.db worker MODULE:APP"
    record = scene.json("schedules", "show", "one")
    assert (record["standing"], record["passed"]) == ("late", 4)
    assert record["why"].startswith("due for 3 h, and nobody fires it. A worker does: windlass --url shop.db worker")


def test_one_that_is_late_although_workers_are_there_says_what_keeps_them_from_it(scene: Scene) -> None:
    async def made(harness: Harness) -> None:
        _, clean = declare(harness)
        for name in ("one", "other"):
            await harness.app.schedules.create(clean, name=name, every="1h")
        harness.clock.advance("4h")
        await register(harness, "A")

    scene.play(made, has_worker=False)

    *_, told, more = scene.shown("schedules").splitlines()

    assert told == "2 schedules are late: nobody fires them. Workers are there, but none of them"
    assert more == "  fires schedules: see WINDLASS_COORDINATOR_ENABLED"
    assert scene.json("schedules", "show", "one")["why"] == (
        "due for 3 h, and nobody fires it. Workers are there, but none of them fires schedules: see "
        "WINDLASS_COORDINATOR_ENABLED"
    )
    scene.clock.advance("31s")  # nothing was heard of that worker for too long
    assert "A worker does:" in scene.shown("schedules")


def test_one_that_is_taken_out_of_the_code_says_where_it_was(scene: Scene) -> None:
    async def declared(harness: Harness) -> None:
        report, _ = declare(harness)
        harness.app.schedule(cron="0 9 * * *", args=("eu",), name="nightly")(report)
        await harness.app._declare(harness.opened)
        gone = Declare(namespace="default", program=harness.app._program, schedules=(), kept={})
        await harness.opened.schedules.declare(gone)

    scene.play(declared, has_worker=False)

    (record,) = scene.json("schedules")["schedules"]
    assert (record["standing"], record["is_declared"], record["next"]) == ("undeclared", False, [])
    assert record["why"].startswith(f"no longer declared in {record['declared_in']}: ")
    assert "no longer declared" in scene.shown("schedules", "show", "nightly").split("History")[1]


def test_where_there_is_none_it_says_how_one_is_made(scene: Scene) -> None:
    scene.shown("migrate")

    shown = scene.shown("schedules")

    assert shown.startswith("No schedules yet. Declare one in code")
    assert '  @app.schedule(cron="0 9 * * MON-FRI", tz="Europe/Rome")\n' in shown
    assert "  windlass --url shop.db schedules create NAME WORKFLOW --cron" in shown
    assert scene.json("schedules") == {"schedules": []}


def test_a_database_that_does_not_exist_is_not_created(scene: Scene) -> None:
    assert "shop.db" in scene.refused("schedules")


def test_json_has_the_same_with_stable_names(either: Scene) -> None:
    either.play(a_day, has_worker=False)

    (record,) = either.json("schedules")["schedules"]

    last = record.pop("last_run")
    assert (last["status"], last["slot"], last["retry_of"]) == ("completed", "2026-01-01T08:00:00.000000Z", None)
    assert record == {
        "namespace": "default",
        "name": "nightly",
        "workflow": "report",
        "version": None,
        "queue": "default",
        "input": {"$tuple": ["eu"]},
        "timeout_secs": None,
        "times": "at 09:00 every day (Europe/Rome)",
        "cron": "0 9 * * *",
        "every_secs": None,
        "tz": "Europe/Rome",
        "catch_up": "latest",
        "max_catch_up": 100,
        "overlap": "skip",
        "jitter_secs": 0.0,
        "status": "active",
        "standing": "active",
        "why": None,
        "next": [f"2026-01-0{day}T08:00:00.000000Z" for day in (2, 3, 4)],
        "last_slot": "2026-01-01T08:00:00.000000Z",
        "active": [],
        "queued": [],
        "fired": 1,
        "skipped": 0,
        "dropped": 0,
        "declared_in": None,
        "is_declared": True,
        "revision": 1,
        "paused_by": None,
        "note": None,
        "paused_at": None,
        "created_at": "2026-01-01T00:00:00.000000Z",
        "changed_at": "2026-01-01T00:00:00.000000Z",
    }


def test_a_page_says_everything_about_one_in_words(either: Scene) -> None:
    async def story(harness: Harness) -> None:
        await a_day(harness)
        schedules = harness.app.schedules
        await schedules.pause("nightly", by="ann", note="audit")
        await schedules.resume("nightly", by="bob")
        await schedules.trigger("nightly")

    either.play(story, has_worker=False)

    page = either.shown("schedules", "show", "nightly")

    runs = either.json("schedules", "show", "nightly")["runs"]
    triggered, fired = (run["id"] for run in runs)
    assert page.splitlines() == [
        "nightly  active",
        "  starts report('eu')",
        "  at 09:00 every day (Europe/Rome) · cron 0 9 * * * · made by hand",
        "",
        "Next",
        "  Fri 2026-01-02 09:00 +01:00  in 23 h 59 min",
        "  Sat 2026-01-03 09:00 +01:00  in 2 d",
        "  Sun 2026-01-04 09:00 +01:00  in 3 d",
        "  Mon 2026-01-05 09:00 +01:00  in 4 d",
        "  Tue 2026-01-06 09:00 +01:00  in 5 d",
        "",
        "What if",
        "  A time that comes while a run of it is not over is skipped.",
        "  Of times that pass while nobody looks the last is fired, late; the others are",
        "  dropped.",
        "",
        "Runs: 1 fired",
        f"  not over: {triggered}",
        f"  · pending    {triggered[:14]}  triggered 0 s ago",
        f"  ✓ completed  {fired[:14]}  Thu 2026-01-01 09:00 +01:00 · on time",
        "",
        "History",
        "  2026-01-01 00:00:00 UTC  created",
        "  2026-01-01 08:00:03 UTC  paused by ann: audit",
        "  2026-01-01 08:00:03 UTC  resumed by bob",
    ]


def test_a_page_shows_when_the_clocks_are_changed(scene: Scene) -> None:
    async def story(harness: Harness) -> None:
        report, _ = declare(harness)
        harness.clock.advance("84d")  # to the 26th of March
        await harness.app.schedules.create(report, "eu", name="nightly", cron="30 2 * * *", tz="Europe/Rome")

    scene.play(story, has_worker=False)

    assert scene.shown("schedules", "show", "nightly").splitlines()[5:9] == [
        "  Thu 2026-03-26 02:30 +01:00  in 1 h 30 min",
        "  Fri 2026-03-27 02:30 +01:00  in 1 d 2 h",
        "  Sat 2026-03-28 02:30 +01:00  in 2 d 2 h",
        "  Sun 2026-03-29 03:00 +02:00  in 3 d 1 h     clocks were put forward 1 h",
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"catch_up": "none"}, "Times that pass while nobody looks are dropped."),
        ({"catch_up": "all", "overlap": "allow"}, "are fired late: the last 100; older ones are dropped."),
        ({"catch_up": "all", "max_catch_up": 1_500}, "are fired late, one after another: the last 1,500;"),
        ({"overlap": "allow"}, "Its runs may overlap."),
        ({"overlap": "queue"}, "waits for the end of that run, one at most;"),
        ({"jitter": "90s"}, "A run begins up to 1 min 30 s after its time (jitter)."),
    ],
)
def test_a_page_says_what_its_options_mean(scene: Scene, options: dict[str, Any], told: str) -> None:
    async def story(harness: Harness) -> None:
        _, clean = declare(harness)
        await harness.app.schedules.create(clean, cron="0 9 * * *", **options)

    scene.play(story, has_worker=False)

    assert told in " ".join(scene.shown("schedules", "show", "clean").split())


def test_how_late_a_run_began_is_said(scene: Scene) -> None:
    async def story(harness: Harness) -> None:
        table = Timetable(harness)
        report, _ = declare(harness)
        await table.schedules.create(report, "eu", name="nightly", cron="0 9 * * *", tz="Europe/Rome")
        await table.fire(after="8h4m")
        await table.work("report")

    scene.play(story, has_worker=False)

    (run,) = scene.json("runs", "--schedule", "nightly")["runs"]
    assert "Thu 2026-01-01 09:00 +01:00 · 4 min late" in scene.shown("schedules", "show", "nightly")
    assert "schedule nightly for 2026-01-01 08:00:00 UTC, 4 min late" in scene.shown("show", run["id"])
    assert (run["schedule"], run["slot"]) == ("nightly", "2026-01-01T08:00:00.000000Z")


def test_runs_are_listed_by_their_schedule(either: Scene) -> None:
    async def story(harness: Harness) -> None:
        await a_week(harness)
        report, _ = declare(harness)
        await harness.start(report, "by hand")

    either.play(story, has_worker=False)

    everything = either.json("runs")["runs"]
    nightly = either.json("runs", "--schedule", "nightly", "--limit", "4")
    rest = either.json("runs", "--schedule", "nightly", "--before", nightly["next"])
    assert {run["schedule"] for run in everything} == {None, "nightly", "sweep", "weekly"}
    assert [run["schedule"] for run in nightly["runs"] + rest["runs"]] == ["nightly"] * 6
    assert [run["slot"][8:10] for run in nightly["runs"]] == ["06", "05", "04", "03"]
    assert len(either.json("runs", "--schedule", "sweep", "--status", "waiting")["runs"]) == 1
    assert either.shown("runs", "--schedule", "nightly", "--status", "failed") == "No runs match.\n"
    assert either.refused("runs", "--schedule", "unheard of").startswith("Schedule 'unheard of' does not exist.")

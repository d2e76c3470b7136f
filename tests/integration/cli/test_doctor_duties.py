"""Does `windlass doctor` see what is set, and what somebody should have done by now: fire, end, mark, remove?"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.scene import Scene
from tests.programs import echo, nothing, receives
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.model.commands import RegisterWorker
from windlass.model.page import ListRuns
from windlass.model.run import WorkerId
from windlass.model.time import DAY
from windlass.model.worker import Served
from windlass.testing.harness import Harness


def examined(scene: Scene, *args: str, exit_code: int = 0, **environment: str) -> Mapping[str, Any]:
    result = scene.run("doctor", "--json", *args, **environment)
    assert result.exit_code == exit_code, result.output
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


def spoil(scene: Scene, *statements: str) -> None:
    with sqlite3.connect(scene.url) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


@pytest.fixture
def made(scene: Scene) -> Scene:
    """A database in which nothing has happened."""
    scene.shown("migrate")
    return scene


async def look_after(harness: Harness, *, hours: int) -> None:
    """Be the one coordinator there is, hour by hour."""
    coordinator = Coordinator(harness.opened.engine.parts, CoordinatorSettings(keep_for=DAY))
    for _ in range(hours):
        harness.clock.advance("1h")
        while await coordinator.tick():
            continue


# Settings


def test_settings_are_named_and_never_shown(made: Scene, folder: Path) -> None:
    (folder / "windlass.toml").write_text("[worker]\ngrace_secs = 5\n")
    secret = "postgresql://shop:hunter2@db.example.org/shop"

    check = examined(made, WINDLASS_URL=secret, WINDLASS_LOG_LEVEL="debug", WINDLASS_LOG_FORMAT="")["settings"]

    assert (check["grade"], check["details"]) == ("good", [])
    assert check["text"] == "read from windlass.toml, WINDLASS_LOG_LEVEL, WINDLASS_URL"


def test_a_name_that_is_no_setting_is_warned_about_with_the_nearest(made: Scene) -> None:
    result = made.run("doctor", "--json", WINDLASS_WORKR_GRACE_SECS="hunter2")

    (check,) = [check for check in json.loads(result.stdout)["checks"] if check["name"] == "settings"]
    assert (result.exit_code, result.stderr) == (0, "")
    assert "hunter2" not in result.stdout
    assert check["grade"] == "warning"
    assert check["text"].endswith("; 1 WINDLASS_ variable has no effect")
    assert check["details"] == [
        "WINDLASS_WORKR_GRACE_SECS is no setting and is ignored. Did you mean WINDLASS_WORKER_GRACE_SECS?"
    ]


def test_settings_that_cannot_be_read_fail_and_a_database_that_was_named_is_examined(made: Scene) -> None:
    checks = examined(made, exit_code=1, WINDLASS_WORKER_GRACE_SECS="soon")

    assert checks["settings"]["grade"] == "failed"
    assert "WINDLASS_WORKER_GRACE_SECS (environment) must be a number" in checks["settings"]["text"]
    assert {check["grade"] for name, check in checks.items() if name != "settings"} == {"good"}


def test_where_the_database_stands_in_settings_that_cannot_be_read_nothing_else_is_examined(folder: Path) -> None:
    (folder / "windlass.toml").write_text('url = "shop.db"\nwroker = 1\n')

    result = Scene("unused").run_without_url("doctor")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "unknown database"
    assert " ✗ settings  'wroker' in windlass.toml is no setting." in result.stdout
    assert " » database  " in result.stdout
    assert not (folder / "shop.db").exists()


# Schedules


async def put(harness: Harness, *names: str, ends_within: str | None = None, **options: Any) -> None:
    """Schedules, hourly, of a workflow that waits for something that does not come."""
    news = harness.app.event("news", str)
    tidy = harness.app.workflow(name="tidy", timeout=ends_within)(receives(news))

    for name in names:
        await harness.app.schedules.create(tidy, name=name, **({"every": "1h"} | options))


def test_a_schedule_that_nobody_fires_is_late(either: Scene) -> None:
    either.play(lambda harness: put(harness, "nightly"), has_worker=False)
    either.clock.advance("1h")
    on_time = examined(either)["schedules"]
    either.clock.advance("61s")

    late = examined(either)["schedules"]

    assert (on_time["grade"], on_time["text"]) == ("good", "1 active")
    assert (late["grade"], late["text"]) == ("warning", "1 active; 1 needs a look")
    assert late["details"] == [
        "'nightly' has been due since 01:00:00 UTC (1 min 1 s); no coordinator runs: start a worker"
    ]


def test_one_that_cannot_be_computed_and_one_that_is_declared_no_more_are_named(scene: Scene) -> None:
    scene.play(lambda harness: put(harness, "nightly", "odd", "old"), has_worker=False)
    spoil(
        scene,
        "update schedules set error = 'the zone is gone', available_at = null where name = 'odd'",
        "update schedules set status = 'paused', available_at = null, is_declared = 0, declared_in = 'shop'"
        " where name = 'old'",
    )

    checks = examined(scene)

    assert checks["consistency"]["grade"] == "good"
    assert checks["schedules"]["text"] == "2 active, 1 paused; 2 need a look"
    assert checks["schedules"]["details"] == [
        "'odd' has no next time: the zone is gone; give it other times: windlass schedules create odd … --replace",
        "'old' is no longer declared in shop, and paused: declare it again, or delete it",
    ]


@pytest.mark.spec("invariants:I-65")
def test_a_schedule_that_waits_for_its_own_runs_is_in_order(either: Scene) -> None:
    async def pile_up(harness: Harness) -> str:
        await put(harness, "nightly", overlap="queue")
        await look_after(harness, hours=4)
        view = await harness.opened.schedules.get_schedule("default", "nightly")
        assert (len(view.active), len(view.queued), view.schedule.available_at) == (1, 1, None)
        (queued,) = view.queued
        return queued

    queued = either.play(pile_up, has_worker=False)
    blocked = examined(either)
    either.shown("pause", queued)

    paused = examined(either)

    assert {check["grade"] for check in (blocked["consistency"], blocked["schedules"])} == {"good"}
    assert paused["consistency"]["grade"] == "good"
    assert either.json("queues")["queues"][0]["paused"] == 1


# Runs, workers, what is over


def declare_ship(harness: Harness) -> Any:
    return harness.app.workflow(name="ship")(echo)


def test_runs_that_nobody_ended_in_time_are_named(either: Scene) -> None:
    async def start(harness: Harness) -> list[str]:
        ship = declare_ship(harness)
        started = [await harness.start(ship, number, timeout="10m") for number in range(5)]
        return [handle.id for handle in started]

    ids = either.play(start, has_worker=False)
    either.clock.advance("10m59s")
    in_time = examined(either)["time-outs"]
    either.clock.advance("1s")

    check = examined(either)["time-outs"]

    assert in_time == {"name": "time-outs", "grade": "good", "text": "no run is past its own", "details": []}
    assert (check["grade"], check["text"]) == (
        "warning",
        "5 runs are past a time-out, and nobody has ended them; no coordinator runs: start a worker",
    )
    assert sorted(check["details"][:3]) == check["details"][:3]
    assert set(check["details"][:3]) < set(ids)
    assert check["details"][3:] == ["and 2 more"]


def test_how_long_a_worker_may_be_silent_is_a_setting(scene: Scene) -> None:
    async def register(harness: Harness) -> None:
        command = RegisterWorker(
            namespace="default",
            id=WorkerId(f"wrk_{1:026}"),
            host="alpha",
            pid=71,
            served=(Served("default", "ship"),),
            slots=2,
        )
        await harness.opened.work.register_worker(command)

    scene.play(register, has_worker=False)
    scene.clock.advance("91s")

    patient = examined(scene, WINDLASS_COORDINATOR_WORKER_STALE_THRESHOLD_SECS="100")["workers"]
    check = examined(scene)["workers"]

    assert (patient["grade"], patient["text"]) == ("good", "1 is alive")
    assert (check["grade"], check["text"]) == (
        "warning",
        "none is alive, 1 silent: dead, stuck or cut off; no coordinator runs: start a worker",
    )


async def three_that_ended(harness: Harness) -> None:
    ship = declare_ship(harness)
    for number in range(3):
        await harness.start(ship, number)
    await harness.idle()


DAILY = {"WINDLASS_RETENTION_KEEP_SECS": "86400"}


def test_ended_runs_that_should_be_gone_are_counted(either: Scene) -> None:
    either.play(three_that_ended)
    either.clock.advance("24h59m")
    for_ever = examined(either)["retention"]
    in_time = examined(either, **DAILY)["retention"]
    either.clock.advance("1m")

    check = examined(either, **DAILY)["retention"]

    assert (for_ever["grade"], for_ever["text"]) == ("good", "3 ended runs are kept for ever")
    assert (in_time["grade"], in_time["text"]) == ("good", "3 ended runs are kept for 1 d")
    assert (check["grade"], check["text"]) == (
        "warning",
        "3 ended runs are kept for 1 d; 3 should be gone: no coordinator runs: start a worker",
    )


def test_a_workflow_may_have_a_limit_of_its_own(either: Scene) -> None:
    async def story(harness: Harness) -> None:
        short = harness.app.workflow(keep="2h")(nothing)
        await harness.start(declare_ship(harness), 1)
        await harness.start(short)
        await harness.idle()

    either.play(story)
    either.clock.advance("4h")

    check = examined(either)["retention"]

    assert (check["grade"], check["text"]) == (
        "warning",
        "2 ended runs are kept for ever (1 workflow has a limit of its own); 1 should be gone: "
        "no coordinator runs: start a worker",
    )


def test_what_waits_for_a_reader_of_the_log_is_told_with_its_cursor(either: Scene) -> None:
    async def story(harness: Harness) -> None:
        await three_that_ended(harness)
        await harness.opened.control.move_cursor("default", "ahead", 1_000_000)
        await harness.opened.control.move_cursor("default", "audit", 1)

    either.play(story)
    either.clock.advance("3d")

    check = examined(either, **DAILY)["retention"]

    assert (check["grade"], check["text"]) == (
        "warning",
        "3 ended runs are kept for 1 d; 3 should be gone, and wait for a reader of the log: "
        "let it go on, or drop its cursor",
    )
    assert check["details"] == ["cursor 'audit' has stood at entry 1 for 3 d"]


@pytest.mark.spec("invariants:I-65")
def test_what_a_coordinator_looks_after_is_in_order(either: Scene) -> None:
    async def some_days(harness: Harness) -> None:
        await put(harness, "nightly", overlap="queue", ends_within="30m")
        await look_after(harness, hours=30)
        left = await harness.opened.runs.list_runs(ListRuns(namespace="default", limit=100))
        assert len(left.runs) < 30

    either.play(some_days, has_worker=False)

    checks = examined(either, **DAILY)

    of_interest = ("consistency", "schedules", "time-outs", "retention", "workers")
    assert {name: checks[name]["grade"] for name in of_interest} == dict.fromkeys(of_interest, "good")

"""Does a check-up fail for what is wrong, warn of what is doubtful, and let the rest pass?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rules.test_explain import a_worker
from windlass.model.checkup import Check, Checkup, Cursor, FeedState, Grade, Holder, Kept
from windlass.model.run import WorkerId
from windlass.model.schedule import CatchUp, Overlap, Schedule, ScheduleStatus, Timing
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration, Instant
from windlass.rules import checkup

NOW = Instant(1_767_268_800 * SECOND)
SQLITE = {"sqlite_version": "3.54.1", "journal_mode": "wal", "synchronous": "2"}
POSTGRES = {
    "server_version": "15.18",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "data_checksums": "off",
}


def test_a_checkup_is_sound_unless_something_failed() -> None:
    def sound(*grades: Grade) -> bool:
        return Checkup(checks=tuple(Check(name="x", grade=grade, text="") for grade in grades)).is_sound

    assert sound()
    assert sound(Grade.GOOD, Grade.WARNING, Grade.SKIPPED)
    assert not sound(Grade.GOOD, Grade.FAILED)


@pytest.mark.parametrize(
    ("found", "grade", "words"),
    [
        (2, Grade.GOOD, "version 2"),
        (1, Grade.FAILED, "version 1, and this Windlass needs 2: windlass migrate"),
        (0, Grade.FAILED, "there is none, and this Windlass needs 2: windlass migrate"),
    ],
)
def test_a_schema_that_is_behind_fails(found: int, grade: Grade, words: str) -> None:
    check = checkup.schema(found=found, known=2)

    assert check.grade is grade
    assert words in check.text


@pytest.mark.parametrize(
    ("version", "grade"),
    [
        ("3.6.23", Grade.GOOD),  # has no WAL
        ("3.7.0", Grade.WARNING),
        ("3.40.1", Grade.WARNING),
        ("3.51.2", Grade.WARNING),
        ("3.51.3", Grade.GOOD),
        ("3.54.1", Grade.GOOD),
        ("4.0.0", Grade.GOOD),
    ],
)
def test_a_library_that_can_lose_commits_is_warned_about(version: str, grade: Grade) -> None:
    assert checkup.library({**SQLITE, "sqlite_version": version}).grade is grade
    assert checkup.library(POSTGRES).text == "PostgreSQL 15.18"


@pytest.mark.parametrize(
    ("settings", "grade"),
    [
        (SQLITE, Grade.GOOD),
        ({**SQLITE, "synchronous": "3"}, Grade.GOOD),
        ({**SQLITE, "synchronous": "1"}, Grade.WARNING),
        ({**SQLITE, "journal_mode": "delete"}, Grade.WARNING),
        (POSTGRES, Grade.GOOD),
        ({**POSTGRES, "synchronous_commit": "remote_apply"}, Grade.GOOD),
        ({**POSTGRES, "synchronous_commit": "off"}, Grade.WARNING),
        ({**POSTGRES, "fsync": "off"}, Grade.WARNING),
        ({**POSTGRES, "full_page_writes": "off"}, Grade.WARNING),
    ],
)
def test_settings_that_cost_durability_are_warned_about(settings: dict[str, str], grade: Grade) -> None:
    assert checkup.durability(settings).grade is grade


@pytest.mark.spec("invariants:I-65")
def test_broken_rules_are_counted_with_the_first_that_break_them() -> None:
    broken = [("the log has a gap", f"run_{number}") for number in range(1_200)] + [("a sleep has no end", "run_1 nap")]

    check = checkup.consistency(broken)

    assert (check.grade, check.text.partition(",")[0]) == (Grade.FAILED, "2 rules are broken")
    assert check.details == (
        "the log has a gap: 1,200 times: run_0, run_1, run_2, and 1,197 more",
        "a sleep has no end: 1 time: run_1 nap",
    )
    assert checkup.consistency([]).grade is Grade.GOOD


@pytest.mark.spec("invariants:I-65")
def test_damage_fails_and_is_quoted() -> None:
    check = checkup.files([f"row {number} missing" for number in range(12)], settings=SQLITE)

    assert (check.grade, len(check.details), check.details[-1]) == (Grade.FAILED, 11, "and 2 more")
    assert checkup.files([], settings=SQLITE).grade is Grade.GOOD
    assert checkup.files([], settings=POSTGRES).text.endswith("page checksums are off")


def test_silent_workers_are_named_and_those_that_stopped_are_not() -> None:
    live = a_worker(seen_at=NOW)
    silent = a_worker(id=WorkerId("wrk_B"), seen_at=Instant(NOW - 90 * SECOND))
    stopped = a_worker(id=WorkerId("wrk_C"), seen_at=Instant(0), stopped_at=Instant(1))

    check = checkup.workers([live, silent, stopped], now=NOW)

    assert (check.grade, check.text) == (Grade.WARNING, "1 is alive, 1 silent: dead, stuck or cut off")
    assert check.details == ("wrk_B on alpha (pid 71), for 1 min 30 s",)
    assert checkup.workers([live, stopped], now=NOW) == Check(name="workers", grade=Grade.GOOD, text="1 is alive")


@pytest.mark.parametrize(
    ("skew", "grade", "words"),
    [
        (0, Grade.GOOD, "agree"),
        (5, Grade.GOOD, "agree"),
        (6, Grade.WARNING, "6 s ahead of this machine's"),
        (-90, Grade.WARNING, "1 min 30 s behind this machine's"),
    ],
)
def test_clocks_that_differ_are_warned_about(skew: int, grade: Grade, words: str) -> None:
    check = checkup.clocks(store=Instant(NOW + skew * SECOND), here=NOW)

    assert check.grade is grade
    assert words in check.text


def test_tables_fail_for_what_is_missing_and_for_what_is_foreign() -> None:
    assert checkup.tables(missing=(), foreign=()).grade is Grade.GOOD

    check = checkup.tables(missing=("index runs_claim",), foreign=("trigger eager on runs",))

    assert check.grade is Grade.FAILED
    assert check.details == ("missing: index runs_claim", "foreign: trigger eager on runs")


@pytest.mark.parametrize(
    ("file", "variables", "text"),
    [
        (None, [], "all are defaults: no windlass.toml here, no WINDLASS_ variable"),
        ("windlass.toml", [], "read from windlass.toml"),
        (None, ["WINDLASS_URL", "WINDLASS_LOG_LEVEL"], "read from WINDLASS_LOG_LEVEL, WINDLASS_URL"),
        ("windlass.toml", ["WINDLASS_URL"], "read from windlass.toml, WINDLASS_URL"),
    ],
)
def test_settings_say_where_they_come_from(file: str | None, variables: list[str], text: str) -> None:
    check = checkup.settings(file=file, variables=variables, warnings=())

    assert (check.grade, check.text, check.details) == (Grade.GOOD, text, ())


@pytest.mark.parametrize(
    ("file", "variables", "said"),
    [
        ("windlass.toml", [], "read from windlass.toml"),
        (None, ["WINDLASS_URL"], "read from WINDLASS_URL"),
        (None, [], "all are defaults: no windlass.toml here"),
    ],
)
def test_names_that_are_no_settings_are_a_warning_each(file: str | None, variables: list[str], said: str) -> None:
    one = checkup.settings(file=file, variables=variables, warnings=["A is no setting."])
    two = checkup.settings(file=file, variables=variables, warnings=["A is no setting.", "B is no setting."])

    assert (one.grade, one.text) == (Grade.WARNING, f"{said}; 1 WINDLASS_ variable has no effect")
    assert (two.grade, two.text) == (Grade.WARNING, f"{said}; 2 WINDLASS_ variables have no effect")
    assert two.details == ("A is no setting.", "B is no setting.")


@pytest.mark.parametrize(
    ("silent", "grade", "has_coordinator"),
    [(60, Grade.GOOD, True), (61, Grade.WARNING, True), (120, Grade.WARNING, True), (121, Grade.WARNING, False)],
)
def test_a_worker_that_stays_silent_tells_that_no_coordinator_runs(
    silent: int, grade: Grade, has_coordinator: bool
) -> None:
    worker = a_worker(seen_at=Instant(NOW - silent * SECOND))

    check = checkup.workers([worker], now=NOW, silent_for=MINUTE)

    assert check.grade is grade
    assert ("no coordinator runs" in check.text) is not has_coordinator


def test_a_worker_that_is_about_to_leave_is_alive() -> None:
    assert checkup.workers([a_worker(seen_at=NOW, is_draining=True)], now=NOW).text == "1 is alive"


def a_schedule(name: str = "nightly", **changes: Any) -> Schedule:
    fields: dict[str, Any] = {
        "namespace": "default",
        "name": name,
        "workflow": "tidy",
        "version": "",
        "queue": "default",
        "input": b"[]",
        "input_hash": b"",
        "timeout_for": None,
        "timing": Timing(every=HOUR),
        "anchor": NOW,
        "catch_up": CatchUp.LATEST,
        "max_catch_up": 1,
        "overlap": Overlap.ALLOW,
        "jitter": Duration(0),
        "status": ScheduleStatus.ACTIVE,
        "declared_in": None,
        "is_declared": True,
        "revision": 1,
        "last_slot": NOW,
        "available_at": Instant(NOW + HOUR),
    }
    return Schedule(**(fields | changes))


PAUSED = {"status": ScheduleStatus.PAUSED, "available_at": None}


def test_schedules_that_do_as_they_should_are_counted() -> None:
    blocked = a_schedule("b", overlap=Overlap.QUEUE, available_at=None)
    just_due = a_schedule("d", available_at=Instant(NOW - MINUTE))

    check = checkup.schedules([a_schedule("a"), blocked, a_schedule("c", **PAUSED), just_due], now=NOW)

    assert (check.grade, check.text) == (Grade.GOOD, "3 active, 1 paused")
    assert checkup.schedules([], now=NOW).text == "there are none"


def test_late_unreadable_and_undeclared_schedules_are_named_with_what_to_do() -> None:
    late = a_schedule("late", namespace="shop", available_at=Instant(NOW - 3 * HOUR))
    odd = a_schedule("odd", available_at=None, error="No such zone.")
    coded = a_schedule("coded", available_at=None, error="no such zone", declared_in="shop.py")
    gone = a_schedule("gone", declared_in="shop.py", is_declared=False, **PAUSED)

    check = checkup.schedules([late, odd, coded, gone, a_schedule()], now=NOW)

    assert (check.grade, check.text) == (Grade.WARNING, "4 active, 1 paused; 4 need a look")
    assert check.details == (
        "'late' (shop) has been due since 09:00:00 UTC (3 h); no coordinator runs: start a worker",
        "'odd' has no next time: No such zone; give it other times: windlass schedules create odd … --replace",
        "'coded' has no next time: no such zone; give it other times in shop.py, where it is declared",
        "'gone' is no longer declared in shop.py, and paused: declare it again, or delete it",
    )


def test_a_schedule_whose_times_lie_behind_a_clock_that_was_ahead_is_named() -> None:
    ahead = a_schedule("ahead", last_slot=Instant(NOW + 30 * DAY), available_at=Instant(NOW + 31 * DAY))

    check = checkup.schedules([ahead], now=NOW)

    assert check.grade == "warning"
    assert "fires nothing before" in check.details[0] and "pause it and resume it" in check.details[0]


def test_of_many_late_schedules_the_first_are_named() -> None:
    many = [a_schedule(f"s{number}", available_at=Instant(NOW - HOUR)) for number in range(7)]

    check = checkup.schedules(many, now=NOW)

    assert check.text == "7 active; 7 need a look"
    assert (len(check.details), check.details[-1]) == (6, "and 2 more")


@pytest.mark.parametrize(
    ("count", "text", "details"),
    [
        (1, "1 run is past a time-out, and nobody has ended it; no coordinator runs: start a worker", 1),
        (4, "4 runs are past a time-out, and nobody has ended them; no coordinator runs: start a worker", 4),
        (1_000, "1,000 runs are past a time-out, and nobody has ended them; no coordinator runs: start a worker", 4),
        (
            1_001,
            "more than 1,000 runs are past a time-out, and nobody has ended them; no coordinator runs: start a worker",
            4,
        ),
    ],
)
def test_runs_past_their_time_are_counted_up_to_a_thousand(count: int, text: str, details: int) -> None:
    check = checkup.timeouts([f"run_{number}" for number in range(count)])

    assert (check.grade, check.text, len(check.details)) == (Grade.WARNING, text, details)
    assert checkup.timeouts([]).grade is Grade.GOOD


def kept(**changes: Any) -> Kept:
    return Kept(**({"ended": 0, "late": 0, "unread": 0, "limit": None, "own_limits": 0} | changes))


@pytest.mark.parametrize(
    ("found", "grade", "text"),
    [
        (kept(), Grade.GOOD, "ended runs are kept for ever"),
        (kept(ended=1), Grade.GOOD, "1 ended run is kept for ever"),
        (kept(ended=1_000_000), Grade.GOOD, "1,000,000 ended runs are kept for ever"),
        (
            kept(ended=1_000_001),
            Grade.WARNING,
            "1,000,001 ended runs are kept for ever: set WINDLASS_RETENTION_KEEP_SECS, or keep= of workflows",
        ),
        (kept(ended=2_000_000, limit=Duration(30 * DAY)), Grade.GOOD, "2,000,000 ended runs are kept for 30 d"),
        (
            kept(ended=2_000_000, own_limits=2),
            Grade.GOOD,
            "2,000,000 ended runs are kept for ever (2 workflows have a limit of their own)",
        ),
        (
            kept(ended=9, late=4, limit=DAY),
            Grade.WARNING,
            "9 ended runs are kept for 1 d; 4 should be gone: no coordinator runs: start a worker",
        ),
        (
            kept(ended=9, late=4, unread=3, limit=DAY),
            Grade.WARNING,
            "9 ended runs are kept for 1 d; 3 should be gone, and wait for a reader of the log: "
            "let it go on, or drop its cursor; 1 should be gone: no coordinator runs: start a worker",
        ),
    ],
)
def test_what_is_kept_longer_than_it_should_be_is_warned_about(found: Kept, grade: Grade, text: str) -> None:
    check = checkup.retention(found, now=NOW)

    assert (check.grade, check.text) == (grade, text)


def test_the_cursor_that_is_waited_for_is_named() -> None:
    audit = Cursor(namespace="shop", name="audit", seq=1_200, moved_at=Instant(NOW - 3 * DAY))

    check = checkup.retention(kept(ended=2, late=1, unread=1, limit=DAY, cursors=(audit,)), now=NOW)

    assert check.details == ("cursor 'audit' (shop) has stood at entry 1,200 for 3 d",)


def holder(**fields: Any) -> Holder:
    values: dict[str, Any] = {
        "pid": 4711,
        "application": "psql",
        "person": "anna",
        "database": "shop",
        "state": "idle in transaction",
        "open_for": Duration(3 * HOUR),
    }
    return Holder(**(values | fields))


def test_a_feed_that_is_held_back_says_by_whom() -> None:
    held_since = Instant(NOW - 2 * HOUR)
    others = holder(open_for=Duration(SECOND)), holder(pid=0, application="prepared x", state="prepared")

    check = checkup.feed(FeedState(held_since=held_since, ahead=0, holders=(holder(), *others)), now=NOW)

    assert check.grade is Grade.WARNING
    assert check.text == "nothing is told of the last 2 h: an older transaction is open; end it"
    assert check.details == (
        "pid 4711 (psql, anna in shop): idle in transaction, for 3 h",
        "nobody (prepared x, anna in shop): prepared, for 3 h",
    )


def test_a_feed_that_is_a_moment_behind_is_in_order() -> None:
    state = FeedState(held_since=Instant(NOW - SECOND), ahead=0, holders=(holder(),))

    assert checkup.feed(state, now=NOW).grade is Grade.GOOD
    assert checkup.feed(FeedState(held_since=None, ahead=0), now=NOW).grade is Grade.GOOD


def test_a_log_of_another_server_is_reported() -> None:
    check = checkup.feed(FeedState(held_since=None, ahead=1_200), now=NOW)

    assert check.grade is Grade.WARNING
    assert "1,200 entries are from another server" in check.text

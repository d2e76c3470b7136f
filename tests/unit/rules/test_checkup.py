"""Does a check-up fail for what is wrong, warn of what is doubtful, and let the rest pass?"""

from __future__ import annotations

import pytest

from tests.unit.rules.test_explain import a_worker
from windlass.model.checkup import Check, Checkup, Grade
from windlass.model.run import WorkerId
from windlass.model.time import SECOND, Instant
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

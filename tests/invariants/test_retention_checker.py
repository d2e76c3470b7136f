"""Does the checker of what was removed complain about what went too early, by half, or although it was needed?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.invariants.checkers import CHECKERS, judge
from tests.invariants.evidence import Evidence, Snapshot
from tests.invariants.retention import only_what_is_over_and_old_is_removed, with_the_removed
from tests.invariants.stories import NOON, RUN, log, payload, run, step
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.step import StepStatus
from windlass.model.time import DAY, HOUR, Duration, Instant
from windlass.store.queries.checks import KeyRow, RunRow

OTHER = RunId("run_2")
KEPT = Duration(30 * DAY)


def over(id: RunId = RUN, status: RunStatus = RunStatus.FAILED, **fields: Any) -> Run:
    return run(status, id=id, finished_at=Instant(NOON), **fields)


def key(**fields: Any) -> KeyRow:
    values: dict[str, Any] = {
        "namespace": "default",
        "key": "order-1",
        "name": "order",
        "version": "",
        "input_hash": b"hash",
        "run_id": RUN,
        "created_at": Instant(NOON),
        "expires_at": Instant(NOON + DAY),
    }
    return KeyRow(**{**values, **fields})


def snapshot(at: int, *runs: Run, **fields: Any) -> Snapshot:
    """With all that belongs to these runs."""
    values: dict[str, Any] = {
        "at": Instant(at),
        "life": 1,
        "rows": tuple(RunRow(run=item, result_hash=None) for item in runs),
        "payload_rows": tuple(payload(run_id=item.id) for item in runs),
        "log": tuple(log(n, None, item.status, "finish", run_id=item.id) for n, item in enumerate(runs, start=1)),
    }
    return Snapshot(**{**values, **fields})


def removal(before: Snapshot, after: Snapshot, **fields: Any) -> Evidence:
    return Evidence(**{"snapshots": (before, after), "keep_for": KEPT, **fields})


EARLY, DUE = NOON + KEPT - 1, NOON + KEPT
SEEN = snapshot(NOON, over(), keys=(key(),))
PARENT, CHILD = over(RUN), over(OTHER, parent=RUN, parent_step="part")
RETRY, SLEEPER = over(OTHER, retry_of=RUN), run(RunStatus.SLEEPING)


def test_what_went_in_its_time_is_nothing_to_complain_about() -> None:
    assert only_what_is_over_and_old_is_removed(removal(SEEN, snapshot(DUE))) == []
    assert CHECKERS["I-64"] is only_what_is_over_and_old_is_removed


SPOILT: dict[str, tuple[str, Evidence]] = {
    "gone 1 µs before its time": ("I-64", removal(SEEN, snapshot(EARLY))),
    "order is kept for ever": ("I-64", removal(SEEN, snapshot(DUE), keep_for=None, limits={"letter": DAY})),
    "and gone 86400000000 µs before its time": (
        "I-64",
        removal(SEEN, snapshot(NOON + DAY), limits={"order": Duration(2 * DAY)}),
    ),
    "key 'order-1': gone before its window is over": (
        "I-64",
        removal(SEEN, snapshot(NOON + HOUR), keep_for=Duration(1)),
    ),
    "paused when it was last seen": ("I-64", removal(snapshot(NOON, run(RunStatus.PAUSED)), snapshot(EARLY))),
    "gone, and its payload is still there": ("I-64", removal(SEEN, snapshot(DUE, payload_rows=(payload(),)))),
    "gone, and its step pack is still there": (
        "I-64",
        removal(SEEN, snapshot(DUE, steps=(step("pack", StepStatus.COMPLETED),))),
    ),
    "gone, and its log is still there": ("I-64", removal(SEEN, snapshot(DUE, log=SEEN.log))),
    "still there, and a part of its log is gone": ("I-64", removal(SEEN, snapshot(DUE, over(), log=()))),
    "still there, and its payload is gone": ("I-64", removal(SEEN, snapshot(DUE, over(), payload_rows=()))),
    "run_2: gone before its parent": ("I-64", removal(snapshot(NOON, PARENT, CHILD), snapshot(DUE, PARENT))),
    "run_1: gone before run_2": ("I-64", removal(snapshot(NOON, over(), RETRY), snapshot(DUE, RETRY))),
    "key 'order-1': gone before": ("I-64", removal(replace(SEEN, keys=(key(expires_at=None),)), snapshot(DUE))),
    "key 'order-1': gone, and its run run_1 is sleeping": (
        "I-64",
        removal(snapshot(NOON, SLEEPER, keys=(key(),)), snapshot(DUE, SLEEPER)),
    ),
}


@pytest.mark.spec("invariants:I-64")
@pytest.mark.parametrize("complaint", SPOILT)
def test_each_wrong_removal_is_found(complaint: str) -> None:
    number, evidence = SPOILT[complaint]

    assert [text for text in CHECKERS[number](evidence) if complaint in text] != []


def test_the_other_checkers_judge_a_run_that_has_gone_as_it_was_last_seen() -> None:
    evidence = removal(SEEN, snapshot(DUE))

    assert with_the_removed(evidence).last.runs == SEEN.runs
    assert with_the_removed(evidence).last.histories == SEEN.histories
    assert [text for text in judge(replace(evidence, keep_for=None)) if "I-09" in text] != []
    assert [text for text in judge(evidence) if "I-09" in text] == []

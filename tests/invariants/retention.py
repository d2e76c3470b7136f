"""Whether only that was removed which was over and old enough, with all its rows: I-64.

Each function takes evidence and answers with complaints, none if all is well. `with_the_removed` gives the other
checkers what has gone in order: they judge runs, not how long these are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from tests.invariants.evidence import Evidence, Snapshot
from windlass.model.run import Run, RunStatus
from windlass.rules.retention import kept_for


def only_what_is_over_and_old_is_removed(evidence: Evidence) -> list[str]:
    """I-64: ended runs older than their limit, with all their rows; and no key younger than its window."""
    found: list[str] = []
    for before, after in evidence.pairs:
        for run in before.runs.values():
            if run.id not in after.runs:
                found += _removed_too_early(run, before, after, evidence)
        found += _needed_still(before, after)
        found += _half_removed(before, after)
        found += _lost_keys(before, after)
    return found


def _removed_too_early(run: Run, before: Snapshot, after: Snapshot, evidence: Evidence) -> Iterator[str]:
    limit = kept_for(run.name, limits=evidence.limits, default=evidence.keep_for)
    if limit is None:
        yield f"{run.id}: {run.name} is kept for ever, and it is gone"
        return
    # One that was not over when it was last seen may have ended at any time since.
    early = (run.finished_at or before.at) + limit - after.at
    if early > 0:
        yield f"{run.id}: {run.status} when it was last seen, and gone {early} µs before its time"


def _needed_still(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """A run that another one may ask for, which is still there."""
    for run in before.runs.values():
        if run.id in after.runs:
            continue
        parent = after.runs.get(run.parent or "")
        if parent is not None and parent.status is not RunStatus.COMPLETED:
            yield f"{run.id}: gone before its parent, which is {parent.status}"
        for later in after.runs.values():
            if later.retry_of == run.id:
                yield f"{run.id}: gone before {later.id}, which tries it again"


def _half_removed(before: Snapshot, after: Snapshot) -> Iterator[str]:
    gone = before.runs.keys() - after.runs.keys()
    left: list[tuple[str, str]] = [
        *((row.run_id, "payload") for row in after.payload_rows),
        *((step.run_id, f"step {step.key}") for step in after.steps),
        *((entry.subject_id, "log") for entry in after.log if entry.subject_kind == "run"),
        *((message.run_id, "message") for message in after.messages),
    ]
    for run_id, what in left:
        if run_id in gone:
            yield f"{run_id}: gone, and its {what} is still there"
    for run_id in before.runs.keys() & after.runs.keys():
        if len(after.histories.get(run_id, [])) < len(before.histories.get(run_id, [])):
            yield f"{run_id}: still there, and a part of its log is gone"
        if run_id not in after.payloads:
            yield f"{run_id}: still there, and its payload is gone"


def _lost_keys(before: Snapshot, after: Snapshot) -> Iterator[str]:
    kept = {(row.namespace, row.key) for row in after.keys}
    for row in before.keys:
        if (row.namespace, row.key) in kept:
            continue
        if row.expires_at is None or row.expires_at > after.at:
            yield f"key {row.key!r}: gone before its window is over"
        elif (run := after.runs.get(row.run_id)) is not None and run.finished_at is None:
            yield f"key {row.key!r}: gone, and its run {run.id} is {run.status}"


def with_the_removed(evidence: Evidence) -> Evidence:
    """The same story, told as if everything that was ever seen had stayed as it was last seen."""
    snapshots: list[Snapshot] = []
    for snapshot in evidence.snapshots:
        snapshots.append(snapshot if not snapshots else _with_the_gone_of(snapshots[-1], snapshot))
    return replace(evidence, snapshots=tuple(snapshots))


def _with_the_gone_of(before: Snapshot, after: Snapshot) -> Snapshot:
    gone = before.runs.keys() - after.runs.keys()
    if not gone:
        return after
    changes: dict[str, Any] = {
        "rows": (*after.rows, *(row for row in before.rows if row.run.id in gone)),
        "payload_rows": (*after.payload_rows, *(row for row in before.payload_rows if row.run_id in gone)),
        "steps": (*after.steps, *(step for step in before.steps if step.run_id in gone)),
        "messages": (*after.messages, *(message for message in before.messages if message.run_id in gone)),
        "log": sorted(
            (*after.log, *(entry for entry in before.log if entry.subject_id in gone)), key=lambda entry: entry.seq
        ),
    }
    return replace(after, **changes | {"log": tuple(changes["log"])})

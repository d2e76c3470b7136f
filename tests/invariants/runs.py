"""Whether runs kept their promises: invariants I-08 to I-12 and I-15.

Each function takes evidence and answers with complaints, none if all is well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.invariants.evidence import Evidence, Snapshot, is_claim, is_remark
from tests.lives.journal import Event
from windlass.codec import Codec
from windlass.model.failure import FailureKind, FailureReason
from windlass.model.run import GONE, PAUSED_BY, RECOVERED, TAKEN, LogEntry, Run, RunStatus
from windlass.model.step import StepStatus
from windlass.rules.runs import TRANSITIONS

_codec = Codec()


def accepted_runs_end_or_say_what_they_wait_for(evidence: Evidence) -> list[str]:
    """I-08: no silent limbo; and once faults have ended, everything that can go on does so within the bound."""
    last = evidence.last
    slack = evidence.visibility_for + 2 * evidence.poll_for
    found = []
    for run_id in {line.run_id for line in evidence.of(Event.ACKED)}:
        run = last.runs.get(run_id)
        if run is None:
            found.append(f"{run_id}: acknowledged, and gone")
        elif run.status is RunStatus.PAUSED:
            found += _without_reason(run_id, last)
        elif run.status is RunStatus.WAITING and run.available_at is None:
            found += _waiting_for_nothing(run_id, last)
        elif not run.status.is_terminal and (run.available_at is None or run.available_at + slack < last.at):
            found.append(f"{run_id}: {run.status}, and nobody comes for it")
        elif evidence.healed_at is not None and run.finished_at is not None:
            late = run.finished_at - evidence.healed_at - evidence.bound_for
            if late > 0:
                found.append(f"{run_id}: ended {late} µs later than it had to")
    return found


def terminal_is_absorbing(evidence: Evidence) -> list[str]:
    """I-09: how a run ended never changes."""
    found = []
    for before, after in evidence.pairs:
        for run in before.runs.values():
            if run.status.is_terminal and _ending(run.id, before) != _ending(run.id, after):
                found.append(f"{run.id}: it had ended, and its end changed")
    for run_id, entries in evidence.last.histories.items():
        for entry in entries:
            if entry.from_status is not None and RunStatus(entry.from_status).is_terminal:
                found.append(f"{run_id}: left {entry.from_status} for {entry.to_status}")
    return found


def statuses_form_a_path(evidence: Evidence) -> list[str]:
    """I-10: the log of a run is one path through the declared states, and ends where the run stands."""
    found: list[str] = []
    for snapshot in evidence.snapshots:
        for run in snapshot.runs.values():
            found += _off_the_path(run, snapshot.histories.get(run.id, []))
    for before, after in evidence.pairs:
        for run_id, entries in before.histories.items():
            if after.histories.get(run_id, [])[: len(entries)] != entries:
                found.append(f"{run_id}: its log was rewritten")
    return found


def inputs_never_change(evidence: Evidence) -> list[str]:
    """I-11: what a run was started with stays."""
    found = []
    for before, after in evidence.pairs:
        for run_id, payload in before.payloads.items():
            later = after.payloads.get(run_id)
            if later is None or (later.input, later.start_key) != (payload.input, payload.start_key):
                found.append(f"{run_id}: its input or its key changed")
    return found


def acknowledged_runs_survive(evidence: Evidence) -> list[str]:
    """I-12: what was acknowledged is there for ever; what was not is there once or not at all."""
    found = []
    for line in evidence.of(Event.ACKED):
        for snapshot in evidence.snapshots:
            if snapshot.life >= line.life and line.run_id not in snapshot.runs:
                found.append(f"{line.run_id}: acknowledged in life {line.life}, missing after life {snapshot.life}")
    for snapshot in evidence.snapshots:
        # Those that nobody asked for by a start are counted by their parent, or by the run they try again.
        started = [run for run in snapshot.runs.values() if run.parent is None and run.retry_of is None]
        inputs = Counter((run.name, snapshot.payloads[run.id].input) for run in started)
        for line in evidence.of(Event.ASKED):
            times = inputs[line.what, _codec.encode(tuple(line.value))]
            if times > 1:
                found.append(f"{line.what} {line.value!r}: asked for once, created {times} times")
        for row in snapshot.keys:
            if row.run_id not in snapshot.runs:
                found.append(f"key {row.key!r} belongs to {row.run_id}, which does not exist")
    return sorted(set(found))


def attempts_are_counted(evidence: Evidence) -> list[str]:
    """I-15: every claim is an attempt, and a run that keeps killing its workers ends, no other does."""
    found = []
    # Whoever claims such a run ends it by a second transaction, and does not get it.
    given = {(run_id, token) for line in evidence.of(Event.CLAIMED) for run_id, token in line.value}
    for snapshot in evidence.snapshots:
        for run in snapshot.runs.values():
            claims = len(snapshot.claims.get(run.id, []))
            if run.attempts != claims:
                found.append(f"{run.id}: {run.attempts} attempts, {claims} claims in its log")
            in_a_row = _recoveries_in_a_row(snapshot.histories.get(run.id, []))
            if (run.id, run.token) in given and in_a_row > evidence.max_recoveries:
                found.append(f"{run.id}: recovered {in_a_row} times in a row, and still executed")
            payload = snapshot.payloads.get(run.id)
            failure = None if payload is None else payload.failure
            is_loop = failure is not None and (
                failure.kind is FailureKind.CRASH_LOOP or failure.reason is FailureReason.CLAIM_RAN_OUT
            )
            if run.status.is_terminal and is_loop != (in_a_row > evidence.max_recoveries):
                found.append(f"{run.id}: {run.status}, after {in_a_row} recoveries in a row")
    for before, after in evidence.pairs:
        for run in before.runs.values():
            if run.id in after.runs and after.runs[run.id].attempts < run.attempts:
                found.append(f"{run.id}: its attempts went back")
    return found + _unseen_bodies(evidence)


def _without_reason(run_id: str, snapshot: Snapshot) -> Iterator[str]:
    payload, entries = snapshot.payloads.get(run_id), snapshot.histories.get(run_id, [])
    is_by_person = any(entry.cause == PAUSED_BY for entry in entries)
    if not is_by_person and (payload is None or payload.failure is None):
        yield f"{run_id}: paused, and nothing says why"


def _waiting_for_nothing(run_id: str, snapshot: Snapshot) -> Iterator[str]:
    steps = [step for step in snapshot.steps if step.run_id == run_id and step.status is StepStatus.WAITING]
    if not any(step.kind.is_wait and not step.is_dropped for step in steps):
        yield f"{run_id}: waiting, and nothing says what for"


def _ending(run_id: str, snapshot: Snapshot) -> object:
    run, payload = snapshot.runs.get(run_id), snapshot.payloads.get(run_id)
    if run is None or payload is None:
        return None
    return run, snapshot.result_hashes[run_id], payload.output, payload.failure


def _off_the_path(run: Run, entries: list[LogEntry]) -> Iterator[str]:
    status: str | None = None
    seq = -1
    for entry in entries:
        if entry.from_status != status or (status, entry.to_status) not in TRANSITIONS:
            yield f"{run.id}: was {status}, and the log says {entry.from_status} became {entry.to_status}"
        if entry.seq <= seq:
            yield f"{run.id}: the log's numbers do not grow"
        status, seq = entry.to_status, entry.seq
    if status != run.status:
        yield f"{run.id}: is {run.status}, its log ends with {status}"


def _unseen_bodies(evidence: Evidence) -> list[str]:
    """Bodies of a recovered run whose start is not on record: if such a one kills its process, nobody sees which."""
    snapshots = {snapshot.life: snapshot for snapshot in evidence.snapshots}
    tokens: dict[str, int] = {}
    found = []
    for line in evidence.of(Event.CLAIMED, Event.ENTERED):
        if line.event is Event.CLAIMED:
            tokens.update(dict(line.value))
            continue
        claims = evidence.last.claims.get(line.run_id, [])
        token, snapshot = tokens.get(line.run_id, 0), snapshots.get(line.life)
        if snapshot is None or not 0 < token <= len(claims):
            continue
        if not _is_recovery(claims[token - 1], evidence.last.histories[line.run_id]):
            continue
        attempts = snapshot.attempts.get((line.run_id, line.key), [])
        if line.attempt not in [step.attempt for step in attempts]:
            found.append(f"{line.run_id} {line.key}: entered after a recovery, and its start is not on record")
    return found


def _recoveries_in_a_row(entries: list[LogEntry]) -> int:
    """How many claims, counted back from the last one, ended without anyone giving them back."""
    count = 0
    for entry in reversed(entries):
        if entry.cause in TAKEN:
            count += 1
        elif is_claim(entry) and not _is_recovery(entry, entries):
            break
    return count


def _is_recovery(claim: LogEntry, entries: list[LogEntry]) -> bool:
    """Did this claim follow one that nobody gave back?"""
    entries = [entry for entry in entries if not is_remark(entry)]
    before = entries[entries.index(claim) - 1 :][:1]
    return claim.cause == RECOVERED or any(entry.cause in GONE for entry in before)

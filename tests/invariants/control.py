"""Whether what people did to runs and queues was done, once, and as they were told: I-13, I-24, I-57.

Each function takes evidence and answers with complaints, none if all is well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from tests.invariants.evidence import Evidence, Snapshot, is_claim
from tests.lives.clients import DONE
from tests.lives.journal import Event
from tests.lives.journalled_work import OK, PARKED
from windlass.model.gate import GateKind
from windlass.model.run import Deed, LogEntry, RunStatus
from windlass.model.step import StepStatus

NOTED = frozenset({"approve", "cancel", "pause", "resume", "retry"})  # deeds that stand in the log, with who did them


def cancelled_once_and_nothing_after(evidence: Evidence) -> list[str]:
    """I-13: a run is cancelled once; whoever still works on it completes nothing, and nobody begins to."""
    cancelled = {line.run_id: line.life for line in reversed(evidence.of(Event.HEARD)) if line.what == "cancel"}
    return nothing_is_completed_after_a_cancel(evidence) + [
        f"{line.run_id} {line.key}: entered in life {line.life}, after it had been cancelled"
        for line in evidence.of(Event.ENTERED)
        if line.life > cancelled.get(line.run_id, line.life)
    ]


def nothing_is_completed_after_a_cancel(evidence: Evidence) -> list[str]:
    found: list[str] = []
    for snapshot in evidence.snapshots:
        for run in snapshot.runs.values():
            entries = snapshot.histories.get(run.id, [])
            places = [place for place, entry in enumerate(entries) if entry.to_status == RunStatus.CANCELLED]
            if places and places != [len(entries) - 1]:
                found.append(f"{run.id}: cancelled {len(places)} times, or something came after")
            if run.status is RunStatus.CANCELLED:
                found += _completed_late(run.id, run.finished_at or 0, snapshot)
    cancelled: set[str] = set()
    was_late: defaultdict[tuple[str, int, str], list[bool]] = defaultdict(list)
    for line in evidence.lines:
        call = (line.run_id, line.token, line.what)
        if line.event is Event.HEARD and line.what == "cancel":
            cancelled.add(line.run_id)
        elif line.event is Event.SENT:
            was_late[call].append(line.run_id in cancelled)
        elif line.event is Event.ANSWERED and line.outcome in (OK, PARKED) and was_late[call] and was_late[call].pop(0):
            found.append(f"{line.run_id}: {line.what} was accepted after it had been cancelled")
    return found


def nothing_is_claimed_behind_a_closed_gate(evidence: Evidence) -> list[str]:
    """I-24: from the commit of a pause to that of its end nothing of that queue or workflow is claimed."""
    found = the_log_has_no_claim_behind_a_closed_gate(evidence)
    paused: set[str] = set()
    for line in evidence.of(Event.HEARD, Event.TOLD, Event.CLAIMED):
        if line.event is Event.CLAIMED:
            queues = {evidence.last.runs[run_id].queue for run_id, _ in line.value if run_id in evidence.last.runs}
            found += [f"{line.who}: claimed of queue {queue!r}, which was paused" for queue in sorted(queues & paused)]
        elif not line.run_id and (line.event, line.what) == (Event.HEARD, "pause"):
            paused.add(line.key)
        elif not line.run_id and line.what == "resume":
            paused.discard(line.key)
    return found


def the_log_has_no_claim_behind_a_closed_gate(evidence: Evidence) -> list[str]:
    """A claim holds its gates until it is committed, so its number is never one that a pause has passed."""
    found = []
    for snapshot in evidence.snapshots:
        closed: set[str] = set()
        for entry in snapshot.log:
            if entry.subject_kind == "gate":
                (closed.add if entry.to_status == "paused" else closed.discard)(entry.subject_id)
            elif is_claim(entry) and closed & _gates_of(entry, snapshot):
                found.append(f"{entry.subject_id}: claimed while {', '.join(sorted(closed))} was paused")
        standing = {f"{gate.kind.value}/{gate.name}" for gate in snapshot.gates}
        if standing != closed:
            found.append(f"life {snapshot.life}: {sorted(standing)} is paused, by the log {sorted(closed)}")
    return found


def retries_create_one_run(evidence: Evidence) -> list[str]:
    """DESIGN §2: a run is tried again once, whoever asks; what it had completed is not done again."""
    found = []
    answers: dict[str, set[str]] = defaultdict(set)
    from_start = set()
    for line in evidence.of(Event.HEARD):
        if line.what == "retry":
            answers[line.run_id].add(line.outcome)
            if line.value is None:
                from_start.add(line.outcome)
    for run_id, new in answers.items():
        if len(new) > 1 or not new <= evidence.last.runs.keys():
            found.append(f"{run_id}: tried again as {', '.join(sorted(new))}")
    for snapshot in evidence.snapshots:
        times = Counter(run.retry_of for run in snapshot.runs.values() if run.retry_of is not None)
        found += [f"{run_id}: tried again {count} times" for run_id, count in times.items() if count > 1]
    for line in evidence.of(Event.ENTERED):
        run = evidence.last.runs.get(line.run_id)
        if run is not None and line.run_id in from_start:
            attempts = evidence.last.attempts.get((run.retry_of or "", line.key), [])
            if any(step.status is StepStatus.COMPLETED for step in attempts):
                found.append(f"{line.run_id} {line.key}: entered, and {run.retry_of} had completed it")
    return found


def deeds_are_done_once(evidence: Evidence) -> list[str]:
    """I-57: what was told again because no answer came has the effect of one call, and stands in the log once."""
    found = []
    noted = Counter(_deeds(evidence.last))
    for line in evidence.of(Event.TOLD, Event.HEARD):
        if line.what not in NOTED:
            continue
        subject = line.run_id or f"{GateKind.QUEUE.value}/{line.key}"
        times = noted[line.what, subject, line.who]
        is_done = line.event is Event.HEARD and line.outcome == DONE and line.what == "cancel"
        if times > 1 or (is_done and times == 0):
            found.append(f"{subject}: {line.what} by {line.who} stands in the log {times} times")
    return sorted(set(found))


def _deeds(snapshot: Snapshot) -> Iterator[tuple[str, str, str]]:
    """What was done, about what, by whom. A retry stands at the run it has made."""
    retried: Mapping[str, str] = {run.id: run.retry_of for run in snapshot.runs.values() if run.retry_of is not None}
    for entry in snapshot.log:
        deed = Deed.from_log(entry.data)
        if entry.cause in NOTED and deed.by is not None:
            yield entry.cause, retried.get(entry.subject_id, entry.subject_id), deed.by


def _completed_late(run_id: str, at: int, snapshot: Snapshot) -> list[str]:
    return [
        f"{run_id} {step.key}: written after its run had been cancelled"
        for step in snapshot.steps
        if step.run_id == run_id and step.finished_at is not None and step.finished_at > at
    ]


def _gates_of(entry: LogEntry, snapshot: Snapshot) -> set[str]:
    run = snapshot.runs.get(entry.subject_id)
    if run is None:
        return set()
    gates = ((GateKind.QUEUE, run.queue), (GateKind.WORKFLOW, run.name), (GateKind.NAMESPACE, run.namespace))
    return {f"{kind.value}/{name}" for kind, name in gates}

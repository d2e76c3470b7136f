"""Whether anything was lost or done again: the journal of the bodies, held against what the store has on record.

Pure: lines and records in, a verdict out. Every disagreement between the two is a finding, also one that could only
come from a journal somebody has changed: a zero that cannot be anything else proves nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from windlass.demo.journal import RETURNED, Event, Line
from windlass.demo.shop import Plan
from windlass.model.run import RunStatus
from windlass.model.step import Step, StepKind, StepStatus


class Zero(StrEnum):
    """What has to be zero."""

    AGAIN = "run again after commit"
    LOST = "lost"


class Recorded(Struct, frozen=True, kw_only=True):
    """A run as the store has it."""

    name: str
    status: RunStatus
    steps: tuple[Step, ...]


class Finding(Struct, frozen=True):
    zero: Zero
    run_id: str  # empty if it is about no run
    text: str


class Verdict(Struct, frozen=True, kw_only=True):
    started: int  # bodies
    committed: int  # … whose result, or failure, is on record
    interrupted: int  # … by a kill, and repeated with the same key
    findings: tuple[Finding, ...]

    def count(self, zero: Zero) -> int:
        return sum(finding.zero is zero for finding in self.findings)


class Body(Struct, kw_only=True):
    """One execution of a step's function, as the journal has it."""

    entered: Line
    left: Line | None = None

    @property
    def has_returned(self) -> bool:
        return self.left is not None and self.left.outcome == RETURNED


def judge(lines: Sequence[Line], *, recorded: Mapping[str, Recorded], plans: Mapping[str, Plan]) -> Verdict:
    """Hold the journal against the store. `recorded` holds every run of the store, by id."""
    bodies, findings = _bodies_of(lines)
    accepted = {line.run_id for line in lines if line.event is Event.ACCEPTED}
    findings += _judge_runs(accepted, recorded=recorded, plans=plans)
    killed = {line.process for line in lines if line.event is Event.KILLED}
    last_words = {(line.pid, line.run_id): line for line in lines}  # the last line of each process about each run
    committed = interrupted = 0
    for run_id, key in sorted({*bodies, *_steps_of(recorded)}):
        found = bodies.get((run_id, key), [])
        rows = [step for step in recorded[run_id].steps if step.key == key] if run_id in recorded else []
        unmatched, complaints = _match(found, rows)
        committed += sum(_is_committed(row) for row in rows) - len(complaints)
        findings += (Finding(Zero.LOST, run_id, complaint) for complaint in complaints)
        for body in unmatched:
            silent = body.left or body.entered
            is_explained = silent.pid in killed and last_words[silent.pid, run_id] is silent
            finding = _judge_repeat(body, found, rows, is_explained=is_explained)
            findings += finding
            interrupted += not finding
    findings += () if findings else _gaps(lines)
    started = sum(line.event is Event.ENTERED for line in lines)
    return Verdict(started=started, committed=max(0, committed), interrupted=interrupted, findings=tuple(findings))


def _bodies_of(lines: Iterable[Line]) -> tuple[dict[tuple[str, str], list[Body]], list[Finding]]:
    """The bodies by run and key, in the order they were entered, and what cannot be read as one."""
    bodies: dict[tuple[str, str], list[Body]] = defaultdict(list)
    at_work: dict[tuple[int, str, str, int], Body] = {}
    findings = []
    for line in lines:
        place = (line.pid, line.run_id, line.key, line.attempt)
        if line.event is Event.ENTERED:
            at_work[place] = Body(entered=line)
            bodies[line.run_id, line.key].append(at_work[place])
        elif line.event is Event.LEFT:
            body = at_work.pop(place, None)
            if body is None:
                findings.append(Finding(Zero.LOST, line.run_id, f"{line.key} was left, and was never entered"))
                body = Body(entered=line)
                bodies[line.run_id, line.key].append(body)
            elif body.entered.idempotency_key != line.idempotency_key:
                findings.append(Finding(Zero.AGAIN, line.run_id, f"{line.key} was left with another key"))
            body.left = line
    return bodies, findings


def _judge_runs(
    accepted: set[str], *, recorded: Mapping[str, Recorded], plans: Mapping[str, Plan]
) -> Iterator[Finding]:
    for run_id in sorted(accepted - recorded.keys()):
        yield Finding(Zero.LOST, run_id, "was accepted, and the store does not know it")
    for run_id, run in sorted(recorded.items()):
        plan = plans[run.name]
        done = tuple(step.key for step in run.steps if step.kind is StepKind.STEP and _is_final(step))
        if run_id not in accepted:
            yield Finding(Zero.LOST, run_id, "is in the store, and the journal does not know that it was accepted")
        if run.status is not plan.status:
            yield Finding(Zero.LOST, run_id, f"is {run.status.value} and should be {plan.status.value}")
        elif sorted(done) != sorted(plan.steps):
            yield Finding(Zero.LOST, run_id, f"has the steps {', '.join(done)}, not {', '.join(plan.steps)}")


def _steps_of(recorded: Mapping[str, Recorded]) -> Iterator[tuple[str, str]]:
    for run_id, run in recorded.items():
        yield from ((run_id, step.key) for step in run.steps if step.kind is StepKind.STEP)


def _is_committed(step: Step) -> bool:
    return step.status in (StepStatus.COMPLETED, StepStatus.FAILED)


def _is_final(step: Step) -> bool:
    """Completed, or failed with no further attempt."""
    return _is_committed(step) and (step.status is StepStatus.COMPLETED or step.due_at is None)


def _match(bodies: Sequence[Body], rows: Sequence[Step]) -> tuple[list[Body], list[str]]:
    """Give every attempt on record its body. Returns the bodies left over, and the records without one."""
    unmatched, complaints = list(bodies), []
    for row in rows:
        same = [body for body in bodies if body.entered.attempt == row.attempt]
        ended = [body for body in same if body.left is not None]
        fitting = [body for body in ended if body.has_returned == (row.status is StepStatus.COMPLETED)]
        if not _is_committed(row):
            if not same:
                complaints.append(f"{row.key} was seen to start (attempt {row.attempt}); the journal has no such body")
            continue
        if not fitting:
            complaints.append(f"{row.key} is {row.status.value} in the store (attempt {row.attempt}); no body ended so")
        # The last one: an earlier one of the same attempt was killed before it could commit.
        taken = (fitting or same)[-1:]
        unmatched = [body for body in unmatched if body not in taken]
    return unmatched, complaints


def _judge_repeat(
    body: Body, bodies: Sequence[Body], rows: Sequence[Step], *, is_explained: bool
) -> tuple[Finding, ...]:
    """Why a body without a record of its own exists: nothing to say if a kill cut it off and it was repeated."""
    line = body.entered
    completed = [row for row in rows if row.status is StepStatus.COMPLETED and row.finished_at is not None]
    later = [other for other in bodies if other.entered.at > line.at]
    if any(line.at > (row.finished_at or 0) for row in completed):
        return (Finding(Zero.AGAIN, line.run_id, f"{line.key} was entered after its result was on record"),)
    if not is_explained:
        return (
            Finding(Zero.AGAIN, line.run_id, f"{line.key} ran more often than is on record, and no kill explains it"),
        )
    if not later:
        return (Finding(Zero.LOST, line.run_id, f"{line.key} was interrupted and not repeated"),)
    if any(other.entered.idempotency_key != line.idempotency_key for other in later):
        return (Finding(Zero.AGAIN, line.run_id, f"{line.key} was repeated with another key"),)
    return ()


def _gaps(lines: Iterable[Line]) -> Iterator[Finding]:
    """Lines that were written and are gone, or are there twice, though all the others agree with the store.

    Whoever has written has an end, which says how many lines there were; the demo's own end counts those ends.
    """
    known: dict[int, Counter[int]] = defaultdict(Counter)
    counted: dict[int, int] = {}
    for line in lines:
        known[line.pid][line.number] += 1
        if line.event in (Event.KILLED, Event.ENDED):
            counted[line.process] = line.lines
    for pid in sorted(known.keys() - counted.keys()):
        yield Finding(Zero.LOST, "", f"the journal does not say how many lines process {pid} has written")
    for pid, count in sorted(counted.items()):
        written = Counter(range(1, count + 1))
        if missing := written - known[pid]:
            yield Finding(Zero.LOST, "", f"the journal lacks {len(missing)} of the {count} lines of process {pid}")
        if added := known[pid] - written:
            text = f"the journal has lines of process {pid} that it did not write, or not twice: {_listed(added)}"
            yield Finding(Zero.AGAIN, "", text)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))

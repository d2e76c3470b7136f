"""Whether steps and replays kept their promises: invariants I-01 to I-07 and I-16.

Each function takes evidence and answers with complaints, none if all is well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.invariants.evidence import Evidence, Snapshot, StepName, is_claim, is_settled
from tests.lives.journal import Event, Line
from windlass.codec import Codec
from windlass.model.failure import FailureKind
from windlass.model.retry import DEFAULT_RETRY
from windlass.model.run import TAKEN, LogEntry, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.rules.retries import RETRIED

_codec = Codec()


def completed_steps_are_never_run_again(evidence: Evidence) -> list[str]:
    """I-01: once completed, every replay gives that very output, and no replay enters the body."""
    found = [
        f"{line.run_id} {line.key}: entered in life {line.life}, after it had completed"
        for line in evidence.of(Event.ENTERED)
        if _ended_as(StepStatus.COMPLETED, evidence, line)
    ]
    delivered: set[StepName] = set()
    for line in evidence.of(Event.ENTERED, Event.DELIVERED):
        name = (line.run_id, line.key)
        if line.event is Event.DELIVERED:
            delivered.add(name)
        elif name in delivered:
            found.append(f"{line.run_id} {line.key}: entered after its result had been delivered")
    for line in evidence.of(Event.DELIVERED):
        outputs = [step.output for step in evidence.last.attempts.get((line.run_id, line.key), []) if step.output]
        if outputs != [_codec.encode(line.value)]:
            found.append(f"{line.run_id} {line.key}: delivered {line.value!r}, the store has {outputs!r}")
    for before, after in evidence.pairs:
        for step in _settled(before):
            same = [other for other in after.attempts.get((step.run_id, step.key), []) if other == step]
            if not same:
                found.append(f"{step.run_id} {step.key}: its result changed after it was recorded")
    return found


def steps_complete_once(evidence: Evidence) -> list[str]:
    """I-02: at most one completion for each step, under a key that is the same at every replay."""
    found = []
    for snapshot in evidence.snapshots:
        for (run_id, key), attempts in snapshot.attempts.items():
            if sum(step.status is StepStatus.COMPLETED for step in attempts) > 1:
                found.append(f"{run_id} {key}: completed more than once")
            if len({(step.kind, step.input_hash) for step in attempts}) > 1:
                found.append(f"{run_id} {key}: one key stands for different calls")
    for line in evidence.of(Event.ENTERED):
        if line.idempotency_key != f"{_first_try(line.run_id, evidence.last)}/{line.key}":
            found.append(f"{line.run_id} {line.key}: idempotency key {line.idempotency_key!r} is not stable")
    return found


def every_execution_is_explained(evidence: Evidence) -> list[str]:
    """I-03: a body runs again only after a crash, a lost or released claim, or a failure that may be retried."""
    entered = Counter((line.run_id, line.key) for line in evidence.of(Event.ENTERED))
    found = []
    for (run_id, key), times in entered.items():
        causes = Counter(entry.cause for entry in evidence.last.histories.get(run_id, []))
        retried = sum(
            step.status is StepStatus.FAILED and step.due_at is not None
            for step in evidence.last.attempts.get((run_id, key), [])
        )
        explained = sum(causes[cause] for cause in TAKEN) + causes["release"] + retried
        if times - 1 > explained:
            found.append(f"{run_id} {key}: entered {times} times, and only {explained} repeats are explained")
    return found


def final_failures_are_never_run_again(evidence: Evidence) -> list[str]:
    """I-04: a step that failed for good raises the same error at every replay, and its body is not entered again."""
    found = [
        f"{line.run_id} {line.key}: entered in life {line.life}, after it had failed for good"
        for line in evidence.of(Event.ENTERED)
        if _ended_as(StepStatus.FAILED, evidence, line)
    ]
    for line in evidence.of(Event.RAISED):
        attempts = evidence.last.attempts.get((line.run_id, line.key), [])
        failure = attempts[-1].failure if attempts and is_settled(attempts[-1]) else None
        recorded = None if failure is None else [failure.type, failure.message, _decoded(failure.data)]
        if line.value != recorded:
            found.append(f"{line.run_id} {line.key}: raised {line.value!r}, the store has {recorded!r}")
    return found


def mismatches_change_nothing(evidence: Evidence) -> list[str]:
    """I-05: a replay that disagrees with history runs no body and writes nothing but that the run is held, and why."""
    found = []
    for snapshot in evidence.snapshots:
        for run_id, entries in snapshot.histories.items():
            for token in _mismatches(entries):
                written = [step.key for step in snapshot.steps if (step.run_id, step.token) == (run_id, token)]
                if written:
                    found.append(f"{run_id}: claim {token} met a mismatch and wrote {', '.join(written)}")
        for run in snapshot.runs.values():
            entries = snapshot.histories.get(run.id, [])
            if run.status is RunStatus.PAUSED and entries and entries[-1].cause == "mismatch":
                found += _unexplained(run.id, snapshot)
    return found


def replays_see_the_same_values(evidence: Evidence) -> list[str]:
    """I-06: time, random numbers and ids are the same at every replay."""
    first: dict[tuple[str, str], object] = {}
    found = []
    for line in evidence.of(Event.VALUE):
        if first.setdefault((line.run_id, line.what), line.value) != line.value:
            found.append(f"{line.run_id}: {line.what} was {first[line.run_id, line.what]!r}, then {line.value!r}")
    return found


def sleeps_are_slept_once(evidence: Evidence) -> list[str]:
    """I-07: no sleep ends before the time recorded for it, and a crash does not start it anew."""
    found = []
    for line in evidence.of(Event.WOKE):
        attempts = evidence.last.attempts.get((line.run_id, line.key), [])
        if not attempts or attempts[-1].due_at is None or line.at < attempts[-1].due_at:
            found.append(f"{line.run_id} {line.key}: woke at {line.at}, before its time")
    for before, after in evidence.pairs:
        for step in before.steps:
            if step.kind is StepKind.SLEEP:
                later = after.attempts.get((step.run_id, step.key), [])
                if [other.due_at for other in later] != [step.due_at]:
                    found.append(f"{step.run_id} {step.key}: was due at {step.due_at}, and then at another time")
    return found


def retries_keep_to_their_policy(evidence: Evidence) -> list[str]:
    """I-16: no attempt before it is due, none more than allowed, and none after a failure that is never retried."""
    found = []
    entered: defaultdict[StepName, list[Line]] = defaultdict(list)
    for line in evidence.of(Event.ENTERED):
        entered[line.run_id, line.key].append(line)
    for (run_id, key), attempts in evidence.last.attempts.items():
        failed = [step for step in attempts if step.status is StepStatus.FAILED]
        limit = evidence.retry_limits.get(key, DEFAULT_RETRY.max_attempts)
        if len(failed) > limit or any(step.due_at is not None for step in failed[limit - 1 :]):
            found.append(f"{run_id} {key}: {len(failed)} failures and still to be tried, {limit} attempts are allowed")
        for step in failed:
            found += _retried_wrongly(step, entered[run_id, key])
    return found


def _retried_wrongly(step: Step, entered: list[Line]) -> Iterator[str]:
    failure = step.failure
    if step.due_at is None or failure is None:
        return
    is_in_doubt = failure.kind is FailureKind.INDETERMINATE  # of an effect: not tried again, but asked about
    if failure.is_final or (failure.kind not in RETRIED and not is_in_doubt):
        yield f"{step.run_id} {step.key}: a failure of kind {failure.kind} is to be tried again"
    for line in entered:
        if line.attempt > step.attempt and line.at < step.due_at:
            yield f"{step.run_id} {step.key}: attempt {line.attempt} began {step.due_at - line.at} µs before it was due"


def _first_try(run_id: str, snapshot: Snapshot) -> str:
    """The run that was there before all retries: to the outside world they are one."""
    run = snapshot.runs.get(run_id)
    while run is not None and run.retry_of is not None:
        run_id, run = run.retry_of, snapshot.runs.get(run.retry_of)
    return run_id


def _ended_as(status: StepStatus, evidence: Evidence, line: Line) -> bool:
    step = evidence.settled_before(line).get((line.run_id, line.key))
    return step is not None and step.status is status


def _settled(snapshot: Snapshot) -> list[Step]:
    return [step for step in snapshot.steps if is_settled(step)]


def _decoded(data: bytes | None) -> object:
    return None if data is None else _codec.decode(data)


def _mismatches(entries: list[LogEntry]) -> Iterator[int]:
    """The tokens of the claims that ended in a mismatch."""
    claims = 0
    for entry in entries:
        claims += is_claim(entry)
        if entry.cause == "mismatch":
            yield claims


def _unexplained(run_id: str, snapshot: Snapshot) -> Iterator[str]:
    payload = snapshot.payloads.get(run_id)
    failure = None if payload is None else payload.failure
    if failure is None or failure.kind is not FailureKind.DRIFT or not (failure.step and failure.message):
        yield f"{run_id}: paused by a mismatch, and nothing says which"

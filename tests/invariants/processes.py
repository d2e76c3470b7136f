"""Whether several processes that worked at once, and were killed and stopped, kept the promises together.

The checkers of single stories know which life followed which. Here several are alive, so what came first is told by the
shared journal (a claim was answered before a line that stands behind it was written) and by tokens (a higher one was
given after every write that the lower one got through).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from tests.invariants import claims, control, runs, steps, waits
from tests.invariants.checkers import database_is_sound
from tests.invariants.evidence import Evidence, Snapshot, StepName, is_claim
from tests.lives.journal import Event, Line
from tests.lives.journalled_work import CLAIM_LOST, OK, PARKED
from windlass.codec import Codec
from windlass.model.run import GONE, TAKEN, LogEntry
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import SECOND, Duration

Holding = tuple[str, int]  # run id and token
UNFINISHED = TAKEN | {"release"}  # causes in the log: a claim ended, and its holder had not come to an end

_codec = Codec()

# Those of single stories that ask nothing about which life followed which.
ALONE: Mapping[str, Callable[[Evidence], list[str]]] = {
    "I-02": steps.steps_complete_once,
    "I-06": steps.replays_see_the_same_values,
    "I-07": steps.sleeps_are_slept_once,
    "I-08": runs.accepted_runs_end_or_say_what_they_wait_for,
    "I-09": runs.terminal_is_absorbing,
    "I-10": runs.statuses_form_a_path,
    "I-11": runs.inputs_never_change,
    "I-12": runs.acknowledged_runs_survive,
    "I-13": control.nothing_is_completed_after_a_cancel,
    "I-14": waits.children_are_created_once_and_awaited,
    "I-15": runs.attempts_are_counted,
    "I-16": steps.retries_keep_to_their_policy,
    "I-17": claims.tokens_only_grow,
    "I-19": claims.lost_claims_are_dropped,
    "I-21": claims.claims_end_by_the_stores_clock,
    "I-24": control.the_log_has_no_claim_behind_a_closed_gate,
    "I-57": control.deeds_are_done_once,
    "I-65": database_is_sound,
    "events": waits.events_are_received_once,
}


class Crowd(Struct, frozen=True, kw_only=True, dict=True):
    """What several processes left behind: looks at the database on the way, the last one at the end; their journal."""

    snapshots: tuple[Snapshot, ...]
    lines: tuple[Line, ...]
    killed: frozenset[int]  # which of them were killed, by number
    visibility_for: Duration = Duration(30 * SECOND)
    max_recoveries: int = 10
    retry_limits: Mapping[str, int] = {}

    @property
    def last(self) -> Snapshot:
        return self.snapshots[-1]

    @cached_property
    def holders(self) -> Mapping[Holding, int]:
        """Which process was told that it had this claim. One that died before it could note it is not there."""
        return {
            (run_id, token): line.life
            for line in self.lines
            if line.event is Event.CLAIMED
            for run_id, token in line.value
        }

    @cached_property
    def entered(self) -> Mapping[StepName, list[tuple[int, Line]]]:
        """Every body that was entered, with the token of the claim that its process held on the run."""
        found: defaultdict[StepName, list[tuple[int, Line]]] = defaultdict(list)
        tokens: dict[tuple[int, str], int] = {}
        for line in self.lines:
            if line.event is Event.CLAIMED:
                tokens.update({(line.life, run_id): token for run_id, token in line.value})
            elif line.event is Event.ENTERED:
                found[line.run_id, line.key].append((tokens.get((line.life, line.run_id), 0), line))
        return found

    def completed(self, name: StepName) -> Step | None:
        attempts = self.last.attempts.get(name, [])
        return next((step for step in attempts if step.status is StepStatus.COMPLETED), None)

    def refused(self) -> list[Line]:
        """Writes under an old token, each as it was answered."""
        return [line for line in self.lines if line.event is Event.ANSWERED and line.outcome == CLAIM_LOST]


def judge_crowd(crowd: Crowd) -> list[str]:
    """Every complaint, each under its number: an empty list is the pass condition."""
    evidence = Evidence(
        snapshots=crowd.snapshots,
        lines=crowd.lines,
        visibility_for=crowd.visibility_for,
        max_recoveries=crowd.max_recoveries,
        retry_limits=crowd.retry_limits,
    )
    return [
        *(f"{number} {text}" for number, check in ALONE.items() for text in check(evidence)),
        *(f"{number} {text}" for number, check in TOGETHER.items() for text in check(crowd)),
    ]


def completed_steps_are_never_run_again(crowd: Crowd) -> list[str]:
    """I-01: no claim given after a step had completed enters its body, and every replay gets that very output."""
    found = []
    for (run_id, key), bodies in crowd.entered.items():
        step = crowd.completed((run_id, key))
        for token, line in bodies:
            if step is not None and token > step.token:
                found.append(
                    f"{run_id} {key}: entered by process {line.life} under token {token}, done under {step.token}"
                )
    for line in crowd.lines:
        if line.event is Event.DELIVERED:
            step = crowd.completed((line.run_id, line.key))
            if step is None or step.output != _codec.encode(line.value):
                stored = None if step is None else step.output
                found.append(f"{line.run_id} {line.key}: delivered {line.value!r}, the store has {stored!r}")
    return found


def every_execution_is_explained(crowd: Crowd) -> list[str]:
    """I-03: a body runs again only if a claim ended without its completion, or a failure that may be retried is noted.

    Under one claim it is entered once, and once more for each failure that was recorded under it.
    """
    found = []
    for (run_id, key), bodies in crowd.entered.items():
        failed = Counter(step.token for step in retried(crowd.last, (run_id, key)))
        lost = sum(entry.cause in UNFINISHED for entry in crowd.last.histories.get(run_id, []))
        if len(bodies) - 1 > lost + failed.total():
            found.append(
                f"{run_id} {key}: entered {len(bodies)} times; {lost} claims were lost, {failed.total()} failed"
            )
        for token, times in Counter(token for token, _ in bodies).items():
            if token == 0:
                found.append(f"{run_id} {key}: entered by a process that had not claimed the run")
            elif times - 1 > failed[token]:
                found.append(
                    f"{run_id} {key}: entered {times} times under token {token}, which saw {failed[token]} fail"
                )
    return found


def old_tokens_write_nothing(crowd: Crowd) -> list[str]:
    """I-18: a write sent after somebody was told of a newer claim, or after the claim was given back, is refused."""
    found = []
    newest: dict[str, int] = {}
    given_back: set[Holding] = set()
    was_old: defaultdict[tuple[object, ...], deque[bool]] = defaultdict(deque)
    for line in crowd.lines:
        holding, call = (line.run_id, line.token), (line.life, line.run_id, line.token, line.what, line.key)
        if line.event is Event.CLAIMED:
            newest.update({run_id: max(token, newest.get(run_id, 0)) for run_id, token in line.value})
        elif line.event is Event.SENT:
            was_old[call].append(line.token < newest.get(line.run_id, 0) or holding in given_back)
        elif line.event is Event.ANSWERED:
            is_done = line.outcome in (OK, PARKED)
            if was_old[call].popleft() and is_done:
                found.append(
                    f"{line.run_id}: {line.what} under the old token {line.token} was answered {line.outcome!r}"
                )
            if line.outcome == PARKED or (is_done and line.what in claims.GIVES_BACK):
                given_back.add(holding)
    return found + list(_written_late(crowd.last))


def only_the_dead_are_declared_dead(crowd: Crowd) -> list[str]:
    """I-17: a claim is taken away before its end only from a process that was killed."""
    found = []
    for run_id, entries in crowd.last.histories.items():
        for token, entry in _ends(entries):
            holder = crowd.holders.get((run_id, token))
            if entry.cause in GONE and holder is not None and holder not in crowd.killed:
                found.append(f"{run_id}: token {token} was taken from process {holder}, which lives")
    return found


TOGETHER: Mapping[str, Callable[[Crowd], list[str]]] = {
    "I-01": completed_steps_are_never_run_again,
    "I-03": every_execution_is_explained,
    "I-17": only_the_dead_are_declared_dead,
    "I-18": old_tokens_write_nothing,
}


def retried(snapshot: Snapshot, name: StepName) -> list[Step]:
    """Attempts of a step that failed and were to be tried again."""
    attempts = snapshot.attempts.get(name, [])
    return [step for step in attempts if step.status is StepStatus.FAILED and step.due_at is not None]


class Bodies(Struct, frozen=True, kw_only=True):
    """How often bodies were entered, and why."""

    started: int
    committed: int
    after_failures: int
    after_lost_claims: int
    unexplained: int

    @property
    def repeated(self) -> int:
        return self.after_failures + self.after_lost_claims + self.unexplained


def count_bodies(crowd: Crowd) -> Bodies:
    after_failures = after_lost_claims = unexplained = 0
    for name, bodies in crowd.entered.items():
        repeats = len(bodies) - 1
        failures = min(repeats, len(retried(crowd.last, name)))
        lost = sum(entry.cause in UNFINISHED for entry in crowd.last.histories.get(name[0], []))
        losses = min(repeats - failures, lost)
        after_failures, after_lost_claims = after_failures + failures, after_lost_claims + losses
        unexplained += repeats - failures - losses
    steps = [step for step in crowd.last.steps if step.kind is StepKind.STEP]
    return Bodies(
        started=sum(map(len, crowd.entered.values())),
        committed=sum(step.status is StepStatus.COMPLETED for step in steps),
        after_failures=after_failures,
        after_lost_claims=after_lost_claims,
        unexplained=unexplained,
    )


def _ends(entries: Sequence[LogEntry]) -> Iterator[tuple[int, LogEntry]]:
    """Each entry with the token under which the run was held until then."""
    claims = 0
    for entry in entries:
        yield claims, entry
        claims += is_claim(entry)


def _written_late(snapshot: Snapshot) -> Iterator[str]:
    for step in snapshot.steps:
        claims = snapshot.claims.get(step.run_id, [])
        if step.finished_at is not None and step.token < len(claims) and step.finished_at > claims[step.token].at:
            yield f"{step.run_id} {step.key}: written under token {step.token} after the next claim"

"""What a queue is said to hold, from counts of its runs, and what of that nobody will take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from windlass.model.duration import between
from windlass.model.gate import Gate, GateKind
from windlass.model.queue import LaneCount, Place, QueueView
from windlass.model.run import RunStatus
from windlass.model.time import MINUTE, SECOND, Duration, Instant
from windlass.model.worker import Served, Worker
from windlass.rules.explain.words import joined
from windlass.rules.gates import is_behind
from windlass.rules.workers import can_take, is_live

RATE_FOR = Duration(MINUTE)  # ends are counted over this long
BEHIND_AFTER = Duration(5 * MINUTE)  # the oldest is due for so long: they are taken slower than they come
DEFAULT_QUEUE = "default"
PLACES = {
    RunStatus.RUNNING: Place.RUNNING,
    RunStatus.WAITING: Place.WAITING,
    RunStatus.PAUSED: Place.PAUSED,
    RunStatus.PENDING: Place.LATER,
    RunStatus.SLEEPING: Place.LATER,
}


class QueueFacts(Struct, frozen=True, kw_only=True):
    """All that is known about the queues of a namespace, as of one moment."""

    namespace: str
    lanes: Sequence[LaneCount]  # of runs that have a due time
    parked: Mapping[tuple[str, RunStatus], int]  # by queue: runs that have none
    ended: Mapping[str, int]  # by queue: runs that ended within RATE_FOR
    told_since: Instant | None  # ends were counted back to here only; none: far enough
    workers: Sequence[Worker]
    gates: Sequence[Gate]  # that are closed
    now: Instant


def place(status: RunStatus, *, is_due: bool) -> Place:
    """A claim that has run out is due as well: its holder is gone, and others may take it."""
    return Place.DUE if is_due else PLACES[status]


def views(facts: QueueFacts) -> tuple[QueueView, ...]:
    """Every queue that holds something, is served, is paused or was at work just now, by name."""
    return tuple(_view(name, facts) for name in sorted(_names(facts)))


def _names(facts: QueueFacts) -> Iterable[str]:
    return {
        *(count.lane.queue for count in facts.lanes),
        *(queue for queue, _ in facts.parked),
        *facts.ended,
        *(lane.queue for worker in facts.workers if is_live(worker, now=facts.now) for lane in worker.served),
        *(gate.name for gate in facts.gates if gate.kind is GateKind.QUEUE),
    }


def _view(name: str, facts: QueueFacts) -> QueueView:
    lanes = [count for count in facts.lanes if count.lane.queue == name]
    counts = dict.fromkeys(Place, 0)
    for count in lanes:
        counts[place(count.status, is_due=count.is_due)] += count.runs
    for (queue, status), runs in facts.parked.items():
        if queue == name:
            counts[place(status, is_due=False)] += runs
    serving = [worker for worker in facts.workers if _serves(worker, name, now=facts.now)]
    return QueueView(
        namespace=facts.namespace,
        name=name,
        at=facts.now,
        due=counts[Place.DUE],
        running=counts[Place.RUNNING],
        later=counts[Place.LATER],
        waiting=counts[Place.WAITING],
        paused=counts[Place.PAUSED],
        oldest_due_at=min((count.earliest for count in lanes if count.is_due and count.earliest), default=None),
        ended_per_minute=facts.ended.get(name, 0) * MINUTE / _counted_for(facts),
        ended_is_estimate=_counted_for(facts) < RATE_FOR,
        workers=len(serving),
        slots=sum(worker.slots for worker in serving),
        gate=_gate(name, facts.gates),
        unserved=_unserved(lanes, facts),
    )


def _serves(worker: Worker, queue: str, *, now: Instant) -> bool:
    return any(lane.queue == queue and can_take(worker, lane, now=now) for lane in worker.served)


def _counted_for(facts: QueueFacts) -> Duration:
    """Over how long ends were counted. If that is less than a minute, a rate is only what a minute would come to."""
    if facts.told_since is None:
        return RATE_FOR
    return Duration(min(RATE_FOR, max(facts.now - facts.told_since, SECOND)))


def about(rate: str, *, is_estimate: bool) -> str:
    """A rate, as people are told it: more than has ended is never said as if it had."""
    return f"about {rate}" if is_estimate else rate


def _gate(queue: str, closed: Sequence[Gate]) -> Gate | None:
    return next((gate for gate in closed if gate.kind is GateKind.NAMESPACE or _is_of(gate, queue)), None)


def _is_of(gate: Gate, queue: str) -> bool:
    return gate.kind is GateKind.QUEUE and gate.name == queue


def _unserved(lanes: Iterable[LaneCount], facts: QueueFacts) -> tuple[tuple[Served, int], ...]:
    due: dict[Served, int] = {}
    for count in lanes:
        if count.is_due and is_behind(count.lane, facts.gates) is None:
            due[count.lane] = due.get(count.lane, 0) + count.runs
    return tuple(
        (lane, runs)
        for lane, runs in sorted(due.items())
        if not any(can_take(worker, lane, now=facts.now) for worker in facts.workers)
    )


def warning(view: QueueView) -> str | None:
    """What to say about runs that nobody will take, and what it takes to have them taken."""
    runs = sum(runs for _, runs in view.unserved)
    if not runs:
        return None
    many, are, them = ("1 run", "is", "it") if runs == 1 else (f"{runs:,} runs", "are", "them")
    due = f"{many} in queue {view.name!r} {are} due, and"
    if view.workers == 0:
        told = f"{due} no live worker serves it."
    else:
        named = joined([_named(lane, count) for lane, count in view.unserved])
        told = f"{due} none of its live workers runs {them}: {named}."
    option = "" if view.name == DEFAULT_QUEUE else f" --queue {view.name}"
    return f"{told} Start one that does: windlass worker MODULE:APP{option}"


def falls_behind(view: QueueView, *, now: Instant) -> str | None:
    """What to say where workers take runs, but later and later."""
    oldest = view.oldest_due_at
    if view.gate is not None or oldest is None or now - oldest <= BEHIND_AFTER:
        return None
    many = "1 run is due" if view.due == 1 else f"{view.due:,} runs are due, the oldest"
    return f"{many} for {between(oldest, now)}: its {view.slots:,} slots do not keep up."


def _named(lane: Served, runs: int) -> str:
    version = f" version {lane.version!r}" if lane.version else ""
    return f"{runs:,} of {lane.name!r}{version}"

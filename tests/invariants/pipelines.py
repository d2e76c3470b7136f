"""Whether pipelines kept their promises: invariants I-33 to I-45, and that no effect is called twice on a guess.

Each function takes evidence and answers with complaints, none if all is well. Of the stories they rely on two things:
what user code does is written down (HANDLED, PUBLISHED, CALLED, RECONCILED), and a producer whose state is a number
counts by it what it has published.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tests.invariants.evidence import EventName, Evidence, PipedRows, Snapshot
from tests.lives.journal import Event, Line
from windlass.codec import Codec
from windlass.model.effect import EffectStatus, Resolution, SubjectKind
from windlass.model.pipeline import (
    CONSUMER_PHASES,
    ENDED,
    PRODUCER_PHASES,
    EffectOutcome,
    EventRow,
    EventStatus,
    HandlerKind,
    HandlerRun,
    HandlerStatus,
    Phase,
    Pipeline,
    PipelineStatus,
)

# What the outside world did when an effect was called.
HAPPENED = "happened"  # and said so
LOST = "lost"  # it happened, and its answer was lost
NOTHING = "nothing"  # its answer was lost, and it did not happen
REFUSED = "refused"  # it did not happen, and whoever called knows
DONE = frozenset({HAPPENED, LOST})

OVER = frozenset({EventStatus.CONSUMED, EventStatus.SKIPPED})
KNOWN = frozenset({EffectStatus.APPLIED, EffectStatus.FAILED})
SUBJECT = "pipeline"

_codec = Codec()


# Events


def published_events_are_kept(evidence: Evidence) -> list[str]:
    """I-33, I-40: what was acknowledged is there for ever, once; what an attempt published is there if it committed."""
    found = []
    for line in evidence.of(Event.HEARD):
        if line.what == "publish":
            found += [
                f"event {line.key!r} of topic {line.value!r} was acknowledged in life {line.life}, "
                f"and life {snapshot.life} lost it in {name!r}"
                for snapshot in evidence.snapshots
                if snapshot.life >= line.life
                for name in _subscribers(snapshot.piped, line.value)
                if (name, line.value, line.key) not in snapshot.piped.events
            ]
    meant: Mapping[str, set[tuple[str, str]]] = {
        line.run_id: {(topic, id) for topic, id in line.value} for line in evidence.of(Event.PUBLISHED)
    }
    for snapshot in evidence.snapshots:
        found += _published_wrongly(snapshot, meant)
    return found


def _published_wrongly(snapshot: Snapshot, meant: Mapping[str, set[tuple[str, str]]]) -> Iterator[str]:
    piped = snapshot.piped
    made: defaultdict[str, set[EventName]] = defaultdict(set)
    for name, event in piped.events.items():
        if event.created_by is None:
            continue
        made[event.created_by].add(name)
        if piped.runs[event.created_by].status is not HandlerStatus.COMMITTED:
            yield f"life {snapshot.life}: {name} is there, of an attempt that is not committed"
        elif name[1:] not in meant.get(event.created_by, set()):
            yield f"life {snapshot.life}: {name} is there, and its attempt did not publish it"
    for run in piped.runs.values():
        published = meant.get(run.id, set())
        wanted = {(pipeline, topic, id) for topic, id in published for pipeline in _subscribers(piped, topic)}
        if run.status is HandlerStatus.COMMITTED and made[run.id] != wanted:
            yield f"life {snapshot.life}: {run.id} is committed without {sorted(wanted - made[run.id])}"


def events_are_consumed_once(evidence: Evidence) -> list[str]:
    """I-34: by one committed attempt, in the commit that ends it; and that is for good."""
    found = [text for snapshot in evidence.snapshots for text in _taken_wrongly(snapshot)]
    for before, after in evidence.pairs:
        for name, event in before.piped.events.items():
            now = after.piped.events.get(name)
            if event.status in OVER and (now is None or now.status is not event.status):
                found.append(f"{name}: was {event.status}, and is {None if now is None else now.status}")
            if now is not None and now.seq != event.seq and not _is_put_back(name, event, now, after):
                found.append(f"{name}: was number {event.seq}, and is number {now.seq}")
    return found


def _is_put_back(name: EventName, event: EventRow, now: EventRow, after: Snapshot) -> bool:
    """Has a person rejected an attempt at it and given it back, so that it stands behind the others now?"""
    rejected = {
        (run.pipeline, item.topic, item.id)
        for run in after.piped.runs.values()
        if run.status is HandlerStatus.CRASHED and run.failure is None and run.decided_by is not None
        for item in run.reserved
    }
    return name in rejected and now.seq > event.seq and now.attempt > event.attempt


def _taken_wrongly(snapshot: Snapshot) -> Iterator[str]:
    takers: defaultdict[EventName, list[str]] = defaultdict(list)
    for run in snapshot.piped.runs.values():
        if run.status is HandlerStatus.COMMITTED:
            for item in run.reserved:
                takers[run.pipeline, item.topic, item.id].append(run.id)
    for name, event in snapshot.piped.events.items():
        by = takers.get(name, [])
        is_taken = event.status is EventStatus.CONSUMED or (event.status is EventStatus.SKIPPED and bool(by))
        if by != ([event.reserved_by] if is_taken else []):
            yield f"life {snapshot.life}: {name} is {event.status}, taken by {by or 'nobody'}"


def reservations_belong_to_whoever_holds_the_pipeline(evidence: Evidence) -> list[str]:
    """I-35, I-36, I-44: one attempt at a time, and only that one has reserved something."""
    found = []
    for snapshot in evidence.snapshots:
        piped = snapshot.piped
        for name, event in piped.events.items():
            if event.status is EventStatus.RESERVED and event.reserved_by != piped.pipelines[name[0]].run_id:
                found.append(f"life {snapshot.life}: {name} is reserved by {event.reserved_by}, which holds nothing")
        for run in piped.runs.values():
            pipeline = piped.pipelines[run.pipeline]
            is_held = pipeline.run_id == run.id and pipeline.status is PipelineStatus.RUNNING
            if run.status is HandlerStatus.ACTIVE and not is_held:
                found.append(f"life {snapshot.life}: {run.id} is active, and does not hold {run.pipeline}")
        topics = {(row.handler.pipeline, row.handler.name): row.handler.spec.topics for row in piped.handlers}
        found += [
            f"{run.id}: reserved {item.id!r} of {item.topic!r}, to which it does not subscribe"
            for run in piped.runs.values()
            for item in run.reserved
            if item.topic not in topics[run.pipeline, run.handler]
        ]
    return found


# Attempts


def phases_only_go_forward(evidence: Evidence) -> list[str]:
    """I-37, I-38: an attempt that is over stays as it is, and the next one has what it had, byte by byte."""
    found = [text for snapshot in evidence.snapshots for text in _followed_wrongly(snapshot)]
    for before, after in evidence.pairs:
        for run in before.piped.runs.values():
            now = after.piped.runs.get(run.id)
            if now is None:
                found.append(f"{run.id}: an attempt is gone")
            elif _place(now) < _place(run):
                found.append(f"{run.id}: went back from {run.phase} to {now.phase}")
            elif run.status in (HandlerStatus.COMMITTED, HandlerStatus.CRASHED) and now.status is not run.status:
                found.append(f"{run.id}: was {run.status}, and is {now.status}")
    return found


def _followed_wrongly(snapshot: Snapshot) -> Iterator[str]:
    rows = {str(row.run.id): row for row in snapshot.piped.run_rows}
    for row in rows.values():
        former = rows.get(row.run.retry_of or "")
        if former is None:
            continue
        if former.run.status is HandlerStatus.ACTIVE or row.run.attempt != former.run.attempt + 1:
            yield f"{row.run.id}: attempt {row.run.attempt} follows one that is {former.run.status}"
        is_settled = former.run.outcome in (EffectOutcome.SUCCESS, EffectOutcome.SKIPPED)
        had = (former.data, former.result, former.run.reserved)
        if is_settled and (row.data, row.result, row.run.reserved) != had:
            yield f"{row.run.id}: goes on behind the effect with something else than it found"
    followers = Counter(row.run.retry_of for row in rows.values() if row.run.retry_of is not None)
    yield from (f"{id}: followed by {count} attempts" for id, count in followers.items() if count > 1)


def _place(run: HandlerRun) -> int:
    order: tuple[Phase, ...] = PRODUCER_PHASES if run.kind is HandlerKind.PRODUCER else CONSUMER_PHASES
    return order.index(run.phase)


def states_advance_with_events(evidence: Evidence) -> list[str]:
    """I-45, T5: a producer's state, its events and its next time are one commit."""
    found = []
    for snapshot in evidence.snapshots:
        piped = snapshot.piped
        for row in piped.handlers:
            if row.handler.spec.kind is not HandlerKind.PRODUCER:
                continue
            runs = [run for run in piped.runs.values() if (run.pipeline, run.handler) == _name(row.handler)]
            committed = {run.id for run in runs if run.status is HandlerStatus.COMMITTED}
            made = {(event.topic, event.id) for event in piped.events.values() if event.created_by in committed}
            counted = 0 if row.state is None else _codec.decode(row.state)
            if not counted == len(committed) == len(made):
                found.append(
                    f"life {snapshot.life}: {row.handler.name} has counted {counted}, "
                    f"committed {len(committed)} times, and published {len(made)} events"
                )
    return found


def _name(handler: object) -> tuple[str, str]:
    return getattr(handler, "pipeline"), getattr(handler, "name")  # noqa: B009


# Effects


def effects_are_called_once(evidence: Evidence) -> list[str]:
    """I-38, I-39: again only where it failed for certain, or where somebody who knows said that it did not happen."""
    last: dict[str, Line] = {}
    found = []
    for line in evidence.of(Event.CALLED, Event.RECONCILED, Event.TOLD):
        key = line.idempotency_key
        if line.event is Event.CALLED:
            before = last.get(key)
            if before is not None and before.event is Event.CALLED and before.outcome != REFUSED:
                found.append(f"{key}: called again in life {line.life}, after a call that came to {before.outcome!r}")
            last[key] = line
        elif _says_nothing_happened(line):
            last[key] = line
    calls = Counter(line.idempotency_key for line in evidence.of(Event.CALLED) if line.outcome in DONE)
    found += [f"{key}: happened {count} times" for key, count in calls.items() if count > 1]
    for effect in evidence.last.piped.effects:
        if effect.status is EffectStatus.APPLIED and calls[effect.idempotency_key] != 1:
            found.append(f"{effect.idempotency_key}: applied, and happened {calls[effect.idempotency_key]} times")
    return found


def _says_nothing_happened(line: Line) -> bool:
    if line.event is Event.RECONCILED:
        return line.outcome == NOTHING
    return line.what == "resolve" and line.value == Resolution.DID_NOT_HAPPEN


def ledger_and_attempts_agree(evidence: Evidence) -> list[str]:
    """What is known of an effect stays known, and every attempt that went on knows what became of its own."""
    found = []
    for before, after in evidence.pairs:
        later = Counter((effect.idempotency_key, effect.status) for effect in after.piped.effects)
        known = Counter(
            (effect.idempotency_key, effect.status) for effect in before.piped.effects if effect.status in KNOWN
        )
        found += [f"{key}: was {status}, and is not any more" for key, status in known - later]
    for snapshot in evidence.snapshots:
        piped = snapshot.piped
        for effect in piped.effects:
            if effect.subject_kind is not SubjectKind.PIPELINE:
                continue
            run = piped.runs[effect.owner]
            if effect.status.is_open and piped.pipelines[run.pipeline].run_id != run.id:
                found.append(f"life {snapshot.life}: {effect.idempotency_key} is open, and nobody is held up by it")
            if effect.status.is_open and run.phase is not Phase.MUTATING:
                found.append(f"life {snapshot.life}: {effect.idempotency_key} is open, and {run.id} is {run.phase}")
        owners = {effect.owner for effect in piped.effects}
        for run in piped.runs.values():
            if run.phase is Phase.MUTATING and run.status is HandlerStatus.ACTIVE and run.id not in owners:
                found.append(f"life {snapshot.life}: {run.id} is mutating, and the ledger does not know of it")
    return found


def nobody_asks_while_somebody_may_be_inside(evidence: Evidence) -> list[str]:
    """DESIGN §5.13: reconcile is asked behind the call itself, or when its claim and time-out are over.

    Earlier only with the proof that whoever called is dead, and then the ledger says so.
    """
    found = []
    called: dict[str, int] = {}  # in which life
    for line in evidence.of(Event.CALLED, Event.RECONCILED):
        key = line.idempotency_key
        if line.event is Event.CALLED:
            called[key] = line.life
        elif called.get(key) != line.life:
            rows = [item for item in evidence.last.piped.effects if item.idempotency_key == key]
            begun = [item.reconcile_after for item in rows if item.created_at < line.at]
            if begun and line.at < begun[-1]:
                found.append(f"{key}: asked about {begun[-1] - line.at} µs before nobody could be inside any more")
    return found


# Pipelines


def pipelines_end_at_rest(evidence: Evidence) -> list[str]:
    """I-08, I-41: at the end of a story nothing is pending, reserved, held, or for a person."""
    piped = evidence.last.piped
    found = [f"{name} is {event.status}" for name, event in piped.events.items() if event.status not in OVER]
    for pipeline in piped.pipelines.values():
        if pipeline.status is not PipelineStatus.IDLE or pipeline.run_id is not None or pipeline.is_paused:
            found.append(f"{pipeline.name} is {pipeline.status}, held by {pipeline.run_id}: {pipeline.issue}")
    followed = {run.retry_of for run in piped.runs.values()}
    found += [
        f"{run.id} is {run.status}, and nothing followed"
        for run in piped.runs.values()
        if run.status not in ENDED and run.id not in followed
    ]
    return found


def pipelines_form_a_path(evidence: Evidence) -> list[str]:
    """Statuses follow one another in the log without a gap, the last one is where it stands; tokens only grow."""
    found = []
    for snapshot in evidence.snapshots:
        paths: defaultdict[str, list[tuple[str | None, str]]] = defaultdict(list)
        for entry in snapshot.log:
            if entry.subject_kind == SUBJECT:
                paths[entry.subject_id].append((entry.from_status, entry.to_status))
        for name, pipeline in snapshot.piped.pipelines.items():
            path = paths[name]
            if not path or path[0][0] is not None or path[-1][1] != pipeline.status:
                found.append(f"life {snapshot.life}: {name} is {pipeline.status}, by its log {path[-1:]}")
            found += [f"{name}: {a} and then {b}" for a, b in pairwise(path) if a[1] != b[0]]
            found += _wrong_hold(snapshot, pipeline)
    for before, after in evidence.pairs:
        for name, pipeline in before.piped.pipelines.items():
            if name not in after.piped.pipelines or after.piped.pipelines[name].token < pipeline.token:
                found.append(f"{name}: it is gone, or its token went back")
    return found


def _wrong_hold(snapshot: Snapshot, pipeline: Pipeline) -> Iterator[str]:
    is_running = pipeline.status is PipelineStatus.RUNNING
    if is_running != (pipeline.worker is not None) or (is_running and pipeline.available_at is None):
        yield f"life {snapshot.life}: {pipeline.name} is {pipeline.status}, held by {pipeline.worker}"
    dirty = [
        row.handler.name
        for row in snapshot.piped.handlers
        if row.handler.pipeline == pipeline.name and row.handler.is_dirty and row.handler.is_declared
    ]
    is_free = pipeline.status is PipelineStatus.IDLE and not pipeline.is_paused and pipeline.is_declared
    if is_free and dirty and pipeline.available_at is None:
        yield f"life {snapshot.life}: {pipeline.name} is idle though there is news for {dirty}"


def _subscribers(piped: PipedRows, topic: str) -> set[str]:
    return {row.handler.pipeline for row in piped.handlers if topic in row.handler.spec.topics}

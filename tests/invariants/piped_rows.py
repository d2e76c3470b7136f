"""Whether what stands in pipelines can be, and can have come from what stood there before: I-33 to I-45, by rows alone.

Each function takes evidence and answers with complaints, none if all is well. None of them reads the journal: what they
say holds of every pipeline, whatever its code does. Snapshots may be far apart, or a single operation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from tests.invariants.evidence import Evidence, PipedRows, Snapshot
from windlass.model.effect import Effect, EffectStatus, SubjectKind
from windlass.model.pipeline import (
    EffectOutcome,
    EventStatus,
    Handler,
    HandlerKind,
    HandlerRun,
    HandlerStatus,
    Phase,
    Pipeline,
    PipelineStatus,
)
from windlass.rules import phases, pipelines
from windlass.store.queries.pipeline_checks import FilledRun

HandlerName = tuple[str, str]  # pipeline and handler
SETTLED = (EffectOutcome.SUCCESS, EffectOutcome.SKIPPED, EffectOutcome.NONE)
BEHIND = (Phase.MUTATED, Phase.EMITTING, Phase.COMMITTED)


def events_are_replaced_and_never_reset(evidence: Evidence) -> list[str]:
    """I-33: an event keeps its place; its payload changes with its version, unless somebody is at it."""
    return _of_pairs(evidence, _changed_events)


def what_is_reserved_is_what_was_chosen(evidence: Evidence) -> list[str]:
    """I-35, I-36: an attempt that goes on has all of its events, one that begins anew or is over has none."""
    return _of_snapshots(evidence, _wrongly_reserved)


def attempts_that_are_over_stay_so(evidence: Evidence) -> list[str]:
    """I-37: what an attempt was when it ended, it is for ever; a phase and what came of the effect agree."""
    return _of_pairs(evidence, _changed_attempts) + _of_snapshots(evidence, _torn_attempts)


def no_effect_is_begun_again_that_may_have_happened(evidence: Evidence) -> list[str]:
    """I-38, I-39: behind a known effect an attempt goes on with what was found; in doubt it takes the doubt over."""
    return _of_snapshots(evidence, _wrongly_followed)


def only_committed_attempts_have_published(evidence: Evidence) -> list[str]:
    """I-40: nothing of a failed attempt is visible, and a chain ends with its committed one."""
    return _of_snapshots(evidence, _published_early)


def what_is_free_is_looked_at_in_time(evidence: Evidence) -> list[str]:
    """I-41: a pipeline that nobody holds is due when its first handler is, or what holds it up."""
    return _of_snapshots(evidence, _overlooked) + _of_pairs(evidence, _untold)


def nothing_begins_without_a_reason(evidence: Evidence) -> list[str]:
    """I-42: a consumer that has looked begins again for news, for its wake, or because it is tried again."""
    return _of_pairs(evidence, _begun_for_nothing) + _of_pairs(evidence, _never_satisfied)


def wakes_are_replaced_by_their_consumer(evidence: Evidence) -> list[str]:
    """I-43: within the bounds, and by nobody else."""
    return _of_pairs(evidence, _moved_wakes)


def one_attempt_is_active(evidence: Evidence) -> list[str]:
    """I-44: at most one for each pipeline, and that is the one the pipeline goes by."""
    return _of_snapshots(evidence, _too_many_active)


def times_of_producers_move_with_their_runs(evidence: Evidence) -> list[str]:
    """I-45: the next time of a producer, and that somebody asked for it, change in the commit of its run."""
    return _of_pairs(evidence, _moved_times)


# How evidence is walked through


def _of_snapshots(evidence: Evidence, complain: Callable[[Snapshot], Iterator[str]]) -> list[str]:
    return [f"life {snapshot.life}: {text}" for snapshot in evidence.snapshots for text in complain(snapshot)]


def _of_pairs(evidence: Evidence, complain: Callable[[Snapshot, Snapshot], Iterator[str]]) -> list[str]:
    return [f"life {after.life}: {text}" for before, after in evidence.pairs for text in complain(before, after)]


def _handlers(piped: PipedRows) -> Mapping[HandlerName, Handler]:
    return {(row.handler.pipeline, row.handler.name): row.handler for row in piped.handlers}


def _ledger(piped: PipedRows) -> Mapping[str, Effect]:
    return {item.owner: item for item in piped.effects if item.subject_kind is SubjectKind.PIPELINE}


def _current(piped: PipedRows, pipeline: Pipeline) -> HandlerRun | None:
    return None if pipeline.run_id is None else piped.runs.get(pipeline.run_id)


# Events


def _changed_events(before: Snapshot, after: Snapshot) -> Iterator[str]:
    for name, was in before.piped.events.items():
        now = after.piped.events.get(name)
        if now is None:
            continue  # removed, or lost, of which another checker knows
        if (was.seq, was.created_at, was.created_by) != (now.seq, now.created_at, now.created_by):
            yield f"{name}: is another event than before"
        if was.status in (EventStatus.CONSUMED, EventStatus.SKIPPED) and was.status is not now.status:
            yield f"{name}: was {was.status}, and is {now.status}"
        if now.version < was.version or now.attempt < was.attempt:
            yield f"{name}: its version or attempt went back"
        is_pinned = was.status is now.status is EventStatus.RESERVED
        is_same = was.attempt == now.attempt and (is_pinned or was.version == now.version)
        if is_same and was.payload != now.payload:
            yield f"{name}: its payload changed, and it is number {now.version} still, or {now.reserved_by} is at it"


def _wrongly_reserved(snapshot: Snapshot) -> Iterator[str]:
    piped, ledger, handlers = snapshot.piped, _ledger(snapshot.piped), _handlers(snapshot.piped)
    held: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for (_, topic, id), event in piped.events.items():
        if event.status is EventStatus.RESERVED and event.reserved_by is not None:
            held[event.reserved_by].add((topic, id))
    for run in piped.runs.values():
        chosen = [(item.topic, item.id) for item in run.reserved]
        handler = handlers.get((run.pipeline, run.handler))
        if len(chosen) != len(set(chosen)):
            yield f"{run.id}: has chosen an event twice"
        if handler is not None and handler.is_declared and run.status is HandlerStatus.ACTIVE:
            foreign = {topic for topic, _ in chosen} - set(handler.spec.topics)
            if foreign:
                yield f"{run.id}: has chosen from {sorted(foreign)}, to which it does not subscribe"
        is_current = piped.pipelines[run.pipeline].run_id == run.id
        wanted = set(chosen) if is_current and _goes_on(run, ledger.get(run.id)) else set[tuple[str, str]]()
        if held[run.id] != wanted:
            state = f"is {run.phase}, {run.status}"
            yield f"{run.id}: {state}, goes on with {sorted(wanted)} and holds {sorted(held[run.id])}"


def _goes_on(run: HandlerRun, effect: Effect | None) -> bool:
    return run.status is HandlerStatus.ACTIVE or phases.keeps_events(run, effect)


def _published_early(snapshot: Snapshot) -> Iterator[str]:
    piped = snapshot.piped
    for name, event in piped.events.items():
        by = piped.runs.get(event.created_by or "")
        if by is not None and by.status is not HandlerStatus.COMMITTED:
            yield f"{name}: was published by {by.id}, which is {by.status}"
    for run in piped.runs.values():
        former = piped.runs.get(run.retry_of or "")
        if former is not None and former.status in (HandlerStatus.COMMITTED, HandlerStatus.ACTIVE):
            yield f"{run.id}: follows {former.id}, which is {former.status}"


# Attempts and the ledger


def _changed_attempts(before: Snapshot, after: Snapshot) -> Iterator[str]:
    for was in before.piped.runs.values():
        now = after.piped.runs.get(was.id)
        if now is None:
            continue
        if _place(now) < _place(was):
            yield f"{was.id}: went back from {was.phase} to {now.phase}"
        is_over = was.status in (HandlerStatus.COMMITTED, HandlerStatus.CRASHED)
        if is_over and _end(was) != _end(now):
            yield f"{was.id}: ended as {_end(was)}, and is {_end(now)}"
        if was.outcome in SETTLED and now.outcome is not was.outcome:
            yield f"{was.id}: its effect was {was.outcome}, and is {now.outcome}"


def _end(run: HandlerRun) -> tuple[object, ...]:
    return run.phase, run.status, run.outcome, run.reserved, run.ended_at


def _place(run: HandlerRun) -> int:
    order = (Phase.EXECUTING, Phase.PREPARING, Phase.PREPARED, Phase.MUTATING, *BEHIND)
    return order.index(run.phase)


def _torn_attempts(snapshot: Snapshot) -> Iterator[str]:
    for run in snapshot.piped.runs.values():
        if run.kind is HandlerKind.CONSUMER and (run.phase in BEHIND) != (run.outcome in SETTLED):
            yield f"{run.id}: is {run.phase}, and its effect is {run.outcome}"
        if (run.phase is Phase.COMMITTED) != (run.status is HandlerStatus.COMMITTED):
            yield f"{run.id}: is {run.phase}, and {run.status}"


def _wrongly_followed(snapshot: Snapshot) -> Iterator[str]:
    rows: dict[str, FilledRun] = {row.run.id: row for row in snapshot.piped.run_rows}
    ledger = _ledger(snapshot.piped)
    applied: Counter[str] = Counter()
    for id, row in rows.items():
        effect = ledger.get(id)
        if effect is not None and effect.status is EffectStatus.APPLIED:
            applied[_first_of_chain(snapshot.piped, row.run)] += 1
        former = rows.get(row.run.retry_of or "")
        if former is None:
            continue
        if former.run.outcome in SETTLED:
            if row.run.phase not in (Phase.EMITTING, Phase.COMMITTED) or row.run.outcome is not former.run.outcome:
                yield f"{id}: begins at {row.run.phase} behind an effect that is {former.run.outcome}"
            if effect is not None:
                yield f"{id}: has an effect of its own behind one that is {former.run.outcome}"
            if (row.data, row.result, row.run.reserved) != (former.data, former.result, former.run.reserved):
                yield f"{id}: goes on with something else than {former.run.id} has found"
        elif former.run.phase is Phase.MUTATING:
            yield from _wrong_doubt(former.run, ledger.get(former.run.id), row.run, effect)
    yield from (f"{id}: {count} effects of one chain happened" for id, count in applied.items() if count > 1)


def _wrong_doubt(former: HandlerRun, known: Effect | None, run: HandlerRun, effect: Effect | None) -> Iterator[str]:
    """Of an attempt behind one that had called its effect, and does not know."""
    if former.outcome is EffectOutcome.FAILURE:
        if known is not None and known.status is not EffectStatus.FAILED:
            yield f"{run.id}: begins anew, and the effect of {former.id} is {known.status}"
        return
    is_taken_over = effect is not None and effect.created_at <= former.updated_at and known is None
    if former.status is not HandlerStatus.CRASHED or not is_taken_over:
        yield f"{run.id}: follows {former.id}, of whose effect nobody knew, and has not taken it over"


def _first_of_chain(piped: PipedRows, run: HandlerRun) -> str:
    while run.retry_of is not None and run.retry_of in piped.runs:
        run = piped.runs[run.retry_of]
    return run.id


def _too_many_active(snapshot: Snapshot) -> Iterator[str]:
    piped = snapshot.piped
    active = [run for run in piped.runs.values() if run.status is HandlerStatus.ACTIVE]
    for name, count in Counter(run.pipeline for run in active).items():
        if count > 1:
            yield f"{name}: {count} attempts are active"
    for run in active:
        pipeline = piped.pipelines[run.pipeline]
        if pipeline.run_id != run.id or pipeline.status is not PipelineStatus.RUNNING or run.token != pipeline.token:
            yield f"{run.id}: is active under token {run.token}; its pipeline is {pipeline.status}, at {pipeline.token}"


# When something begins


def _overlooked(snapshot: Snapshot) -> Iterator[str]:
    piped, ledger = snapshot.piped, _ledger(snapshot.piped)
    for pipeline in piped.pipelines.values():
        if pipeline.status is PipelineStatus.RUNNING:
            continue
        handlers = [row.handler for row in piped.handlers if row.handler.pipeline == pipeline.name]
        run = _current(piped, pipeline)
        effect = None if run is None else ledger.get(run.id)
        due = pipelines.available_at(pipeline, handlers, run=run, effect=effect, now=snapshot.at)
        found = pipeline.available_at
        if (due is None) != (found is None) or (due is not None and found is not None and found > due):
            yield f"{pipeline.name}: is {pipeline.status} and due at {found}, and should be at {due}"


def _untold(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """What was published since then is news to whoever subscribed to it then and now."""
    handlers = _handlers(after.piped)
    for name, was in _handlers(before.piped).items():
        now = handlers.get(name)
        if now is None or was.spec.topics != now.spec.topics or was.spec.kind is HandlerKind.PRODUCER:
            continue
        seq = before.piped.pipelines[name[0]].seq
        newest = max(
            (
                event.version
                for (pipeline, topic, _), event in after.piped.events.items()
                if pipeline == name[0] and topic in now.spec.topics and event.status is EventStatus.PENDING
            ),
            default=0,
        )
        # What was replaced under somebody's hands is no news: whoever follows looks at it, if it goes back.
        is_followed = after.piped.pipelines[name[0]].run_id is not None
        if newest > seq and now.news < newest and not now.is_dirty and not is_followed:
            yield f"{name}: has not heard of event number {newest}"


def _begun_for_nothing(before: Snapshot, after: Snapshot) -> Iterator[str]:
    now = _handlers(after.piped)
    for name, was in _handlers(before.piped).items():
        handler = now.get(name)
        if handler is None or was.spec.kind is HandlerKind.PRODUCER or handler.spec != was.spec:
            continue
        own = [run for run in after.piped.runs.values() if (run.pipeline, run.handler) == name]
        if any(run.decided_by is not None and run.status is HandlerStatus.CRASHED for run in own):
            continue  # a person has taken it away from it: it looks again
        begun = [run for run in own if run.id not in before.piped.runs and run.retry_of is None]
        had_a_run = any(run.status is HandlerStatus.ACTIVE for run in own if run.id in before.piped.runs) or any(
            run.retry_of is not None and run.id not in before.piped.runs for run in own
        )
        is_woken = was.wake_at is not None and begun and was.wake_at <= begun[0].created_at
        held = _current(before.piped, before.piped.pipelines[name[0]])
        is_followed = held is not None and held.handler == name[1]
        has_news = handler.news > was.seen or not was.is_declared
        if begun and not (was.is_dirty or is_woken or has_news or had_a_run or is_followed):
            yield f"{begun[0].id}: begun for nothing that its consumer had not seen"


def _never_satisfied(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Whoever has looked, and taken nothing, has seen what there was."""
    specs = {name: handler.spec for name, handler in _handlers(before.piped).items()}
    for name, handler in _handlers(after.piped).items():
        own = _of(after.piped, name)
        last = own[-1] if own else None
        if last is None or handler.spec != specs.get(name) or last.status is not HandlerStatus.COMMITTED:
            continue
        if pipelines.is_outdated(before.piped.pipelines[name[0]]):
            continue  # it was other code than is to look
        is_new = _was_open(before.piped.runs.get(last.id))
        if is_new and not last.reserved and handler.is_dirty and handler.news <= last.news:
            yield f"{name}: {last.id} has taken nothing, and it is to look again at once"


def _moved_wakes(before: Snapshot, after: Snapshot) -> Iterator[str]:
    now = _handlers(after.piped)
    for name, was in _handlers(before.piped).items():
        handler = now.get(name)
        if handler is None or handler.wake_at == was.wake_at or handler.spec.kind is not was.spec.kind:
            continue
        has_come = handler.wake_at is None and was.wake_at is not None and was.wake_at <= after.at
        has_prepared = any(_has_prepared(before.piped.runs.get(run.id), run) for run in _of(after.piped, name))
        if not has_prepared and not (has_come and not handler.spec.prepares):  # there is no code of it that would look
            yield f"{name}: its wake moved from {was.wake_at} to {handler.wake_at}, and it has not prepared anything"
        at = handler.wake_at
        earliest, latest = before.at + pipelines.SHORTEST_WAKE, after.at + pipelines.LONGEST_WAKE
        if at is not None and not earliest <= at <= latest:
            yield f"{name}: wakes at {at}, which is not between {earliest} and {latest}"


def _of(piped: PipedRows, name: HandlerName) -> list[HandlerRun]:
    return [run for run in piped.runs.values() if (run.pipeline, run.handler) == name]


def _has_prepared(was: HandlerRun | None, now: HandlerRun) -> bool:
    is_prepared = now.phase is not Phase.PREPARING
    return is_prepared and (was is None or was.phase is Phase.PREPARING)


def _moved_times(before: Snapshot, after: Snapshot) -> Iterator[str]:
    now = _handlers(after.piped)
    for name, was in _handlers(before.piped).items():
        handler = now.get(name)
        if handler is None or was.spec.kind is HandlerKind.CONSUMER or handler.spec != was.spec:
            continue
        if handler.is_declared != was.is_declared:
            continue
        is_moved = handler.next_at != was.next_at or (was.is_queued and not handler.is_queued)
        committed = [run for run in _of(after.piped, name) if run.status is HandlerStatus.COMMITTED]
        since = [run for run in committed if _was_open(before.piped.runs.get(run.id))]
        if is_moved and not since:
            yield f"{name}: its time moved from {was.next_at} to {handler.next_at}, and no run of it was committed"


def _was_open(run: HandlerRun | None) -> bool:
    return run is None or run.status is not HandlerStatus.COMMITTED

"""Begin what is next in a pipeline that is held: an attempt that is to be tried again, a consumer, a producer."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from windlass.engine.pipeline.desk import Desk
from windlass.model.effect import Effect, EffectStatus
from windlass.model.pipeline import (
    EffectOutcome,
    EventRow,
    Handler,
    HandlerKind,
    HandlerRun,
    HandlerRunId,
    HandlerStatus,
    Issue,
    Phase,
    Pipeline,
    PipelineStatus,
    Reservation,
)
from windlass.model.pipeline_work import Task, TaskKind
from windlass.model.time import Instant
from windlass.rules import effects as effect_rules
from windlass.rules import phases
from windlass.rules import pipelines as rules
from windlass.rules.reservations import weight_of
from windlass.runtime import Ids

MOST_BYTES = 4 * 1024 * 1024  # of events that one task carries, unless one of them has more


class Attempts:
    """Whoever begins attempts under the lock of their pipelines."""

    def __init__(self, desk: Desk, ids: Ids) -> None:
        self.desk, self._ids = desk, ids

    async def advance(self, name: str, *, before: PipelineStatus) -> Task | None:
        """What the holder is to do next. None: nothing, and the pipeline is released. `before`: how it stood."""
        desk = self.desk
        pipeline = desk.pipelines[name]
        is_held_up = pipeline.is_paused or not pipeline.is_declared or rules.is_outdated(pipeline)
        if is_held_up or await desk.is_closed(pipeline):
            run = desk.current(pipeline)
            await desk.release(pipeline if run is None else phases.unfixed(pipeline, run, before=before))
            return None
        if pipeline.run_id is not None:
            task = await self._follow(pipeline, desk.book.runs[pipeline.run_id], before=before)
            pipeline = desk.pipelines[name]
            if task is not None or pipeline.status is not PipelineStatus.RUNNING or pipeline.run_id is not None:
                return task
        return await self._begin_next(pipeline)

    async def told_again(self, pipeline: Pipeline, run: HandlerRun) -> Task | None:
        """What the holder was told to do, if it has done nothing of it yet."""
        if run.status is HandlerStatus.ACTIVE and run.token == pipeline.token:
            return await self.task_of(run)
        return await self._follow(pipeline, run, before=PipelineStatus.RUNNING)

    # What stopped is followed by another attempt

    async def _follow(self, pipeline: Pipeline, run: HandlerRun, *, before: PipelineStatus) -> Task | None:
        desk, effect = self.desk, self.desk.effect(run)
        if phases.is_unfixed(pipeline, run, before=before):
            return Task(kind=TaskKind.FIX, run_id=run.id, handler=run.handler, phase=run.phase, failure=run.failure)
        match phases.beginning(run, effect):
            case phases.Beginning.RECONCILE:
                assert effect is not None
                return await self._reconcile(pipeline, run, effect)
            case phases.Beginning.AGAIN:
                again = replace(
                    run,
                    status=HandlerStatus.ACTIVE,
                    token=pipeline.token,
                    worker=pipeline.worker,
                    updated_at=desk.now,
                    ended_at=None,
                )
                desk.book.put(again)
                return await self.task_of(again)
            case phases.Beginning.REMUTATE:
                return await self._go_on(pipeline, run, phase=Phase.PREPARED, outcome=None)
            case phases.Beginning.EMIT:
                return await self._go_on(pipeline, run, phase=Phase.EMITTING, outcome=run.outcome)
        handler = await desk.roster.find(pipeline.name, run.handler)
        if handler is None or not handler.is_declared:  # its code is gone, and it has done nothing
            desk.put(replace(pipeline, run_id=None))
            return None
        return await self._begin(pipeline, handler, retry_of=run)

    async def _reconcile(self, pipeline: Pipeline, run: HandlerRun, effect: Effect) -> Task | None:
        desk = self.desk
        if effect.status is EffectStatus.INDETERMINATE:
            desk.put(phases.attention(pipeline, Issue.INDETERMINATE, now=desk.now), cause="indeterminate")
            return None
        due = effect.next_at if effect.next_at is not None else effect.reconcile_after
        # With nobody to ask about it the worker that has claimed it says so at once: it can tell a person, we cannot.
        if due > desk.now and effect.has_reconcile:
            await desk.release(replace(pipeline, status=PipelineStatus.RECONCILING, changed_at=desk.now))
            return None
        return Task(
            kind=TaskKind.RECONCILE,
            run_id=run.id,
            handler=run.handler,
            phase=run.phase,
            attempt=run.attempt,
            title=run.title,
            effect=effect,
        )

    async def _go_on(self, pipeline: Pipeline, run: HandlerRun, *, phase: Phase, outcome: EffectOutcome | None) -> Task:
        """With what the attempt before has prepared and found, byte by byte."""
        desk = self.desk
        following = self._new(pipeline, run.handler, run.kind, phase=phase, retry_of=run)
        following = replace(
            following,
            outcome=outcome,
            reserved=run.reserved,
            title=run.title,
            effect=run.effect,
            news=run.news,
            decided_by=run.decided_by,
            note=run.note,
        )
        desk.book.add(following)
        desk.put(replace(pipeline, run_id=following.id))
        await desk.tx.reserved.hand_over(desk.namespace, former=run.id, to=following.id)
        data, result = await desk.book.contents(run.id)
        desk.book.keep_data(following.id, data)
        if result is not None:
            desk.book.keep_result(following.id, result)
        return await self.task_of(following)

    async def take_over_doubt(self, pipeline: Pipeline, run: HandlerRun, effect: Effect) -> None:
        """An attempt crashed while its effect was called: the one that follows it waits until somebody knows."""
        desk = self.desk
        following = replace(
            self._new(pipeline, run.handler, run.kind, phase=Phase.MUTATING, retry_of=run),
            status=HandlerStatus.PAUSED_RECONCILIATION,
            reserved=run.reserved,
            title=run.title,
            effect=run.effect,
            news=run.news,
            failure=run.failure,
            ended_at=desk.now,
        )
        desk.book.add(following)
        data, _ = await desk.book.contents(run.id)
        desk.book.keep_data(following.id, data)
        await desk.tx.reserved.hand_over(desk.namespace, former=run.id, to=following.id)
        doubtful = effect
        if effect.status is EffectStatus.IN_FLIGHT and effect.has_reconcile:
            doubtful = effect_rules.in_doubt(effect, failure=run.failure, now=desk.now, is_inside=True)
        await desk.ledger.hand_over(replace(doubtful, owner=following.id), was_owner=run.id)
        desk.put(replace(pipeline, run_id=following.id))

    # What is next

    async def _begin_next(self, pipeline: Pipeline) -> Task | None:
        desk = self.desk
        handlers = await desk.roster.of(pipeline.name)
        producer = rules.next_producer(handlers, now=desk.now)
        if producer is not None and rules.is_turn_of_producers(pipeline):
            return await self._begin(pipeline, producer)
        consumers = rules.due_consumers(handlers, now=desk.now)
        if consumers:
            oldest = await self.oldest(consumers)
            consumer = rules.next_consumer(consumers, oldest, now=desk.now)
            if consumer is not None:
                return await self._begin(pipeline, consumer)
            for idle in consumers:  # nothing is there for them, and no code of theirs looks
                desk.roster.put(replace(idle, seen=idle.news, wake_at=None))
        if producer is not None:
            return await self._begin(pipeline, producer)
        await desk.release(pipeline)
        return None

    async def oldest(self, consumers: Sequence[Handler]) -> dict[str, Instant]:
        """When the first pending event of each consumer came, by its name."""
        desk = self.desk
        asked = {(item.pipeline, topic) for item in consumers for topic in item.spec.topics} - desk.ages.keys()
        if len(asked) == 1 and len(consumers) == 1 and not _chooses(consumers[0]):
            await self._peek(consumers[0], *asked)  # which would be read anyway
        elif asked:
            found = await desk.tx.events.oldest(desk.namespace, topics=asked)
            desk.ages.update({place: found.get(place) for place in asked})
        oldest: dict[str, Instant] = {}
        for item in consumers:
            ages = [age for topic in item.spec.topics if (age := desk.ages[item.pipeline, topic]) is not None]
            if ages:
                oldest[item.name] = min(ages)
        return oldest

    async def _begin(self, pipeline: Pipeline, handler: Handler, *, retry_of: HandlerRun | None = None) -> Task | None:
        desk, spec = self.desk, handler.spec
        if spec.kind is HandlerKind.PRODUCER:
            run = self._new(pipeline, handler.name, spec.kind, phase=Phase.EXECUTING, retry_of=retry_of)
            desk.book.add(run)
            desk.put(replace(pipeline, run_id=run.id, streak=0))
            return await self.task_of(run)
        chooses = _chooses(handler)
        phase = Phase.PREPARING if chooses else Phase.PREPARED
        run = replace(self._new(pipeline, handler.name, spec.kind, phase=phase, retry_of=retry_of), news=handler.news)
        events: list[EventRow] = []
        if not chooses:
            events = await self._oldest_events(handler)
            if not events:  # skipped since the attempt before, or taken by another consumer
                desk.roster.put(replace(handler, seen=handler.news))
                desk.put(replace(pipeline, run_id=None))
                return None if retry_of is not None else await self._begin_next(desk.pipelines[pipeline.name])
            reserved = tuple(Reservation(topic=it.topic, id=it.id, version=it.version) for it in events)
            run = replace(run, reserved=reserved)
            await desk.tx.reserved.take_oldest(desk.namespace, pipeline=pipeline.name, events=events, run_id=run.id)
        desk.book.add(run)
        desk.put(replace(pipeline, run_id=run.id, streak=pipeline.streak + 1))
        return await self.task_of(run, events=events)

    async def _peek(self, handler: Handler, place: tuple[str, str]) -> None:
        """Read the events of a topic that a consumer without `prepare` would take."""
        pipeline, topic = place
        desk, batch = self.desk, handler.spec.batch
        rows = await desk.tx.events.pending(desk.namespace, pipeline=pipeline, topic=topic, limit=batch)
        desk.oldest[pipeline, topic, batch] = rows
        desk.ages[place] = rows[0].created_at if rows else None

    async def _oldest_events(self, handler: Handler) -> list[EventRow]:
        desk, batch = self.desk, handler.spec.batch
        found: list[EventRow] = []
        for topic in handler.spec.topics:
            if (handler.pipeline, topic, batch) not in desk.oldest:
                await self._peek(handler, (handler.pipeline, topic))
            found += desk.oldest[handler.pipeline, topic, batch]
            desk.forget_ages(handler.pipeline, topic)  # some of them are taken
        taken: list[EventRow] = []
        room = MOST_BYTES
        for event in sorted(found, key=lambda item: item.seq)[:batch]:
            room -= weight_of(event)
            if room < 0 and taken:
                break
            taken.append(event)
        return taken

    def _new(
        self, pipeline: Pipeline, handler: str, kind: HandlerKind, *, phase: Phase, retry_of: HandlerRun | None
    ) -> HandlerRun:
        now = self.desk.now
        return HandlerRun(
            namespace=self.desk.namespace,
            id=HandlerRunId(self._ids.handler_run()),
            pipeline=pipeline.name,
            handler=handler,
            kind=kind,
            retry_of=None if retry_of is None else retry_of.id,
            attempt=1 if retry_of is None else retry_of.attempt + 1,
            phase=phase,
            status=HandlerStatus.ACTIVE,
            outcome=None,
            token=pipeline.token,
            worker=pipeline.worker,
            news=0,
            reserved=(),
            title="",
            warning=None,
            failure=None,
            decided_by=None,
            note=None,
            created_at=now,
            updated_at=now,
            ended_at=None,
        )

    async def task_of(self, run: HandlerRun, *, events: Sequence[EventRow] | None = None) -> Task:
        """An attempt that has just begun, as its holder is told: also once more, if the answer was lost."""
        desk = self.desk
        if events is None:
            has_events = run.phase in (Phase.PREPARED, Phase.EMITTING) and run.reserved
            events = await desk.tx.reserved.of_run(desk.namespace, run_id=run.id) if has_events else ()
        data, result = (None, None) if run.phase is Phase.PREPARING else await desk.book.contents(run.id)
        handler = await desk.roster.find(run.pipeline, run.handler)
        wants_state = handler is not None and run.phase in (Phase.EXECUTING, Phase.PREPARING)
        return Task(
            kind=TaskKind.HANDLE,
            run_id=run.id,
            handler=run.handler,
            phase=run.phase,
            attempt=run.attempt,
            state=await desk.roster.state(handler) if handler is not None and wants_state else None,
            events=tuple(events),
            data=data,
            title=run.title,
            outcome=run.outcome,
            result=result,
            effect_name=run.effect,
            scheduled_at=None if handler is None or run.phase is not Phase.EXECUTING else handler.next_at,
        )


def _chooses(handler: Handler) -> bool:
    """Does its worker choose the events? Also of one that is to be approved: so it hears that it parks."""
    return handler.spec.prepares or handler.spec.needs_approval


def park_for_approval(desk: Desk, run: HandlerRun) -> None:
    """A person has to approve what was prepared. The claim is given back, the events stay reserved."""
    desk.book.put(replace(run, status=HandlerStatus.PAUSED_APPROVAL, updated_at=desk.now, ended_at=desk.now))
    pipeline = desk.pipelines[run.pipeline]
    desk.put(phases.attention(pipeline, Issue.APPROVAL, now=desk.now), cause="approval")

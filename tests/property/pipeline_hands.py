"""Workers and people without code: they do to two pipelines whatever chance decides, through the engine's own doors.

The shop charges orders and tells of receipts; refunds have to be approved. The audit reads the same orders. The outside
world remembers what happened to each event, so that nothing can happen twice unseen. Whoever is asked says the truth.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.errors import ClaimLost, InvalidInput, NotFound, WrongState
from windlass.model.effect import Effect, Resolution
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import (
    EventStatus,
    HandlerKind,
    HandlerSpec,
    InputId,
    Issue,
    NewEvent,
    NewInput,
    Phase,
    PipelineSpec,
    Reservation,
)
from windlass.model.pipeline_commands import (
    DecideHandler,
    DeclarePipelines,
    Publish,
    ResolveEffect,
    SkipInput,
    SteerPipeline,
)
from windlass.model.pipeline_work import (
    ApplyEffect,
    BeginEffect,
    BegunKind,
    ClaimedPipeline,
    ClaimPipelines,
    CommitHandler,
    FixHandler,
    PipelineClaim,
    ReadEvents,
    ReconcileEffect,
    ReserveEvents,
    ReserveOutcome,
    StopHandler,
    Task,
    TaskKind,
    Verdict,
)
from windlass.model.run import WorkerId
from windlass.model.schedule import Timing
from windlass.model.time import HOUR, MINUTE, SECOND, Duration
from windlass.model.worker import ServedPipeline
from windlass.testing.clock import FakeClock

NAMESPACE = "default"
QUEUE = "default"
VISIBLE_FOR = Duration(5 * MINUTE)
ORDERS, REFUNDS, RECEIPTS = "orders", "refunds", "receipts"
EXPECTED = (ClaimLost, InvalidInput, NotFound, WrongState)
Place = tuple[str, str, str]  # pipeline, topic and id


def specs(number: int) -> tuple[PipelineSpec, ...]:
    """What the code says; another number is other code."""
    poll = HandlerSpec(
        name="poll", kind=HandlerKind.PRODUCER, publishes=(ORDERS,), timing=Timing(every=Duration(5 * MINUTE))
    )
    charge = HandlerSpec(
        name="charge",
        kind=HandlerKind.CONSUMER,
        topics=(ORDERS,),
        publishes=(RECEIPTS,),
        prepares=True,
        mutates=True,
        emits=True,
        code=str(number),
    )
    refund = HandlerSpec(
        name="refund", kind=HandlerKind.CONSUMER, topics=(REFUNDS,), mutates=True, needs_approval=True, code=str(number)
    )
    tell = HandlerSpec(name="tell", kind=HandlerKind.CONSUMER, topics=(RECEIPTS,), batch=2, emits=True)
    read = HandlerSpec(name="read", kind=HandlerKind.CONSUMER, topics=(ORDERS, RECEIPTS), batch=3, emits=True)
    revision = f"r{number}"
    return (
        PipelineSpec(name="audit", queue=QUEUE, revision=revision, handlers=(read,), has_fixer=True),
        PipelineSpec(name="shop", queue=QUEUE, revision=revision, handlers=(poll, charge, refund, tell)),
    )


class Held(Struct, kw_only=True):
    """A claim as its worker knows it, which may be over by now."""

    worker: WorkerId
    name: str
    token: int
    until: int  # the worker does nothing outside behind this
    task: Task
    phase: Phase
    places: tuple[Place, ...] = ()  # what its events are
    reserves: ReserveEvents | None = None  # chosen, and not told yet
    is_entered: bool = False  # the ledger knows of its effect, and it has not been called
    result: bytes | None = None  # of a call that returned
    sent: list[Any] = []  # the last command, should it be repeated
    answer: Any = None  # the last one


class Hands:
    def __init__(self, engine: Engine, clock: FakeClock, chance: random.Random) -> None:
        self._engine, self._clock, self._chance = engine, clock, chance
        self._polls = 0
        self._orders = 0
        self.number = 1
        self.held: list[Held] = []
        self.published: set[Place] = set()
        self.happened: Counter[Place] = Counter()  # outside
        self.done: Counter[str] = Counter()  # what was tried, for the figures
        self.is_gentle = False  # nothing fails any more

    # The world

    async def begin(self) -> None:
        await self._declare(1)

    async def turn(self) -> str:
        """Do one thing."""
        doings: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (6, self.publish),
            (6, self.claim),
            (16, self.work),
            (3, self.pass_time),
            (2, self.steer),
            (2, self.decide),
            (2, self.resolve),
            (1, self.skip),
            (1, self.declare),
            (1, self.repeat),
        ]
        weights, calls = zip(*doings, strict=True)
        (call,) = self._chance.choices(calls, weights)
        return await self._do(call.__name__, call)

    async def _do(self, name: str, call: Callable[[], Awaitable[None]]) -> str:
        try:
            await call()
        except EXPECTED as refused:
            name = f"{name}: {type(refused).__name__}"
        self.done[name] += 1
        return name

    async def pass_time(self) -> None:
        spans = [SECOND, 15 * SECOND, MINUTE, VISIBLE_FOR, 20 * MINUTE, HOUR, 25 * HOUR]
        self._clock.advance(self._chance.choice(spans))

    async def publish(self) -> None:
        topic = self._chance.choice([ORDERS, ORDERS, REFUNDS, RECEIPTS])
        id = f"{topic}-{self._chance.randint(1, 4)}"
        await self._engine.pipelines.publish(
            Publish(namespace=NAMESPACE, topic=topic, id=id, payload=b"%d" % self._chance.randint(1, 3))
        )
        self._note_published(topic, id)

    def _note_published(self, topic: str, id: str) -> None:
        subscribed = {ORDERS: ("audit", "shop"), RECEIPTS: ("audit", "shop"), REFUNDS: ("shop",)}
        self.published.update((name, topic, id) for name in subscribed[topic])

    # What people do

    async def declare(self) -> None:
        await self._declare(self.number + self._chance.randint(0, 1))

    async def _declare(self, number: int) -> None:
        self.number = number
        command = DeclarePipelines(namespace=NAMESPACE, program="shop:app", pipelines=specs(number))
        await self._engine.pipeline_control.declare_pipelines(command)

    async def steer(self) -> None:
        control = self._engine.pipeline_control
        deed = self._chance.choice([control.pause_pipeline, control.resume_pipeline, control.run_now])
        if self._chance.random() < 0.4:
            deed = self._chance.choice([control.resume_pipeline, control.retry_pipeline])
        await deed(SteerPipeline(namespace=NAMESPACE, name=self._chance.choice(["audit", "shop"]), by="ann"))

    async def decide(self) -> None:
        await self._engine.pipeline_control.decide_handler(
            DecideHandler(
                namespace=NAMESPACE,
                name="shop",
                is_approved=self.is_gentle or self._chance.random() < 0.6,
                releases=self._chance.random() < 0.5,
                by="ann",
            )
        )

    async def resolve(self) -> None:
        for effect in await self._engine.pipelines.list_open_effects(NAMESPACE):
            happened = await self._has_happened(effect)
            said = Resolution.HAPPENED if happened else Resolution.DID_NOT_HAPPEN
            if not self.is_gentle and self._chance.random() < 0.3:
                said = self._chance.choice([Resolution.SKIP, Resolution.TRY_AGAIN])
            await self._engine.pipeline_control.resolve_effect(
                ResolveEffect(namespace=NAMESPACE, subject=effect.subject, resolution=said, result=b"1", by="ann")
            )

    async def _has_happened(self, effect: Effect) -> bool:
        found = await self._engine.pipelines.get_handler_run(NAMESPACE, effect.owner)  # type: ignore[arg-type]
        return any(self.happened[effect.subject, event.topic, event.id] for event in found.events)

    async def skip(self) -> None:
        pipeline, topic, id = self._chance.choice(sorted(self.published) or [("shop", ORDERS, "nothing")])
        await self._engine.pipeline_control.skip_input(
            SkipInput(namespace=NAMESPACE, pipeline=pipeline, topic=topic, event=id, by="ann")
        )

    # What workers do

    async def claim(self) -> None:
        self._polls += 1
        worker = WorkerId(self._chance.choice(["wrk_a", "wrk_b", "wrk_c"]))
        served = tuple(ServedPipeline(QUEUE, name, f"r{self.number}") for name in ("audit", "shop"))
        claimed = await self._engine.work.claim_pipelines(
            ClaimPipelines(
                namespace=NAMESPACE,
                worker=worker,
                poll=self._polls,
                served=served,
                limit=self._chance.randint(1, 2),
                visibility_for=VISIBLE_FOR,
                wait_for=Duration(0),
            )
        )
        self.held += [self._holding(worker, item) for item in claimed]

    def _holding(self, worker: WorkerId, item: ClaimedPipeline) -> Held:
        return Held(
            worker=worker,
            name=item.name,
            token=item.token,
            until=self._clock.now() + item.visibility_for,
            task=item.task,
            phase=item.task.phase,
            places=self._places(item.name, item.task),
            sent=[],
        )

    def _places(self, name: str, task: Task) -> tuple[Place, ...]:
        return tuple((name, event.topic, event.id) for event in task.events)

    async def work(self) -> None:
        if not self.held:
            return
        held = self._chance.choice(self.held)
        try:
            await self._work(held)
        except (ClaimLost, InvalidInput) as refused:
            if isinstance(refused, ClaimLost):
                self._let_go(held)
            raise

    async def _work(self, held: Held) -> None:
        luck = 1.0 if self.is_gentle else self._chance.random()
        if held.task.kind is TaskKind.FIX:
            self._let_go(held)
            is_fixed = self._chance.random() < 0.5
            await self._send(held, FixHandler(**self._named(held), is_fixed=is_fixed), self._engine.work.fix_handler)
        elif held.task.kind is TaskKind.RECONCILE:
            await self._reconcile(held)
        elif luck < 0.05:
            self._let_go(held)  # it is gone, and says nothing
        elif luck < 0.1:
            self._let_go(held)
            await self._engine.work.release_pipeline(self._claim_of(held))
        elif luck < 0.13:
            await self._engine.work.renew_pipeline(self._claim_of(held))
            held.until = max(held.until, self._clock.now() + VISIBLE_FOR)
        elif luck < 0.25:
            await self._stop(held)
        else:
            await self._go_on(held)

    async def _go_on(self, held: Held) -> None:
        mutates = held.task.handler in ("charge", "refund")
        if held.phase is Phase.PREPARING:
            await self._reserve(held)
        elif held.is_entered:
            await self._call(held)
        elif held.phase is Phase.PREPARED and mutates and held.places and self._chance.random() < 0.9:
            await self._begin_effect(held)
        elif held.phase is Phase.MUTATING and held.result is not None and self._chance.random() < 0.5:
            await self._commit(held)  # in one go
        elif held.phase is Phase.MUTATING:
            command = ApplyEffect(**self._named(held), result=held.result or b"null")
            await self._send(held, command, self._engine.work.apply_effect)
            held.phase = Phase.MUTATED
        else:
            await self._commit(held)

    async def _reserve(self, held: Held) -> None:
        topic = REFUNDS if held.task.handler == "refund" else ORDERS
        found = await self._engine.work.read_events(
            ReadEvents(namespace=NAMESPACE, pipeline=held.name, token=held.token, topic=topic, limit=3)
        )
        chosen = [Reservation(topic=item.topic, id=item.id, version=item.version) for item in found]
        chosen = self._chance.sample(chosen, self._chance.randint(min(self.is_gentle, len(chosen)), len(chosen)))
        places = tuple((held.name, item.topic, item.id) for item in chosen)
        if not self.is_gentle and self._chance.random() < 0.15:
            wrong = [Reservation(topic=topic, id="none"), Reservation(topic=RECEIPTS, id="receipts-1")]
            chosen.append(self._chance.choice([*wrong, *chosen]))
        command = ReserveEvents(
            **self._named(held),
            reserved=tuple(chosen),
            data=b"%d" % len(chosen),
            wake_in=self._wake() if topic == ORDERS else None,  # else no code chooses, and none asks to be woken
        )
        if topic == ORDERS and self._chance.random() < 0.5:  # with what comes next, in one go
            held.reserves, held.phase, held.places = command, Phase.PREPARED, places
            return
        answer = await self._send(held, command, self._engine.work.reserve_events)
        if answer.outcome is ReserveOutcome.RESERVED:
            held.phase, held.places = Phase.PREPARED, places
        elif answer.outcome is ReserveOutcome.PARKED:
            self._let_go(held)

    def _wake(self) -> Duration | None:
        return self._chance.choice([None, Duration(SECOND), Duration(10 * MINUTE), Duration(100 * HOUR)])

    async def _begin_effect(self, held: Held) -> None:
        if self._clock.now() >= held.until:
            self._let_go(held)  # it knows that its claim is over
            return
        command = BeginEffect(
            namespace=NAMESPACE,
            subject=held.name,
            token=held.token,
            run_id=held.task.run_id,
            name="call",
            params=b"{}",
            idempotency_key=f"{held.name}/{held.task.handler}/{'+'.join(sorted(id for _, _, id in held.places))}",
            has_reconcile=held.task.handler == "charge",
            timeout_for=Duration(MINUTE),
            reserves=held.reserves,
        )
        if await self._is_changed(held, self._send(held, command, self._engine.work.begin_effect)):
            return
        held.phase, held.is_entered = Phase.MUTATING, True

    async def _is_changed(self, held: Held, sending: Awaitable[Any]) -> bool:
        """Send what was chosen with something else. True: it is to be chosen anew, and nothing was written."""
        is_deferred, held.reserves = held.reserves is not None, None
        try:
            answer = await sending
        except InvalidInput:
            if is_deferred:
                held.phase, held.places = Phase.PREPARING, ()
            raise
        held.answer = answer
        if getattr(answer, "kind", None) is BegunKind.CHANGED or getattr(answer, "is_changed", False):
            held.phase, held.places = Phase.PREPARING, ()
            return True
        return False

    async def _call(self, held: Held) -> None:
        """Outside: it happens or not, and whoever called may never hear of it."""
        if self._clock.now() >= held.until + MINUTE:
            self._let_go(held)
            return
        held.is_entered = False
        if self.is_gentle or self._chance.random() < 0.7:
            self.happened.update(held.places)
            held.result = b"1"
        else:
            await self._stop_with(held, self._chance.choice(list(FailureKind)), Verdict.FAILED)
            return
        if not self.is_gentle and self._chance.random() < 0.3:
            await self._stop_with(held, FailureKind.INDETERMINATE, Verdict.UNKNOWN)

    async def _stop(self, held: Held) -> None:
        verdict = None
        if held.phase is Phase.MUTATING:
            verdict = Verdict.UNKNOWN if held.result is not None else self._chance.choice(list(Verdict))
        await self._stop_with(held, self._chance.choice(list(FailureKind)), verdict)

    async def _stop_with(self, held: Held, kind: FailureKind, verdict: Verdict | None) -> None:
        self._let_go(held)
        said_at = held.phase
        if held.reserves is not None:
            said_at = Phase.PREPARING  # nobody knows of it yet
        elif held.phase in (Phase.PREPARED, Phase.MUTATED) and self._chance.random() < 0.5:
            said_at = Phase.EMITTING  # in `next`
        command = StopHandler(
            **self._named(held),
            phase=said_at,
            failure=Failure(kind=kind, type="Chance", message=str(self._chance.random())),
            verdict=verdict,
            is_inside=verdict is Verdict.UNKNOWN and self._chance.random() < 0.5,
        )
        await self._send(held, command, self._engine.work.stop_handler)

    async def _reconcile(self, held: Held) -> None:
        effect = held.task.effect
        assert effect is not None
        self._let_go(held)
        knows = self.is_gentle or self._chance.random() < 0.6
        happened = await self._has_happened(effect)
        command = ReconcileEffect(
            namespace=NAMESPACE,
            subject=held.name,
            token=held.token,
            run_id=held.task.run_id,
            result=b"1" if knows and happened else None,
            did_not_happen=knows and not happened,
            continues=self._chance.random() < 0.5,
        )
        answer = await self._send(held, command, self._engine.work.reconcile_effect)
        self._go_on_with(held, answer.task)

    async def _commit(self, held: Held) -> None:
        events: list[NewEvent] = []
        inputs: list[NewInput] = []
        if held.task.handler == "poll":
            self._orders += 1
            input = InputId(f"inp_{self._orders:026}")
            inputs.append(NewInput(id=input, source="mail", type="order", external_id=str(self._orders)))
            events.append(NewEvent(topic=ORDERS, id=f"polled-{self._orders}", payload=b"1", causes=(input,)))
        elif held.task.handler == "charge":
            events += [NewEvent(topic=RECEIPTS, id=f"of-{id}", payload=b"1") for _, _, id in held.places]
        if not self.is_gentle and self._chance.random() < 0.1:
            events.append(NewEvent(topic="undeclared", id="x", payload=b"1"))
        command = CommitHandler(
            **self._named(held),
            has_state=held.task.handler == "poll",
            state=b"%d" % self._orders if held.task.handler == "poll" else None,
            events=tuple(events),
            inputs=tuple(inputs),
            continues=self._chance.random() < 0.6,
            visibility_for=VISIBLE_FOR,
            reserves=held.reserves,
            result=held.result if held.phase is Phase.MUTATING else None,
        )
        self._let_go(held)
        if await self._is_changed(held, self._send(held, command, self._engine.work.commit_handler)):
            self.held.append(held)
            return
        answer = held.answer
        for event in events:
            self._note_published(event.topic, event.id)
        self._go_on_with(held, answer.task)

    def _go_on_with(self, held: Held, task: Task | None) -> None:
        if task is None:
            return
        until = max(held.until, self._clock.now() + VISIBLE_FOR)
        item = replace(held, task=task, phase=task.phase, places=self._places(held.name, task), until=until)
        self.held.append(replace(item, is_entered=False, result=None, reserves=None, sent=[], answer=None))

    async def repeat(self) -> None:
        """An answer was lost: the same call once more. It changes nothing, which the rows must show."""
        sent = [item for held in self.held for item in held.sent]
        if sent:
            command, call = self._chance.choice(sent)
            await call(command)

    async def _send(self, held: Held, command: Any, call: Callable[[Any], Any]) -> Any:
        answer = await call(command)
        held.sent = [(command, call)]
        if not self.is_gentle and self._chance.random() < 0.15:
            try:
                again = await call(command)
            except EXPECTED as refused:
                raise AssertionError(f"refused when it was repeated: {command}") from refused
            assert type(again) is type(answer)
            if hasattr(again, "task") and answer.task is not None:
                assert again.task is not None and again.task.run_id == answer.task.run_id
        return answer

    def _named(self, held: Held) -> dict[str, Any]:
        return {"namespace": NAMESPACE, "pipeline": held.name, "token": held.token, "run_id": held.task.run_id}

    def _claim_of(self, held: Held) -> PipelineClaim:
        return PipelineClaim(namespace=NAMESPACE, pipeline=held.name, token=held.token, visibility_for=VISIBLE_FOR)

    def _let_go(self, held: Held) -> None:
        if held in self.held:
            self.held.remove(held)

    # The end

    async def come_to_rest(self, *, most: int = 2_000) -> None:
        """Everybody does what they should, until nothing is left to do."""
        self.is_gentle = True
        await self._declare(self.number + 1)  # whoever had seen an event and left it looks again
        for _ in range(most):
            await self._do("resolve", self.resolve)
            for detail in await self._engine.pipelines.list_pipelines(NAMESPACE):
                await self._put_right(detail.view.pipeline.name, detail.view.pipeline.issue)
            await self._do("claim", self.claim)
            while self.held:
                await self._do("work", self.work)
            if await self._is_at_rest():
                return
            self._clock.advance(MINUTE)
        raise AssertionError("it never came to rest")

    async def _put_right(self, name: str, issue: Issue | None) -> None:
        if issue is Issue.APPROVAL:
            await self._do("decide", self.decide)
        else:
            steering = SteerPipeline(namespace=NAMESPACE, name=name, by="ann")
            await self._do("resume", lambda: _quiet(self._engine.pipeline_control.resume_pipeline(steering)))

    async def _is_at_rest(self) -> bool:
        for detail in await self._engine.pipelines.list_pipelines(NAMESPACE):
            view = detail.view
            if view.run is not None or any(handler.pending for handler in view.handlers):
                return False
        return True


async def _quiet(work: Awaitable[Any]) -> None:
    await work


def is_over(status: EventStatus) -> bool:
    return status in (EventStatus.CONSUMED, EventStatus.SKIPPED)

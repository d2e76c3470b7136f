"""Every call of the wire that changes something about a pipeline or an effect: part of wire_cases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from tests.conformance.given import NAMESPACE, WORKER
from tests.conformance.test_control import run_in
from tests.conformance.test_workers import registering
from tests.faults.wire_site import Site
from windlass.engine.engine import Engine
from windlass.model.effect import Resolution
from windlass.model.failure import Failure, FailureKind
from windlass.model.pipeline import (
    HandlerKind,
    HandlerSpec,
    InputId,
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
    ClaimPipelines,
    CommitHandler,
    FailEffect,
    FixHandler,
    PipelineClaim,
    ReadEvents,
    ReconcileEffect,
    ReserveEvents,
    StopHandler,
    Task,
    Verdict,
)
from windlass.model.run import Run, RunStatus
from windlass.model.schedule import Timing
from windlass.model.time import HOUR, MINUTE, Duration
from windlass.model.worker import ServedPipeline
from windlass.rules.inputs import new_input

NAME, TOPIC, ANN = "payments", "order.paid", "ann"
SERVED = (ServedPipeline("billing", NAME, "r1"),)
INPUT: NewInput = new_input("shop", "order", "o-1", title="Order 1")
TRANSIENT = Failure(kind=FailureKind.TRANSIENT, type="OSError", message="not now")
LOGIC = Failure(kind=FailureKind.LOGIC, type="ValueError", message="wrong")
LEAST = Duration(0)


class Held(NamedTuple):
    """An attempt that a worker is at."""

    token: int
    task: Task

    @property
    def by(self) -> dict[str, Any]:
        """By what a write names it."""
        return {"namespace": NAMESPACE, "pipeline": NAME, "token": self.token, "run_id": self.task.run_id}

    @property
    def effect(self) -> dict[str, Any]:
        return {"namespace": NAMESPACE, "subject": NAME, "token": self.token, "run_id": self.task.run_id}


# The ground


def declaring(**options: Any) -> DeclarePipelines:
    given = {name: options.pop(name) for name in ("has_fixer",) if name in options}
    timing = Timing(every=HOUR)
    poll = HandlerSpec(name="poll", kind=HandlerKind.PRODUCER, publishes=(TOPIC,), timing=timing, code="1")
    charge = HandlerSpec(
        name="charge", kind=HandlerKind.CONSUMER, topics=(TOPIC,), publishes=("receipt",), prepares=True, mutates=True,
        emits=True, code="1", **options,
    )  # fmt: skip
    spec = PipelineSpec(name=NAME, queue="billing", revision="r1", handlers=(poll, charge), **given)
    return DeclarePipelines(namespace=NAMESPACE, program="shop:app", pipelines=(spec,))


def publishing(id: str = "o-1", **fields: Any) -> Publish:
    given: dict[str, Any] = {"namespace": NAMESPACE, "topic": TOPIC, "id": id, "payload": b"1", "input": INPUT}
    return Publish(**(given | fields))


def claiming(poll: int = 1) -> ClaimPipelines:
    return ClaimPipelines(
        namespace=NAMESPACE, worker=WORKER, poll=poll, served=SERVED, limit=1, visibility_for=HOUR, wait_for=LEAST
    )


def declared(**options: Any) -> Callable[[Engine], Awaitable[None]]:
    async def prepare(engine: Engine) -> None:
        await engine.work.register_worker(registering())
        await engine.pipeline_control.declare_pipelines(declaring(**options))

    return prepare


def preparing(**options: Any) -> Callable[[Engine], Awaitable[Held]]:
    """A consumer with one event before it."""

    async def prepare(engine: Engine) -> Held:
        await declared(**options)(engine)
        await engine.pipelines.publish(publishing())
        (claimed,) = await engine.work.claim_pipelines(claiming())
        return Held(claimed.token, claimed.task)

    return prepare


async def producing(engine: Engine) -> Held:
    await declared()(engine)
    (claimed,) = await engine.work.claim_pipelines(claiming())
    first = Held(claimed.token, claimed.task)
    await engine.work.reserve_events(ReserveEvents(**first.by, reserved=()))
    committed = await engine.work.commit_handler(CommitHandler(**first.by))
    assert committed.task is not None
    return Held(claimed.token, committed.task)


async def reserving(engine: Engine, held: Held) -> ReserveEvents:
    read = ReadEvents(namespace=NAMESPACE, pipeline=NAME, token=held.token, topic=TOPIC)
    found = await engine.work.read_events(read)
    reserved = tuple(Reservation(topic=TOPIC, id=event.id, version=event.version) for event in found)
    return ReserveEvents(**held.by, reserved=reserved, data=b"7", title="Order 1")


async def reserved(engine: Engine) -> Held:
    held = await preparing()(engine)
    await engine.work.reserve_events(await reserving(engine, held))
    return held


def beginning(held: Held, *, has_reconcile: bool = True) -> BeginEffect:
    return BeginEffect(
        **held.effect,
        name="charge_card",
        params=b"[7]",
        idempotency_key="k",
        has_reconcile=has_reconcile,
        timeout_for=MINUTE,
    )


async def mutating(engine: Engine) -> Held:
    held = await reserved(engine)
    await engine.work.begin_effect(beginning(held))
    return held


async def mutated(engine: Engine) -> Held:
    held = await mutating(engine)
    await engine.work.apply_effect(ApplyEffect(**held.by, result=b'"paid"'))
    return held


async def awaiting_approval(engine: Engine) -> Held:
    held = await preparing(needs_approval=True)(engine)
    await engine.work.reserve_events(await reserving(engine, held))
    return held


async def backing_off(engine: Engine) -> Held:
    held = await preparing()(engine)
    await engine.work.stop_handler(StopHandler(**held.by, phase=Phase.PREPARING, failure=TRANSIENT))
    return held


async def indeterminate(engine: Engine) -> Held:
    """Nobody knows, and nobody can be asked."""
    held = await reserved(engine)
    await engine.work.begin_effect(beginning(held, has_reconcile=False))
    stop = StopHandler(**held.by, phase=Phase.MUTATING, failure=TRANSIENT, verdict=Verdict.UNKNOWN)
    await engine.work.stop_handler(stop)
    return held


async def reconciling(engine: Engine) -> Held:
    held = await mutating(engine)
    stop = StopHandler(**held.by, phase=Phase.MUTATING, failure=TRANSIENT, verdict=Verdict.UNKNOWN)
    await engine.work.stop_handler(stop)
    await engine.pipeline_control.resolve_effect(resolving(Resolution.TRY_AGAIN))  # at once
    (claimed,) = await engine.work.claim_pipelines(claiming(2))
    return Held(claimed.token, claimed.task)


async def fixing(engine: Engine) -> Held:
    held = await preparing(has_fixer=True)(engine)
    await engine.work.stop_handler(StopHandler(**held.by, phase=Phase.PREPARING, failure=LOGIC))
    (claimed,) = await engine.work.claim_pipelines(claiming(2))
    return Held(claimed.token, claimed.task)


async def paused(engine: Engine) -> None:
    await declared()(engine)
    await engine.pipeline_control.pause_pipeline(steering())


async def idle(engine: Engine) -> None:
    held = await producing(engine)
    await engine.work.commit_handler(CommitHandler(**held.by))


async def with_event(engine: Engine) -> None:
    await declared()(engine)
    await engine.pipelines.publish(publishing())


def steering() -> SteerPipeline:
    return SteerPipeline(namespace=NAMESPACE, name=NAME, by=ANN, note="why")


async def run_with_effect(engine: Engine) -> Run:
    run = await run_in(engine, RunStatus.RUNNING)
    await engine.work.begin_effect(beginning_of_run(run))
    return run


def beginning_of_run(run: Run) -> BeginEffect:
    return BeginEffect(
        namespace=NAMESPACE, subject=run.id, token=run.token, run_id=run.id, step_key="pay", name="charge_card",
        params=b"[7]", idempotency_key="k", has_reconcile=True, timeout_for=MINUTE,
    )  # fmt: skip


def failing_of_run(run: Run) -> FailEffect:
    return FailEffect(
        namespace=NAMESPACE,
        run_id=run.id,
        token=run.token,
        step_key="pay",
        attempt=1,
        verdict=Verdict.UNKNOWN,
        failure=TRANSIENT,
    )


# The calls


def work(method: str, make: Callable[[Any], Any]) -> Callable[[Site, Any], Awaitable[Any]]:
    async def ask(site: Site, ground: Any) -> Any:
        return await getattr(site.remote.work, method)(make(ground))

    return ask


def steer(method: str, command: Callable[[Any], Any]) -> Callable[[Site, Any], Awaitable[Any]]:
    async def ask(site: Site, ground: Any) -> Any:
        return await getattr(site.remote.pipeline_control, method)(command(ground))

    return ask


async def publish(site: Site, ground: None) -> Any:
    answers = [site.remote.pipelines.publish(publishing(id)) for id in ("o-1", "o-2")]
    return [(await answer).pipelines for answer in answers]  # whether an id was known, the second call cannot tell


async def claim(site: Site, ground: None) -> Any:
    claimed = await site.remote.work.claim_pipelines(claiming())
    return [(item.name, item.token, item.recoveries, item.task.kind, item.task.handler) for item in claimed]


async def reserve(site: Site, held: Held) -> Any:
    return await site.remote.work.reserve_events(await reserving(site.engine.engine, held))


def committing(held: Held) -> CommitHandler:
    event = NewEvent(topic=TOPIC, id="o-7", payload=b"7", causes=(InputId(INPUT.id),))
    return CommitHandler(**held.by, has_state=True, state=b"1", events=(event,), inputs=(INPUT,), title="polled")


def resolving(resolution: Resolution) -> ResolveEffect:
    result = b'"paid"' if resolution is Resolution.HAPPENED else None
    return ResolveEffect(namespace=NAMESPACE, subject=NAME, resolution=resolution, result=result, by=ANN)


def as_resolved(resolution: Resolution) -> Callable[[Any], ResolveEffect]:
    return lambda ground: resolving(resolution)


def deciding(held: Held, *, is_approved: bool) -> DecideHandler:
    return DecideHandler(namespace=NAMESPACE, name=NAME, is_approved=is_approved, run_id=held.task.run_id, by=ANN)


def held_claim(held: Held) -> PipelineClaim:
    return PipelineClaim(namespace=NAMESPACE, pipeline=NAME, token=held.token, visibility_for=Duration(2 * HOUR))


Case = tuple[Callable[[Engine], Awaitable[Any]], Callable[[Site, Any], Awaitable[Any]]]
PIPELINE_CASES: dict[str, Case] = {
    "PublishEvents": (declared(), publish),
    "DeclarePipelines": (declared(), steer("declare_pipelines", lambda _: declaring(batch=2))),
    "PausePipeline": (declared(), steer("pause_pipeline", lambda _: steering())),
    "ResumePipeline": (paused, steer("resume_pipeline", lambda _: steering())),
    "RunNow": (idle, steer("run_now", lambda _: steering())),
    "RetryPipeline": (backing_off, steer("retry_pipeline", lambda _: steering())),
    "DecideHandler": (
        awaiting_approval,
        steer("decide_handler", lambda held: deciding(held, is_approved=True)),
    ),
    "DecideHandler: no": (
        awaiting_approval,
        steer("decide_handler", lambda held: deciding(held, is_approved=False)),
    ),
    **{
        f"ResolveEffect: {item}": (indeterminate, steer("resolve_effect", as_resolved(item)))
        for item in (Resolution.HAPPENED, Resolution.DID_NOT_HAPPEN, Resolution.SKIP)
    },
    "SkipInput": (
        with_event,
        steer("skip_input", lambda _: SkipInput(namespace=NAMESPACE, pipeline=NAME, input=INPUT.id, by=ANN)),
    ),
    "ClaimPipelines": (with_event, claim),
    "ReserveEvents": (preparing(), reserve),
    "ReserveEvents: to be approved": (preparing(needs_approval=True), reserve),
    "BeginEffect": (reserved, work("begin_effect", beginning)),
    "BeginEffect: of a run": (
        lambda engine: run_in(engine, RunStatus.RUNNING),
        work("begin_effect", beginning_of_run),
    ),
    "ApplyEffect": (mutating, work("apply_effect", lambda held: ApplyEffect(**held.by, result=b'"paid"'))),
    "CommitHandler": (producing, work("commit_handler", committing)),
    "CommitHandler: a consumer": (mutated, work("commit_handler", lambda held: CommitHandler(**held.by))),
    "CommitHandler: the last": (
        producing,
        work("commit_handler", lambda held: CommitHandler(**held.by, continues=False)),
    ),
    "StopHandler": (
        preparing(),
        work("stop_handler", lambda held: StopHandler(**held.by, phase=Phase.PREPARING, failure=TRANSIENT)),
    ),
    "StopHandler: nobody knows": (
        mutating,
        work(
            "stop_handler",
            lambda held: StopHandler(**held.by, phase=Phase.MUTATING, failure=TRANSIENT, verdict=Verdict.UNKNOWN),
        ),
    ),
    "ReconcileEffect": (
        reconciling,
        work("reconcile_effect", lambda held: ReconcileEffect(**held.effect, result=b'"paid"')),
    ),
    "ReconcileEffect: in vain": (
        reconciling,
        work("reconcile_effect", lambda held: ReconcileEffect(**held.effect, failure=TRANSIENT)),
    ),
    "ReconcileEffect: and go on": (
        reconciling,
        work("reconcile_effect", lambda held: ReconcileEffect(**held.effect, result=b'"paid"', continues=True)),
    ),
    "FailEffect": (run_with_effect, work("fail_effect", failing_of_run)),
    "FixHandler": (fixing, work("fix_handler", lambda held: FixHandler(**held.by, is_fixed=True, note="mended"))),
    "FixHandler: given up": (fixing, work("fix_handler", lambda held: FixHandler(**held.by, is_fixed=False))),
    "RenewPipeline": (preparing(), work("renew_pipeline", held_claim)),
    "ReleasePipeline": (preparing(), work("release_pipeline", held_claim)),
}

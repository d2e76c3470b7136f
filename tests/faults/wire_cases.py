"""Every call of the wire that changes something: the ground it is made on, and how it is made.

The names are those of the methods; what stands behind a colon tells two cases of one method apart.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    WORKER,
    begun,
    claim_one,
    completed,
    finished,
    held,
    holding,
    poll,
    resuming,
    run_id,
    start,
)
from tests.conformance.test_access import creating, key_id
from tests.conformance.test_control import cancelling, event_wait, parking, pausing, run_in, sending
from tests.conformance.test_families import child_wait
from tests.conformance.test_messages import asking, deciding
from tests.conformance.test_namespaces import disable, making
from tests.conformance.test_schedules import putting
from tests.conformance.test_waits import failing, sleeping
from tests.conformance.test_workers import registering
from tests.faults.wire_cases_of_pipelines import PIPELINE_CASES
from tests.faults.wire_cases_of_signals import SIGNAL_CASES
from tests.faults.wire_site import Site
from windlass.api.grpc import envelopes as of
from windlass.engine.engine import Engine
from windlass.model.claims import Renewal, RenewClaims
from windlass.model.commands import (
    BeginStep,
    Cancelled,
    CancelRun,
    ClaimRuns,
    CompleteStep,
    FinishRun,
    Heartbeat,
    RetryRun,
    SendEvent,
    SetGate,
    Started,
    StartRun,
    Suspended,
    WaitStep,
)
from windlass.model.gate import GateKind
from windlass.model.graph import EVERY_END, AddJobs, Need, NewJob
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.model.time import HOUR, Duration
from windlass.model.worker import EndedRuns, Served

WORKFLOWS, WORK = "WorkflowService", "WorkerService"
HASH = bytes(16)
LEAST = Duration(0)

Prepare = Callable[[Engine], Awaitable[Any]]
Ask = Callable[[Site, Any], Awaitable[Any]]


class Case(NamedTuple):
    prepare: Prepare
    ask: Ask


# The ground


async def nothing(engine: Engine) -> None:
    pass


def starting(number: int = 1, **fields: Any) -> StartRun:
    return start(number, input_hash=HASH, run_id=run_id(number), **fields)


def run(status: RunStatus) -> Prepare:
    return lambda engine: run_in(engine, status)


async def registered(engine: Engine) -> None:
    await engine.work.register_worker(registering())


async def startable(engine: Engine) -> None:
    await registered(engine)
    await engine.runs.start_run(starting())
    await engine.runs.start_run(starting(2))


async def parent(engine: Engine) -> tuple[Run, RunId]:
    """A run that is executed, and a child of it that waits for its turn."""
    await engine.runs.start_run(starting())
    found = await claim_one(engine)
    await engine.work.suspend_run(parking(found, child_wait(found), park=False))
    (child,) = [item for item in await _runs(engine) if item.id != found.id]
    return found, child.id


async def _runs(engine: Engine) -> list[Run]:
    from windlass.model.page import ListRuns

    return list((await engine.runs.list_runs(ListRuns(namespace=NAMESPACE, limit=10))).runs)


async def paused_parent(engine: Engine) -> Run:
    return (await parent(engine))[0]


async def awaiting_approval(engine: Engine) -> Run:
    return await asking(engine, "approval")


async def scheduled(engine: Engine) -> None:
    await engine.schedules.put_schedule(putting(input_hash=HASH))


async def schedule_paused(engine: Engine) -> None:
    await scheduled(engine)
    await engine.schedules.pause_schedule(PauseSchedule(namespace=NAMESPACE, name="nightly"))


async def other_namespace(engine: Engine) -> None:
    await engine.namespaces.create_namespace(making())


async def disabled_namespace(engine: Engine) -> None:
    await other_namespace(engine)
    await disable(engine, "acme")


def renewing(item: Run) -> RenewClaims:
    """One that is held, and one that is lost: the other is none the worse for it."""
    held = Renewal(id=item.id, token=item.token, visibility_for=HOUR)
    lost = replace(held, token=item.token + 1)
    return RenewClaims(namespace=NAMESPACE, runs=(held, lost))


def opening(item: Run) -> AddJobs:
    """Of the run of a graph: a generator, a job, and one that needs both."""
    generator = NewJob(name="shards", workflow="invoice.shards", queue="billing", is_group=True)
    lint = NewJob(name="lint", workflow="invoice.lint", queue="billing")
    needs = (Need(upstream="lint"), Need(upstream="shards", is_group=True))
    report = NewJob(name="report", workflow="invoice.report", queue="billing", needs=needs)
    return AddJobs(namespace=NAMESPACE, run_id=item.id, token=item.token, jobs=(generator, lint, report))


def expanding(item: Run) -> AddJobs:
    """Of that generator: one job, and one behind it."""
    first = NewJob(name="shard-1", workflow="invoice.shard", queue="billing", input=b"[1]")
    second = NewJob(name="shard-2", workflow="invoice.shard", queue="billing", needs=(Need(upstream="shard-1"),))
    return AddJobs(namespace=NAMESPACE, run_id=item.id, token=item.token, jobs=(first, second), output=b"[1,2]")


def going_in_circles(item: Run) -> AddJobs:
    job = NewJob(name="shard-1", workflow="invoice.shard", needs=(Need(upstream="report"),))
    return AddJobs(namespace=NAMESPACE, run_id=item.id, token=item.token, jobs=(job,))


async def graph(engine: Engine) -> Run:
    opened = await run_in(engine, RunStatus.RUNNING)
    await engine.work.add_jobs(opening(opened))
    return opened


async def cleaning(engine: Engine) -> Run:
    """A graph with a job that runs even when it is cancelled."""
    opened = await run_in(engine, RunStatus.RUNNING)
    await engine.work.add_jobs(with_cleanup(opened))
    return opened


def with_cleanup(item: Run) -> AddJobs:
    tidy = NewJob(
        name="tidy", workflow="invoice.tidy", needs=(Need(upstream="lint", accepts=EVERY_END),), is_cleanup=True
    )
    added = opening(item)
    return replace(added, jobs=(*added.jobs, tidy))


async def failed_graph(engine: Engine) -> Run:
    """One job of it completed, another failed, and the third was skipped for that."""
    opened = await graph(engine)
    lint = await claim_one(engine, 2, served=(Served("billing", "invoice.lint"),))
    await engine.work.finish_run(finishing(lint, knows_family=False))
    shards = await claim_one(engine, 3, served=(Served("billing", "invoice.shards"),))
    await engine.work.finish_run(
        finishing(shards, knows_family=False, status=RunStatus.FAILED, output=None, failure=FAILURE)
    )
    return opened


async def paused_graph(engine: Engine) -> Run:
    opened = await graph(engine)
    await engine.control.pause_run(pausing(opened.id))
    return opened


async def child_graph(engine: Engine) -> tuple[Run, RunId]:
    """A run that is executed, and a child of it that is such a graph."""
    found, child = await parent(engine)
    lane = (await engine.runs.get_run(NAMESPACE, child)).run
    claimed = await claim_one(engine, 2, served=(Served(lane.queue, lane.name, lane.version),))
    await engine.work.add_jobs(with_cleanup(claimed))
    return found, child


def job(name: str) -> Prepare:
    """A job of that graph, claimed."""

    async def prepare(engine: Engine) -> Run:
        await graph(engine)
        return await claim_one(engine, 2, served=(Served("billing", f"invoice.{name}"),))

    return prepare


async def with_key(engine: Engine) -> None:
    await engine.access.create_key(creating(5))


async def with_cursor(engine: Engine) -> None:
    await run_in(engine, RunStatus.PENDING)
    await engine.control.move_cursor(NAMESPACE, "mirror", 1)


# The calls


def raw(service: str, method: str, answer: type[Any], make: Callable[[Any], Any]) -> Ask:
    return lambda site, ground: site.service(service).ask(method, make(ground), answer)


async def start_one(site: Site, ground: None) -> Any:
    command = of.StartOne(namespace=NAMESPACE, run=starting(), allow_unknown=True)
    return await site.service(WORKFLOWS).ask("StartRun", command, Started)


async def start_many(site: Site, ground: None) -> Any:
    answers = [site.remote.runs.start_run(start(number, input_hash=HASH)) for number in (1, 2)]
    return [await answer for answer in answers]


async def start_many_with_keys(site: Site, ground: None) -> Any:
    answers = [site.remote.runs.start_run(start(n, input_hash=HASH, key=f"key-{n}")) for n in (1, 2)]
    return [await answer for answer in answers]


def finishing(item: Run, **fields: Any) -> FinishRun:
    return finished(item, result_hash=HASH, **fields)


def beginning(item: Run) -> BeginStep:
    return begun(item, input_hash=HASH)


def completing(item: Run) -> CompleteStep:
    return completed(item, input_hash=HASH)


def polling(**fields: Any) -> ClaimRuns:
    return poll(**fields)


async def claim(site: Site, ground: None) -> Any:
    claimed = await site.remote.work.claim_runs(polling(limit=1))
    return [(item.run_id, item.token, item.input, item.attempts, item.recoveries) for item in claimed]


async def beat(site: Site, ground: None) -> Any:
    command = Heartbeat(namespace=NAMESPACE, id=WORKER, active=1, completed=2, failed=3)
    return await site.remote.work.heartbeat(command)


def fail_one(item: Run) -> of.FailOne:
    step = failing(item, input_hash=HASH)
    return of.FailOne(namespace=NAMESPACE, run_id=item.id, token=item.token, step=step)


def sleep_one(item: Run) -> of.SleepOne:
    return of.SleepOne(
        namespace=NAMESPACE, run_id=item.id, token=item.token, key="sleep", input_hash=HASH, sleep_for=HOUR
    )


def wait_one(item: Run) -> of.WaitOne:
    step = event_wait(item, input_hash=HASH)
    return of.WaitOne(namespace=NAMESPACE, run_id=item.id, token=item.token, step=step, order=1)


def complete_run(item: Run) -> of.CompleteRun:
    return of.CompleteRun(namespace=NAMESPACE, run_id=item.id, token=item.token, output=b"42")


def fail_run(item: Run) -> of.FailRun:
    return of.FailRun(namespace=NAMESPACE, run_id=item.id, token=item.token, failure=FAILURE)


def send(id: RunId) -> SendEvent:
    return replace(sending(id), payload_hash=HASH)


def child_of(item: Run) -> WaitStep:
    wait = child_wait(item, input_hash=HASH)
    assert wait.child is not None
    return replace(wait, child=replace(wait.child, command=replace(wait.child.command, input_hash=HASH)))


async def send_to_child(site: Site, ground: tuple[Run, RunId]) -> Any:
    claimed, child = ground
    return await site.remote.work.send_to_child(held(claimed), send(child))


async def cancel_child(site: Site, ground: tuple[Run, RunId]) -> Cancelled:
    claimed, child = ground
    command = CancelRun(namespace=NAMESPACE, run_id=child, by=claimed.id)
    return await site.remote.work.cancel_child(held(claimed), command)


async def declare(site: Site, ground: None) -> None:
    schedules = (putting(input_hash=HASH),)
    await site.remote.schedules.declare(
        Declare(namespace=NAMESPACE, program="shop:app", schedules=schedules, kept={"invoice": Duration(HOUR)})
    )


RUNNING, PENDING, FAILED, PAUSED = (
    run(status) for status in (RunStatus.RUNNING, RunStatus.PENDING, RunStatus.FAILED, RunStatus.PAUSED)
)
ANN = "ann"
CASES: dict[str, Case] = {
    # WorkflowService
    "StartRun": Case(nothing, start_one),
    "StartRuns": Case(nothing, start_many),
    "StartRuns: with keys": Case(nothing, start_many_with_keys),
    "CancelRun": Case(PENDING, lambda site, item: site.remote.control.cancel_run(cancelling(item.id, by=ANN))),
    "CancelRun: at work": Case(RUNNING, lambda site, item: site.remote.control.cancel_run(cancelling(item.id))),
    "CancelRun: with a child": Case(
        paused_parent, lambda site, item: site.remote.control.cancel_run(cancelling(item.id))
    ),
    "CancelRun: a graph": Case(graph, lambda site, item: site.remote.control.cancel_run(cancelling(item.id))),
    "RetryRun: a graph": Case(
        failed_graph,
        lambda site, item: site.remote.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=item.id, by=ANN)),
    ),
    "ResumeRun: a graph": Case(paused_graph, lambda site, item: site.remote.control.resume_run(resuming(item.id))),
    "PauseRun: a graph": Case(graph, lambda site, item: site.remote.control.pause_run(pausing(item.id))),
    "CancelRun: a graph that cleans up": Case(
        cleaning, lambda site, item: site.remote.control.cancel_run(cancelling(item.id))
    ),
    "CancelRun: over": Case(FAILED, lambda site, item: site.remote.control.cancel_run(cancelling(item.id))),
    "RetryRun": Case(
        FAILED, lambda site, item: site.remote.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=item.id, by=ANN))
    ),
    "RetryRun: paused": Case(
        PAUSED, lambda site, item: site.remote.control.retry_run(RetryRun(namespace=NAMESPACE, run_id=item.id))
    ),
    "PauseRun": Case(PENDING, lambda site, item: site.remote.control.pause_run(pausing(item.id, by=ANN))),
    "PauseRun: at work": Case(RUNNING, lambda site, item: site.remote.control.pause_run(pausing(item.id))),
    "ResumeRun": Case(PAUSED, lambda site, item: site.remote.control.resume_run(resuming(item.id))),
    "SendEvent": Case(PENDING, lambda site, item: site.remote.control.send_event(send(item.id))),
    "Decide": Case(awaiting_approval, lambda site, item: site.remote.control.decide(deciding(item.id, by=ANN))),
    "Decide: no": Case(awaiting_approval, lambda site, item: site.remote.control.decide(deciding(item.id, False))),
    # WorkerService
    "Register": Case(nothing, lambda site, _: site.remote.work.register_worker(registering())),
    "Heartbeat": Case(registered, beat),
    "Drain": Case(registered, raw(WORK, "Drain", of.Nothing, lambda _: of.OfWorker(namespace=NAMESPACE, id=WORKER))),
    "Deregister": Case(
        registered,
        lambda site, _: site.remote.work.deregister_worker(NAMESPACE, WORKER, EndedRuns(completed=3, failed=1)),
    ),
    "Poll": Case(startable, claim),
    "BeginSteps": Case(RUNNING, lambda site, item: _awaited(site.remote.work.begin_step(beginning(item)))),
    "CompleteSteps": Case(RUNNING, lambda site, item: _awaited(site.remote.work.complete_step(completing(item)))),
    "Suspend": Case(
        RUNNING,
        lambda site, item: site.remote.work.suspend_run(parking(item, sleeping(item, due_for=HOUR, input_hash=HASH))),
    ),
    "Suspend: a child": Case(RUNNING, lambda site, item: site.remote.work.suspend_run(parking(item, child_of(item)))),
    "Suspend: not parked": Case(
        RUNNING, lambda site, item: site.remote.work.suspend_run(parking(item, child_of(item), park=False))
    ),
    "FailStep": Case(RUNNING, raw(WORK, "FailStep", Suspended, fail_one)),
    "Sleep": Case(RUNNING, raw(WORK, "Sleep", Suspended, sleep_one)),
    "Wait": Case(RUNNING, raw(WORK, "Wait", Suspended, wait_one)),
    "FinishRuns": Case(RUNNING, lambda site, item: _awaited(site.remote.work.finish_run(finishing(item)))),
    "CompleteRun": Case(RUNNING, raw(WORK, "CompleteRun", of.Written, complete_run)),
    "FailRun": Case(RUNNING, raw(WORK, "FailRun", of.Written, fail_run)),
    "HoldRun": Case(RUNNING, lambda site, item: site.remote.work.hold_run(holding(item))),
    "ReleaseRun": Case(RUNNING, lambda site, item: site.remote.work.release_run(held(item, delay_for=HOUR))),
    "RenewClaim": Case(RUNNING, lambda site, item: site.remote.work.renew_claim(held(item, visibility_for=HOUR))),
    "RenewClaims": Case(RUNNING, lambda site, item: site.remote.work.renew_claims(renewing(item))),
    "SendToChild": Case(parent, send_to_child),
    "CancelChild": Case(parent, cancel_child),
    "CancelChild: a graph that cleans up": Case(child_graph, cancel_child),
    "AddJobs": Case(RUNNING, lambda site, item: site.remote.work.add_jobs(opening(item))),
    "AddJobs: of a generator": Case(job("shards"), lambda site, item: site.remote.work.add_jobs(expanding(item))),
    "AddJobs: none": Case(
        job("shards"), lambda site, item: site.remote.work.add_jobs(replace(expanding(item), jobs=()))
    ),
    "AddJobs: that cannot be": Case(
        job("shards"), lambda site, item: site.remote.work.add_jobs(going_in_circles(item))
    ),
    "FinishRuns: a job": Case(job("lint"), lambda site, item: _awaited(site.remote.work.finish_run(finishing(item)))),
    "CompleteRun: a job": Case(job("lint"), raw(WORK, "CompleteRun", of.Written, complete_run)),
    "FailRun: a job that others need": Case(job("lint"), raw(WORK, "FailRun", of.Written, fail_run)),
    # ScheduleService
    "Declare": Case(nothing, declare),
    "PutSchedule": Case(nothing, lambda site, _: site.remote.schedules.put_schedule(putting(input_hash=HASH))),
    "PutSchedule: changed": Case(
        scheduled,
        lambda site, _: site.remote.schedules.put_schedule(
            putting(input_hash=HASH, cron="0 9 * * *", may_replace=True)
        ),
    ),
    "PauseSchedule": Case(
        scheduled,
        lambda site, _: site.remote.schedules.pause_schedule(
            PauseSchedule(namespace=NAMESPACE, name="nightly", by=ANN)
        ),
    ),
    "ResumeSchedule": Case(
        schedule_paused,
        lambda site, _: site.remote.schedules.resume_schedule(ResumeSchedule(namespace=NAMESPACE, name="nightly")),
    ),
    "TriggerSchedule": Case(
        scheduled,
        lambda site, _: site.remote.schedules.trigger_schedule(TriggerSchedule(namespace=NAMESPACE, name="nightly")),
    ),
    "DeleteSchedule": Case(
        scheduled,
        lambda site, _: site.remote.schedules.delete_schedule(DeleteSchedule(namespace=NAMESPACE, name="nightly")),
    ),
    # PipelineService, and what workers ask about pipelines
    **{name: Case(*case) for name, case in PIPELINE_CASES.items()},
    # SignalService
    **{name: Case(*case) for name, case in SIGNAL_CASES.items()},
    # NamespaceService
    "CreateNamespace": Case(nothing, lambda site, _: site.remote.namespaces.create_namespace(making())),
    "DisableNamespace": Case(
        other_namespace, lambda site, _: site.remote.namespaces.set_enabled("acme", is_enabled=False)
    ),
    "EnableNamespace": Case(
        disabled_namespace, lambda site, _: site.remote.namespaces.set_enabled("acme", is_enabled=True)
    ),
    "DeleteNamespace": Case(disabled_namespace, lambda site, _: site.remote.namespaces.delete_namespace("acme")),
    "CreateKey": Case(nothing, lambda site, _: site.remote.access.create_key(creating(5))),
    "RevokeKey": Case(with_key, lambda site, _: site.remote.access.revoke_key(key_id(5), by=ANN)),
    # AdminService
    "DrainWorker": Case(registered, lambda site, _: site.remote.control.drain_worker(NAMESPACE, WORKER, ANN)),
    "SetGate": Case(
        PENDING,
        lambda site, _: site.remote.control.set_gate(
            SetGate(namespace=NAMESPACE, kind=GateKind.QUEUE, name="billing", is_paused=True, by=ANN)
        ),
    ),
    "MoveCursor": Case(with_cursor, lambda site, _: site.remote.control.move_cursor(NAMESPACE, "mirror", 2)),
    "DropCursor": Case(with_cursor, lambda site, _: site.remote.control.drop_cursor(NAMESPACE, "mirror")),
}


async def _awaited(answer: Any) -> Any:
    return await answer

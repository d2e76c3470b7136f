"""Routes for those who start runs and look at them."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.api.checks import check
from windlass.api.lanes import KnownLanes
from windlass.errors import InvalidInput, NotFound
from windlass.model.commands import Started, StartRun
from windlass.model.duration import to_duration, to_instant
from windlass.model.page import ListRuns
from windlass.model.run import RunId
from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Served
from windlass.rules.limits import check_key, check_name
from windlass.server.http import asked, telling, told
from windlass.server.http.calls import NAMESPACE, Call, Row
from windlass.server.http.errors import detail_of

RUNS = f"{NAMESPACE}/runs"
RUN = f"{RUNS}/{{run_id}}"


async def start_run(call: Call) -> told.StartedAnswer:
    (outcome,) = await call.site.starts.start([await _command(call, call.body, call.site.lanes)], allow_unknown=True)
    if isinstance(outcome, Exception):
        raise outcome
    return told.StartedAnswer(run_id=outcome.run_id, is_repeat=outcome.is_repeat)


async def start_runs(call: Call) -> told.StartedManyAnswer:
    """All are checked before the first is stored."""
    commands, lanes = [], call.site.lanes.once()
    for position, wanted in enumerate(call.body.runs):
        try:
            commands.append(await _command(call, wanted, lanes))
        except InvalidInput as error:
            path = f"runs[{position}].{error.path}" if error.path else f"runs[{position}]"
            raise InvalidInput(f"runs[{position}]: {error}", reason=error.reason, path=path) from None
        except NotFound as error:
            hint = f"It stands in runs[{position}]; nothing was started."
            raise NotFound(error.kind, error.name, close=error.close, hint=hint) from None
    answers = await call.site.starts.start(commands, allow_unknown=True)  # which was looked at already
    return told.StartedManyAnswer(results=[_item(call, answer) for answer in answers])


async def _command(call: Call, wanted: asked.StartRequest, lanes: KnownLanes) -> StartRun:
    name = check_name(wanted.workflow, what="workflow")
    place = Served(wanted.queue or "", name, wanted.version or "")
    if wanted.queue is None or wanted.version is None:
        place = await lanes.place(call.namespace, name, queue=wanted.queue, version=wanted.version)
    data, hashed = _encoded(call, wanted.args)
    command = check(
        StartRun(
            namespace=call.namespace,
            name=name,
            version=place.version,
            queue=place.queue,
            priority=wanted.priority,
            input=data,
            input_hash=hashed,
            key=wanted.key,
            delay_for=None if wanted.delay_secs is None else to_duration(wanted.delay_secs, what="delay_secs"),
            at=None if wanted.at is None else to_instant(wanted.at, what="at"),
            timeout_for=_span(wanted.timeout_secs, what="timeout_secs"),
            run_id=None if wanted.run_id is None else RunId(wanted.run_id),
        )
    )
    if not wanted.allow_unknown:
        await lanes.check(command)
    return command


def _encoded(call: Call, args: Sequence[object]) -> tuple[bytes, bytes]:
    try:
        return call.site.codec.encode_hashed(tuple(args))
    except InvalidInput as error:
        raise InvalidInput(f"args: {error}", reason=error.reason, path=error.path.replace("$", "args", 1)) from None


def _span(seconds: float | None, *, what: str) -> Duration | None:
    return None if seconds is None else to_duration(seconds, what=what, allow_zero=False)


def _item(call: Call, answer: Started | Exception) -> told.StartedItem:
    if isinstance(answer, Started):
        return told.StartedItem(run_id=answer.run_id, is_repeat=answer.is_repeat)
    return told.StartedItem(error=detail_of(answer, request_id=call.caller.request_id))


async def get_run(call: Call) -> told.RunDetail:
    return telling.view(await call.service.runs.get_run(call.namespace, call.run_id))


async def find_run(call: Call) -> told.RunDetail:
    key = check_key(call.query.key)
    return telling.view(await call.service.runs.find_run(call.namespace, key))


async def list_runs(call: Call) -> told.RunsAnswer:
    query = call.query
    command = check(
        ListRuns(
            namespace=call.namespace,
            status=query.status,
            name=query.workflow,
            queue=query.queue,
            created_after=None if query.created_after is None else to_instant(query.created_after),
            parent=query.parent,
            schedule=query.schedule,
            before=query.before,
            limit=query.limit,
        )
    )
    page = await call.service.runs.list_runs(command)
    return told.RunsAnswer(runs=[telling.run(run) for run in page.runs], next=page.next)


async def list_steps(call: Call) -> told.StepsAnswer:
    run_id = await _existing(call)
    steps = await call.service.runs.list_steps(call.namespace, run_id)
    return told.StepsAnswer(steps=[telling.step(step) for step in steps])


async def read_log(call: Call) -> told.LogAnswer:
    run_id = await _existing(call)
    entries = await call.service.runs.read_log(call.namespace, run_id)
    return told.LogAnswer(entries=[telling.entry(entry) for entry in entries])


async def list_messages(call: Call) -> told.MessagesAnswer:
    run_id = await _existing(call)
    messages = await call.service.runs.list_messages(call.namespace, run_id)
    return told.MessagesAnswer(messages=[telling.message(message) for message in messages])


async def _existing(call: Call) -> RunId:
    """Raises NotFound: a list of nothing would say that there is a run."""
    return (await call.service.runs.get_run(call.namespace, call.run_id)).run.id


async def explain_run(call: Call) -> told.ExplanationAnswer:
    return telling.explanation(await call.service.runs.explain_run(call.namespace, call.run_id))


async def wait_for_result(call: Call) -> told.ResultAnswer:
    """Answers at once if the run is over or held, else after `wait_secs`, or when the server is about to stop."""
    runs, wait_for = call.service.runs, Duration(int(call.query.wait_secs * SECOND))
    waiting = runs.wait_for_result(call.namespace, call.run_id, wait_for)
    outcome = await call.site.unless_stopping(waiting, call.caller if wait_for else None)
    if outcome is None:
        outcome = await runs.wait_for_result(call.namespace, call.run_id, Duration(0))
    return told.ResultAnswer(
        status=outcome.status,
        is_final=outcome.status.is_terminal,
        output=telling.payload(outcome.output),
        failure=telling.failure(outcome.failure),
    )


async def list_workers(call: Call) -> told.WorkersAnswer:
    since = call.query.stopped_since
    workers = await call.service.runs.list_workers(call.namespace, None if since is None else to_instant(since))
    now = Instant(call.site.clock.now())
    return told.WorkersAnswer(workers=[telling.worker(worker, now=now) for worker in workers])


async def list_queues(call: Call) -> told.QueuesAnswer:
    queues = await call.service.runs.list_queues(call.namespace)
    return told.QueuesAnswer(queues=[telling.queue(queue) for queue in queues])


ROWS = (
    Row(
        method="POST",
        path=RUNS,
        operation="start_runs",
        id="start_run",
        summary="Start a run. The same key with the same arguments is the same run.",
        handler=start_run,
        body=asked.StartRequest,
        answer=told.StartedAnswer,
    ),
    Row(
        method="POST",
        path=f"{RUNS}/batch",
        operation="start_runs",
        summary="Start up to 1,000 runs. All are checked before the first is stored; then each stands for itself.",
        handler=start_runs,
        body=asked.StartManyRequest,
        answer=told.StartedManyAnswer,
    ),
    Row(
        method="GET",
        path=RUNS,
        operation="list_runs",
        op="runs.list",
        summary="List runs, the newest first, page by page.",
        handler=list_runs,
        query=asked.RunsQuery,
        answer=told.RunsAnswer,
    ),
    Row(
        method="GET",
        path=f"{RUNS}/by-key",
        operation="find_run",
        op="runs.find",
        summary="The run that a start key belongs to.",
        handler=find_run,
        query=asked.KeyQuery,
        answer=told.RunDetail,
    ),
    Row(
        method="GET",
        path=RUN,
        operation="get_run",
        op="runs.get",
        summary="A run with its payloads.",
        handler=get_run,
        answer=told.RunDetail,
    ),
    Row(
        method="GET",
        path=f"{RUN}/steps",
        operation="list_steps",
        op="runs.steps",
        summary="Every attempt of every step, in the order they began.",
        handler=list_steps,
        answer=told.StepsAnswer,
    ),
    Row(
        method="GET",
        path=f"{RUN}/log",
        operation="read_log",
        op="runs.log",
        summary="Every change of its status, the oldest first.",
        handler=read_log,
        answer=told.LogAnswer,
    ),
    Row(
        method="GET",
        path=f"{RUN}/messages",
        operation="list_messages",
        op="runs.messages",
        summary="What was sent to it, received or not.",
        handler=list_messages,
        answer=told.MessagesAnswer,
    ),
    Row(
        method="GET",
        path=f"{RUN}/explanation",
        operation="explain_run",
        op="runs.explain",
        summary="Why it is not running, or who executes it.",
        handler=explain_run,
        answer=told.ExplanationAnswer,
    ),
    Row(
        method="GET",
        path=f"{RUN}/result",
        operation="wait_for_result",
        op="runs.result",
        summary="Wait up to `wait_secs` until it is over or held; then where it stands.",
        handler=wait_for_result,
        query=asked.WaitQuery,
        answer=told.ResultAnswer,
    ),
    Row(
        method="GET",
        path=f"{NAMESPACE}/workers",
        operation="list_workers",
        op="workers.list",
        summary="Workers that have not stopped; with `stopped_since` those too that have since then.",
        handler=list_workers,
        query=asked.WorkersQuery,
        answer=told.WorkersAnswer,
    ),
    Row(
        method="GET",
        path=f"{NAMESPACE}/queues",
        operation="list_queues",
        op="queues.list",
        summary="Every queue that holds something, is served, is paused or was at work just now.",
        handler=list_queues,
        answer=told.QueuesAnswer,
    ),
)

"""Routes for those who say when runs are started."""

from __future__ import annotations

from windlass.api.checks import check
from windlass.errors import InvalidInput
from windlass.model.duration import to_duration
from windlass.model.run import RunId
from windlass.model.schedule import Timing
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.rules.limits import check_name
from windlass.rules.schedule_limits import check_timing
from windlass.server.http import asked, telling, told
from windlass.server.http.calls import NAMESPACE, Call, Row

SCHEDULES = f"{NAMESPACE}/schedules"
SCHEDULE = f"{SCHEDULES}/{{name}}"


async def create_schedule(call: Call) -> told.ScheduleDetail:
    command = _command(call, call.body, name=call.body.name, by=call.body.by)
    return telling.schedule(await call.service.schedules.put_schedule(command))


async def put_schedule(call: Call) -> told.ScheduleDetail:
    command = _command(call, call.body, name=_name(call), by=call.body.by, may_replace=True)
    return telling.schedule(await call.service.schedules.put_schedule(command))


async def declare(call: Call) -> told.DoneAnswer:
    wanted: asked.DeclareRequest = call.body
    kept = {
        check_name(name, what="workflow name"): None if keep is None else to_duration(keep, what="keep_secs")
        for name, keep in wanted.keep_secs.items()
    }
    command = Declare(
        namespace=call.namespace,
        program=wanted.program,
        schedules=tuple(_command(call, item, name=item.name) for item in wanted.schedules),
        kept=kept,
    )
    await call.service.schedules.declare(check(command))
    return told.DoneAnswer(is_done=True)


def _command(
    call: Call, wanted: asked.ScheduleBody, *, name: str, by: str | None = None, may_replace: bool = False
) -> PutSchedule:
    every, timeout = wanted.every_secs, wanted.timeout_secs
    timing = Timing(
        cron=wanted.cron, every=None if every is None else to_duration(every, what="every_secs"), tz=wanted.tz
    )
    try:
        data, hashed = call.site.codec.encode_hashed(tuple(wanted.args))
    except InvalidInput as error:
        raise InvalidInput(f"args: {error}", reason=error.reason, path=error.path.replace("$", "args", 1)) from None
    command = PutSchedule(
        namespace=call.namespace,
        name=name,
        workflow=wanted.workflow,
        version=wanted.version,
        queue=wanted.queue,
        input=data,
        input_hash=hashed,
        timeout_for=None if timeout is None else to_duration(timeout, what="timeout_secs", allow_zero=False),
        timing=check_timing(timing),
        catch_up=wanted.catch_up,
        max_catch_up=wanted.max_catch_up,
        overlap=wanted.overlap,
        jitter=to_duration(wanted.jitter_secs, what="jitter_secs"),
        may_replace=may_replace,
        by=by,
    )
    return check(command)


async def get_schedule(call: Call) -> told.ScheduleDetail:
    return telling.schedule(await call.service.schedules.get_schedule(call.namespace, _name(call)))


async def list_schedules(call: Call) -> told.SchedulesAnswer:
    views = await call.service.schedules.list_schedules(call.namespace)
    return told.SchedulesAnswer(schedules=[telling.schedule(view) for view in views])


async def read_schedule_log(call: Call) -> told.LogAnswer:
    entries = await call.service.schedules.read_schedule_log(call.namespace, _name(call))
    return told.LogAnswer(entries=[telling.entry(entry) for entry in entries])


async def pause_schedule(call: Call) -> told.ScheduleDetail:
    command = PauseSchedule(namespace=call.namespace, name=_name(call), by=call.body.by, note=call.body.note)
    return telling.schedule(await call.service.schedules.pause_schedule(check(command)))


async def resume_schedule(call: Call) -> told.ScheduleDetail:
    command = ResumeSchedule(namespace=call.namespace, name=_name(call), backfill=call.body.backfill, by=call.body.by)
    return telling.schedule(await call.service.schedules.resume_schedule(check(command)))


async def trigger_schedule(call: Call) -> told.StartedAnswer:
    run_id = None if call.body.run_id is None else RunId(call.body.run_id)
    command = TriggerSchedule(namespace=call.namespace, name=_name(call), by=call.body.by, run_id=run_id)
    started = await call.service.schedules.trigger_schedule(check(command))
    return told.StartedAnswer(run_id=started.run_id, is_repeat=started.is_repeat)


async def delete_schedule(call: Call) -> told.DoneAnswer:
    command = DeleteSchedule(namespace=call.namespace, name=_name(call), by=call.query.by)
    await call.service.schedules.delete_schedule(check(command))
    return told.DoneAnswer(is_done=True)


def _name(call: Call) -> str:
    return check_name(call.path["name"], what="schedule name")


ROWS = (
    Row(
        method="GET",
        path=SCHEDULES,
        operation="list_schedules",
        op="schedules.list",
        summary="All schedules, by name.",
        handler=list_schedules,
        answer=told.SchedulesAnswer,
    ),
    Row(
        method="POST",
        path=SCHEDULES,
        operation="put_schedule",
        id="create_schedule",
        summary="Make a schedule. One of that name and another definition is refused.",
        handler=create_schedule,
        body=asked.NewScheduleRequest,
        answer=told.ScheduleDetail,
    ),
    Row(
        method="GET",
        path=SCHEDULE,
        operation="get_schedule",
        op="schedules.get",
        summary="A schedule, its next times and the runs of it that are not over.",
        handler=get_schedule,
        answer=told.ScheduleDetail,
    ),
    Row(
        method="PUT",
        path=SCHEDULE,
        operation="put_schedule",
        summary="Make or change a schedule.",
        handler=put_schedule,
        body=asked.ScheduleRequest,
        answer=told.ScheduleDetail,
    ),
    Row(
        method="DELETE",
        path=SCHEDULE,
        operation="delete_schedule",
        summary="Forget a schedule. Its runs stay.",
        handler=delete_schedule,
        query=asked.PersonQuery,
        answer=told.DoneAnswer,
    ),
    Row(
        method="GET",
        path=f"{SCHEDULE}/log",
        operation="read_schedule_log",
        op="schedules.log",
        summary="What became of its definition and its status, also of one that is deleted.",
        handler=read_schedule_log,
        answer=told.LogAnswer,
    ),
    Row(
        method="POST",
        path=f"{SCHEDULE}/pause",
        operation="pause_schedule",
        summary="Fire no slot until it is resumed. What was started goes on.",
        handler=pause_schedule,
        body=asked.DeedRequest,
        answer=told.ScheduleDetail,
    ),
    Row(
        method="POST",
        path=f"{SCHEDULE}/resume",
        operation="resume_schedule",
        summary="Go on with the next slot.",
        handler=resume_schedule,
        body=asked.ResumeScheduleRequest,
        answer=told.ScheduleDetail,
    ),
    Row(
        method="POST",
        path=f"{SCHEDULE}/trigger",
        operation="trigger_schedule",
        summary="Start a run of it now, also while it is paused.",
        handler=trigger_schedule,
        body=asked.TriggerRequest,
        answer=told.StartedAnswer,
    ),
    Row(
        method="PUT",
        path=f"{NAMESPACE}/declarations",
        operation="declare",
        summary="Enter what the code of a program says: its schedules, and how long ended runs are kept.",
        handler=declare,
        body=asked.DeclareRequest,
        answer=told.DoneAnswer,
    ),
)

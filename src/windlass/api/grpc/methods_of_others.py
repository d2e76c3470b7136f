"""ScheduleService, NamespaceService and AdminService: how each of their calls is answered."""

from __future__ import annotations

from importlib.metadata import version

from msgspec.structs import replace

from windlass.api.checks import check, check_cursor_name, check_page
from windlass.api.grpc import envelopes as of
from windlass.api.grpc.table import SERVICES, Call, Row, page
from windlass.api.starts import hash_of_arguments
from windlass.model.access import AuditPage, CreateKey, Key, ListAudit
from windlass.model.checkup import Checkup
from windlass.model.commands import SetGate, Started
from windlass.model.feed import FeedPage, ReadFeed
from windlass.model.gate import Gate
from windlass.model.namespace import CreateNamespace, Namespace, NamespacePage
from windlass.model.schedule import ScheduleView
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.model.worker import Worker
from windlass.rules.limits import check_key_id, check_limit, check_name, check_person, check_run_id, check_worker_id

DEFAULT_PAGE = 100
LAST_SEQ = 2**63 - 1
API_VERSION = "v1"

# Schedules


async def _declare(call: Call, asked: Declare) -> of.Nothing:
    await call.service.schedules.declare(check(asked))
    return of.Nothing()


async def _put_schedule(call: Call, asked: PutSchedule) -> ScheduleView:
    if not asked.input_hash:
        asked = replace(asked, input_hash=hash_of_arguments(asked.input))
    return await call.service.schedules.put_schedule(check(asked))


async def _get_schedule(call: Call, asked: of.OfSchedule) -> ScheduleView:
    return await call.service.schedules.get_schedule(asked.namespace, check_name(asked.name, what="schedule"))


async def _list_schedules(call: Call, asked: of.ListSchedules) -> of.ScheduleViews:
    found = await call.service.schedules.list_schedules(asked.namespace)
    left = [view for view in found if asked.after is None or view.schedule.name > asked.after]
    schedules, has_more = page(left, lambda view: len(view.schedule.input) + 1_000)
    return of.ScheduleViews(schedules=schedules, has_more=has_more)


async def _read_schedule_log(call: Call, asked: of.OfScheduleAfter) -> of.LogEntries:
    found = await call.service.schedules.read_schedule_log(asked.namespace, check_name(asked.name, what="schedule"))
    entries, has_more = page([entry for entry in found if entry.seq > asked.after], lambda entry: 500)
    return of.LogEntries(entries=entries, has_more=has_more)


async def _pause_schedule(call: Call, asked: PauseSchedule) -> ScheduleView:
    return await call.service.schedules.pause_schedule(check(asked))


async def _resume_schedule(call: Call, asked: ResumeSchedule) -> ScheduleView:
    return await call.service.schedules.resume_schedule(check(asked))


async def _trigger_schedule(call: Call, asked: TriggerSchedule) -> Started:
    if asked.run_id is not None:
        check_run_id(asked.run_id)
    return await call.service.schedules.trigger_schedule(check(asked))


async def _delete_schedule(call: Call, asked: DeleteSchedule) -> of.Nothing:
    await call.service.schedules.delete_schedule(check(asked))
    return of.Nothing()


# Tenants and keys


async def _create_namespace(call: Call, asked: CreateNamespace) -> Namespace:
    return await call.service.namespaces.create_namespace(check(asked))


async def _get_namespace(call: Call, asked: of.OfNamespace) -> Namespace:
    return await call.service.namespaces.get_namespace(asked.namespace)


async def _list_namespaces(call: Call, asked: of.ListNamespaces) -> NamespacePage:
    return await call.service.namespaces.list_namespaces(asked.after, check_page(asked.limit or DEFAULT_PAGE))


async def _disable_namespace(call: Call, asked: of.OfNamespace) -> Namespace:
    return await call.service.namespaces.set_enabled(asked.namespace, is_enabled=False)


async def _enable_namespace(call: Call, asked: of.OfNamespace) -> Namespace:
    return await call.service.namespaces.set_enabled(asked.namespace, is_enabled=True)


async def _delete_namespace(call: Call, asked: of.OfNamespace) -> of.Nothing:
    await call.service.namespaces.delete_namespace(asked.namespace)
    return of.Nothing()


async def _create_key(call: Call, asked: CreateKey) -> Key:
    return await call.service.access.create_key(check(asked))


async def _list_keys(call: Call, asked: of.ListKeys) -> of.Keys:
    return of.Keys(keys=await call.service.access.list_keys(asked.namespace))


async def _revoke_key(call: Call, asked: of.RevokeKey) -> Key:
    return await call.service.access.revoke_key(check_key_id(asked.id), check_person(asked.by))


async def _list_audit(call: Call, asked: ListAudit) -> AuditPage:
    return await call.service.access.list_audit(check(asked if asked.limit else replace(asked, limit=DEFAULT_PAGE)))


# The rest


async def _get_server_info(call: Call, asked: of.Nothing) -> of.ServerInfo:
    return of.ServerInfo(version=version("windlass"), api_version=API_VERSION, features=tuple(sorted(SERVICES)))


async def _list_workers(call: Call, asked: of.ListWorkers) -> of.WorkerViews:
    return of.WorkerViews(workers=await call.service.runs.list_workers(asked.namespace, asked.stopped_since))


async def _drain_worker(call: Call, asked: of.DrainWorker) -> Worker:
    id = check_worker_id(asked.id)
    return await call.service.control.drain_worker(asked.namespace, type(asked.id)(id), check_person(asked.by))


async def _list_queues(call: Call, asked: of.OfNamespace) -> of.Queues:
    return of.Queues(queues=await call.service.runs.list_queues(asked.namespace))


async def _set_gate(call: Call, asked: SetGate) -> Gate:
    return await call.service.control.set_gate(check(asked))


async def _list_gates(call: Call, asked: of.OfNamespace) -> of.Gates:
    return of.Gates(gates=await call.service.control.list_gates(asked.namespace))


async def _read_feed(call: Call, asked: ReadFeed) -> FeedPage:
    return await call.service.feed.read_feed(check(asked if asked.limit else replace(asked, limit=DEFAULT_PAGE)))


async def _move_cursor(call: Call, asked: of.MoveCursor) -> of.Moved:
    check_limit(asked.seq, what="seq", low=0, high=LAST_SEQ)
    name = check_cursor_name(asked.name)
    return of.Moved(seq=await call.service.control.move_cursor(asked.namespace, name, asked.seq))


async def _drop_cursor(call: Call, asked: of.OfCursor) -> of.Dropped:
    name = check_cursor_name(asked.name)
    return of.Dropped(is_dropped=await call.service.control.drop_cursor(asked.namespace, name))


async def _check_up(call: Call, asked: of.Nothing) -> Checkup:
    return await call.service.admin.check_up()


SCHEDULES, NAMESPACES, ADMIN = "ScheduleService", "NamespaceService", "AdminService"
ROWS = [
    Row(SCHEDULES, "Declare", "declare", Declare, of.Nothing, _declare),
    Row(SCHEDULES, "PutSchedule", "put_schedule", PutSchedule, ScheduleView, _put_schedule),
    Row(SCHEDULES, "GetSchedule", "get_schedule", of.OfSchedule, ScheduleView, _get_schedule),
    Row(SCHEDULES, "ListSchedules", "list_schedules", of.ListSchedules, of.ScheduleViews, _list_schedules),
    Row(SCHEDULES, "ReadScheduleLog", "read_schedule_log", of.OfScheduleAfter, of.LogEntries, _read_schedule_log),
    Row(SCHEDULES, "PauseSchedule", "pause_schedule", PauseSchedule, ScheduleView, _pause_schedule),
    Row(SCHEDULES, "ResumeSchedule", "resume_schedule", ResumeSchedule, ScheduleView, _resume_schedule),
    Row(SCHEDULES, "TriggerSchedule", "trigger_schedule", TriggerSchedule, Started, _trigger_schedule),
    Row(SCHEDULES, "DeleteSchedule", "delete_schedule", DeleteSchedule, of.Nothing, _delete_schedule),
    Row(NAMESPACES, "CreateNamespace", "create_namespace", CreateNamespace, Namespace, _create_namespace),
    Row(NAMESPACES, "GetNamespace", "get_namespace", of.OfNamespace, Namespace, _get_namespace),
    Row(NAMESPACES, "ListNamespaces", "list_namespaces", of.ListNamespaces, NamespacePage, _list_namespaces),
    Row(NAMESPACES, "DisableNamespace", "set_enabled", of.OfNamespace, Namespace, _disable_namespace),
    Row(NAMESPACES, "EnableNamespace", "set_enabled", of.OfNamespace, Namespace, _enable_namespace),
    Row(NAMESPACES, "DeleteNamespace", "delete_namespace", of.OfNamespace, of.Nothing, _delete_namespace),
    Row(NAMESPACES, "CreateKey", "create_key", CreateKey, Key, _create_key),
    Row(NAMESPACES, "ListKeys", "list_keys", of.ListKeys, of.Keys, _list_keys),
    Row(NAMESPACES, "RevokeKey", "revoke_key", of.RevokeKey, Key, _revoke_key),
    Row(NAMESPACES, "ListAudit", "list_audit", ListAudit, AuditPage, _list_audit),
    Row(ADMIN, "GetServerInfo", "server_info", of.Nothing, of.ServerInfo, _get_server_info),
    Row(ADMIN, "ListWorkers", "list_workers", of.ListWorkers, of.WorkerViews, _list_workers),
    Row(ADMIN, "DrainWorker", "drain_worker", of.DrainWorker, Worker, _drain_worker),
    Row(ADMIN, "ListQueues", "list_queues", of.OfNamespace, of.Queues, _list_queues),
    Row(ADMIN, "SetGate", "set_gate", SetGate, Gate, _set_gate),
    Row(ADMIN, "ListGates", "list_gates", of.OfNamespace, of.Gates, _list_gates),
    Row(ADMIN, "ReadFeed", "read_feed", ReadFeed, FeedPage, _read_feed),
    Row(ADMIN, "FollowFeed", "read_feed", ReadFeed, FeedPage, _read_feed),
    Row(ADMIN, "MoveCursor", "move_cursor", of.MoveCursor, of.Moved, _move_cursor),
    Row(ADMIN, "DropCursor", "drop_cursor", of.OfCursor, of.Dropped, _drop_cursor),
    Row(ADMIN, "CheckUp", "check_up", of.Nothing, Checkup, _check_up),
]

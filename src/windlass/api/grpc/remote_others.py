"""The doors Schedules, Feed, Namespaces, Access and Admin, at the other end of the wire."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.api.grpc import envelopes as of
from windlass.api.grpc.asking import Asker, not_repeated
from windlass.api.grpc.channel import Channel
from windlass.errors import NotAllowed
from windlass.model.access import AuditPage, CreateKey, Key, ListAudit
from windlass.model.checkup import Checkup
from windlass.model.commands import Started
from windlass.model.feed import FeedPage, ReadFeed
from windlass.model.namespace import CreateNamespace, Namespace, NamespacePage
from windlass.model.run import LogEntry, RunId
from windlass.model.schedule import ScheduleView
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.model.time import MILLISECOND, Duration
from windlass.runtime import Clock, Ids

LOOK_EVERY = Duration(500 * MILLISECOND)


class RemoteSchedules:
    def __init__(self, channel: Channel, *, ids: Ids) -> None:
        self._asker, self._ids = Asker(channel, "ScheduleService"), ids

    async def declare(self, command: Declare) -> None:
        await self._asker.ask("Declare", command, of.Nothing)

    async def put_schedule(self, command: PutSchedule) -> ScheduleView:
        found: ScheduleView = await self._asker.ask("PutSchedule", command, ScheduleView)
        return found

    async def get_schedule(self, namespace: str, name: str) -> ScheduleView:
        asked = of.OfSchedule(namespace=namespace, name=name)
        found: ScheduleView = await self._asker.ask("GetSchedule", asked, ScheduleView)
        return found

    async def list_schedules(self, namespace: str) -> tuple[ScheduleView, ...]:
        found: list[ScheduleView] = []
        while True:
            asked = of.ListSchedules(namespace=namespace, after=found[-1].schedule.name if found else None)
            part: of.ScheduleViews = await self._asker.ask("ListSchedules", asked, of.ScheduleViews)
            found.extend(part.schedules)
            if not part.has_more:
                return tuple(found)

    async def read_schedule_log(self, namespace: str, name: str) -> tuple[LogEntry, ...]:
        found: list[LogEntry] = []
        while True:
            asked = of.OfScheduleAfter(namespace=namespace, name=name, after=found[-1].seq if found else 0)
            part: of.LogEntries = await self._asker.ask("ReadScheduleLog", asked, of.LogEntries)
            found.extend(part.entries)
            if not part.has_more:
                return tuple(found)

    async def pause_schedule(self, command: PauseSchedule) -> ScheduleView:
        found: ScheduleView = await self._asker.ask("PauseSchedule", command, ScheduleView)
        return found

    async def resume_schedule(self, command: ResumeSchedule) -> ScheduleView:
        found: ScheduleView = await self._asker.ask("ResumeSchedule", command, ScheduleView)
        return found

    async def trigger_schedule(self, command: TriggerSchedule) -> Started:
        # Chosen here: asked again after a lost answer, it is the same run.
        named = command if command.run_id is not None else replace(command, run_id=RunId(self._ids.run()))
        found: Started = await self._asker.ask("TriggerSchedule", named, Started, again=not_repeated)
        return found

    async def delete_schedule(self, command: DeleteSchedule) -> None:
        await self._asker.remove("DeleteSchedule", command)


class RemoteFeed:
    def __init__(self, channel: Channel, *, clock: Clock) -> None:
        self._asker, self._clock = Asker(channel, "AdminService"), clock

    async def read_feed(self, command: ReadFeed) -> FeedPage:
        found: FeedPage = await self._asker.ask("ReadFeed", command, FeedPage)
        return found

    async def wait_for_news(self, namespace: str, wait_for: Duration, cursor: str | None = None) -> None:
        """A server tells those who follow it in a stream; whoever asks page by page looks again soon."""
        await self._clock.sleep(min(wait_for, LOOK_EVERY))


class RemoteNamespaces:
    def __init__(self, channel: Channel) -> None:
        self._asker = Asker(channel, "NamespaceService")

    async def create_namespace(self, command: CreateNamespace) -> Namespace:
        found: Namespace = await self._asker.ask("CreateNamespace", command, Namespace)
        return found

    async def get_namespace(self, name: str) -> Namespace:
        found: Namespace = await self._asker.ask("GetNamespace", of.OfNamespace(namespace=name), Namespace)
        return found

    async def list_namespaces(self, after: str | None = None, limit: int = 100) -> NamespacePage:
        asked = of.ListNamespaces(after=after, limit=limit)
        found: NamespacePage = await self._asker.ask("ListNamespaces", asked, NamespacePage)
        return found

    async def set_enabled(self, name: str, *, is_enabled: bool) -> Namespace:
        method = "EnableNamespace" if is_enabled else "DisableNamespace"
        found: Namespace = await self._asker.ask(method, of.OfNamespace(namespace=name), Namespace)
        return found

    async def delete_namespace(self, name: str) -> None:
        await self._asker.remove("DeleteNamespace", of.OfNamespace(namespace=name))


class RemoteAccess:
    def __init__(self, channel: Channel) -> None:
        self._asker = Asker(channel, "NamespaceService")

    async def create_key(self, command: CreateKey) -> Key:
        found: Key = await self._asker.ask("CreateKey", command, Key)
        return found

    async def list_keys(self, namespace: str | None = None) -> tuple[Key, ...]:
        found: of.Keys = await self._asker.ask("ListKeys", of.ListKeys(namespace=namespace), of.Keys)
        return found.keys

    async def revoke_key(self, id: str, by: str | None = None) -> Key:
        found: Key = await self._asker.ask("RevokeKey", of.RevokeKey(id=id, by=by), Key)
        return found

    async def find_key(self, id: str) -> Key | None:
        raise NotAllowed("Only the gate of a server looks keys up, in its own database.")

    async def list_audit(self, query: ListAudit) -> AuditPage:
        found: AuditPage = await self._asker.ask("ListAudit", query, AuditPage)
        return found

    async def note_refusal(self, namespace: str, *, actor: str, action: str, reason: str, request_id: str) -> None:
        raise NotAllowed("Only the gate of a server turns callers away.")


class RemoteAdmin:
    def __init__(self, channel: Channel) -> None:
        self._asker = Asker(channel, "AdminService")

    async def check_up(self) -> Checkup:
        found: Checkup = await self._asker.ask("CheckUp", of.Nothing(), Checkup)
        return found

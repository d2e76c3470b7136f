"""Ask about signals: hold one that `app.when` has armed, and look at what they have fired."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.signal_service import Signals as Service
from windlass.client.handle import Door
from windlass.client.inside import refuse_inside_a_workflow
from windlass.client.items import member, readable, time_of
from windlass.codec import Codec
from windlass.define.signal import StateLike, read_states
from windlass.errors import AlreadyExists, InvalidInput
from windlass.model import signal as model
from windlass.model.duration import from_instant
from windlass.model.signal import (
    ActionKind,
    CreateSignal,
    DeleteSignal,
    FiringRow,
    FiringStatus,
    ListFirings,
    ListSignals,
    SignalId,
    SignalStatus,
    SignalVerb,
    SignalView,
    SteerSignal,
    UpdateSignal,
)
from windlass.rules.limits import check_flag, check_limit, check_note, check_person, check_signal_id
from windlass.rules.signal_words import does, watched

MOST_ROWS = 1_000
PAGE = 500

SignalStatusLike: TypeAlias = Literal["armed", "paused", "fired", "resolved", "cancelled"] | SignalStatus
FiringStatusLike: TypeAlias = Literal["queued", "running", "done", "failed", "superseded"] | FiringStatus
SubjectKind: TypeAlias = Literal["run", "item", "pipeline", "workflow", "time"]


class SignalInfo(Struct, frozen=True, kw_only=True):
    """A signal as it stands. `info.watches` and `info.does` say it in words."""

    id: str
    key: str | None
    watches: str  # "when run run_… enters failed", "every 1 h"
    does: str  # "start 'page'", "add the task 'Unblock it'"
    subject_kind: str  # "run", "item", "pipeline", "workflow" or "time"
    subject: str  # its id or name; "*": every work item
    enters: tuple[str, ...]
    repeats: bool
    status: SignalStatus
    reason: str | None  # why it is paused or resolved
    fired: int  # how often
    last_fired_at: datetime | None  # in UTC, as all times
    next_at: datetime | None  # of one that waits for a time
    payload: Any  # bytes, if this program cannot read it
    declared_in: str | None  # the program whose code declares it
    is_declared: bool  # does that program declare it now?
    created_at: datetime
    changed_at: datetime


class FiringInfo(Struct, frozen=True, kw_only=True):
    """That a signal has fired, and what became of it."""

    id: str
    signal_id: str
    subject_kind: str
    subject_id: str
    from_status: str | None
    to_status: str
    at: datetime  # when it happened, in UTC
    status: FiringStatus
    attempt: int
    error: str | None  # of the last attempt
    run_id: str | None  # of the run that it started, or sent to
    task_id: str | None  # of the task that it added
    created_at: datetime
    ended_at: datetime | None


class Signal:
    """A signal that is held: what `app.when` gives, and `app.signals.get`.

    Example: `signal = await app.when(handle, enters="failed", start=page); print(await signal.explain())`
    """

    def __init__(self, signals: Signals, signal_id: SignalId, *, already: bool = False) -> None:
        self._signals, self._id, self._already = signals, signal_id, already

    @property
    def id(self) -> str:
        """ "sig_" and 26 characters."""
        return self._id

    @property
    def already(self) -> bool:
        """Was the subject in one of the states when this was armed? That did not count, unless since="beginning"."""
        return self._already

    def __repr__(self) -> str:
        return f"Signal({self._id!r})"

    async def info(self) -> SignalInfo:
        """All about it."""
        return signal_info((await self._view("info")).signal, self._signals._codec)

    async def status(self) -> SignalStatus:
        """Where it stands now: "armed", "paused", "fired", "resolved" or "cancelled"."""
        return (await self._view("status")).signal.status

    async def explain(self) -> str:
        """Why it has not fired, or what became of it, in one paragraph; the same that `windlass explain` says."""
        service = await self._signals._asked("explain", "signal")
        return str(await service.explain_signal(self._signals._namespace, self._id))

    async def firings(self, *, status: FiringStatusLike | None = None, limit: int = 50) -> list[FiringInfo]:
        """What it has fired, the newest first."""
        service = await self._signals._asked("firings", "signal")
        return await listed_firings(service, self._signals._namespace, self._id, status=status, limit=limit)

    async def pause(self, *, by: str | None = None, note: str | None = None) -> None:
        """Do nothing until it is resumed. What happens meanwhile is kept, and done then."""
        await self._steer(SignalVerb.PAUSE, by, note)

    async def resume(self, *, by: str | None = None, note: str | None = None) -> None:
        """Let a paused one go on, arm one that has fired anew, and try what failed again."""
        await self._steer(SignalVerb.RESUME, by, note)

    async def cancel(self, *, by: str | None = None, note: str | None = None) -> None:
        """Call it off, for good. What it has fired and not done yet is not done."""
        await self._steer(SignalVerb.CANCEL, by, note)

    async def update(
        self,
        *,
        enters: StateLike | Collection[StateLike] | None = None,
        payload: Any = None,
        repeat: bool | None = None,
        by: str | None = None,
    ) -> bool:
        """Change what is given; the rest stays. False: it was so before. Raises WrongState if the signal is over."""
        service = await self._signals._asked("update", "signal", changes=True)
        view = await service.get_signal(self._signals._namespace, self._id)
        if payload is not None and view.signal.action.kind is ActionKind.SEND:
            text = "The payload of a signal that sends an event belongs to the event. Cancel it, and arm another one."
            raise InvalidInput(text, reason="invalid_option", path="payload")
        command = UpdateSignal(
            namespace=self._signals._namespace,
            signal_id=self._id,
            to=None if enters is None else read_states(view.signal.trigger.kind, enters),
            payload=None if payload is None else self._signals._codec.encode(payload),
            repeats=None if repeat is None else check_flag(repeat, what="repeat"),
            by=check_person(by),
        )
        return (await service.update_signal(command)).has_changed

    async def delete(self, *, by: str | None = None) -> None:
        """Forget it and its firings; what they did stays."""
        service = await self._signals._asked("delete", "signal", changes=True)
        namespace = self._signals._namespace
        await service.delete_signal(DeleteSignal(namespace=namespace, signal_id=self._id, by=check_person(by)))

    async def _view(self, verb: str) -> SignalView:
        service = await self._signals._asked(verb, "signal")
        return await service.get_signal(self._signals._namespace, self._id)

    async def _steer(self, verb: SignalVerb, by: str | None, note: str | None) -> None:
        service = await self._signals._asked(verb.value, "signal", changes=True)
        by, note = check_person(by), check_note(note)
        command = SteerSignal(namespace=self._signals._namespace, signal_id=self._id, verb=verb, by=by, note=note)
        await service.steer_signal(command)


class Signals:
    """`app.signals`: what `app.when` and `@app.on` have armed, and what that has fired. `app.sync.signals` blocks.

    Example: `for signal in await app.signals.list(status="paused"): print(signal.watches, signal.reason)`
    """

    def __init__(self, door: Door, service: Callable[[], Awaitable[Service]]) -> None:
        self._service, self._namespace, self._codec = service, door.namespace, door.codec
        self._to_change = door.to_change

    async def get(self, signal_id: str, /) -> Signal:
        """Hold one that was armed before. Raises NotFound."""
        service = await self._asked("get")
        view = await service.get_signal(self._namespace, SignalId(check_signal_id(signal_id)))
        return Signal(self, view.signal.id, already=view.already)

    async def list(
        self,
        *,
        subject_kind: SubjectKind | None = None,
        subject: str | None = None,
        status: SignalStatusLike | None = None,
        limit: int = 50,
    ) -> builtins.list[SignalInfo]:
        """The newest first; those on one subject by its kind and its id or name."""
        service = await self._asked("list")
        left, before = check_limit(limit, what="limit", low=1, high=MOST_ROWS), None
        found: builtins.list[SignalInfo] = []
        while left > len(found):
            query = ListSignals(
                namespace=self._namespace,
                subject_kind=subject_kind,
                subject=subject,
                status=None if status is None else member(SignalStatus, status, what="status"),
                before=before,
                limit=min(PAGE, left - len(found)),
            )
            page = await service.list_signals(query)
            found += [signal_info(signal, self._codec) for signal in page.signals]
            before = page.next
            if before is None:
                break
        return found

    async def firings(self, *, status: FiringStatusLike | None = None, limit: int = 50) -> builtins.list[FiringInfo]:
        """What all of them have fired, the newest first."""
        service = await self._asked("firings")
        return await listed_firings(service, self._namespace, None, status=status, limit=limit)

    async def _armed(self, command: CreateSignal) -> Signal:
        await self._to_change()
        service = await self._service()
        try:
            view = await service.create_signal(command)
        except AlreadyExists as error:
            if not self._codec.is_sealing or not error.owner:
                raise
            # What is sealed twice need not be the same bytes: only who can open it can tell.
            view = await service.get_signal(self._namespace, SignalId(error.owner))
            if not self._is_same(view.signal, command):
                raise
        return Signal(self, view.signal.id, already=view.already)

    def _is_same(self, known: model.Signal, asked: CreateSignal) -> bool:
        def definition(of: model.Signal | CreateSignal) -> tuple[object, ...]:
            content = (readable(of.payload, self._codec), readable(of.action.input, self._codec))
            return of.key, of.trigger, of.repeats, replace(of.action, input=None), *content

        return definition(known) == definition(asked)

    async def _asked(self, verb: str, holder: str = "app.signals", *, changes: bool = False) -> Service:
        refuse_inside_a_workflow(f"{verb} of a signal", verb=f"{holder}.{verb}()")
        if changes:
            await self._to_change()
        return await self._service()


async def listed_firings(
    service: Service, namespace: str, signal_id: SignalId | None, *, status: object, limit: int
) -> list[FiringInfo]:
    left, before = check_limit(limit, what="limit", low=1, high=MOST_ROWS), None
    found: list[FiringInfo] = []
    while left > len(found):
        query = ListFirings(
            namespace=namespace,
            signal_id=signal_id,
            status=None if status is None else member(FiringStatus, status, what="status"),
            before=before,
            limit=min(PAGE, left - len(found)),
        )
        page = await service.list_firings(query)
        found += map(_firing_info, page.firings)
        before = page.next
        if before is None:
            break
    return found


def signal_info(signal: model.Signal, codec: Codec) -> SignalInfo:
    return SignalInfo(
        id=signal.id,
        key=signal.key,
        watches=watched(signal),
        does=does(signal),
        subject_kind=signal.trigger.kind.subject_kind,
        subject=signal.trigger.subject,
        enters=signal.trigger.to,
        repeats=signal.repeats,
        status=signal.status,
        reason=signal.reason,
        fired=signal.fired,
        last_fired_at=time_of(signal.last_fired_at),
        next_at=time_of(signal.available_at),
        payload=readable(signal.payload, codec),
        declared_in=signal.declared_in,
        is_declared=signal.is_declared,
        created_at=from_instant(signal.created_at),
        changed_at=from_instant(signal.changed_at),
    )


def _firing_info(row: FiringRow) -> FiringInfo:
    return FiringInfo(
        id=row.id,
        signal_id=row.signal_id,
        subject_kind=row.subject_kind,
        subject_id=row.subject_id,
        from_status=row.from_status,
        to_status=row.to_status,
        at=from_instant(row.happened_at),
        status=row.status,
        attempt=row.attempt,
        error=row.error,
        run_id=row.run_id,
        task_id=row.task_id,
        created_at=from_instant(row.created_at),
        ended_at=time_of(row.ended_at),
    )

"""Signals: binds their operations to the door."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec.structs import replace

from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.engine.signal import create, declare, steer
from windlass.engine.signal.noting import SUBJECT
from windlass.model.explanation import Explanation
from windlass.model.item import ItemId
from windlass.model.run import LogEntry, RunId
from windlass.model.signal import (
    CreateSignal,
    DeclareSignals,
    DeleteSignal,
    FiringPage,
    FiringStatus,
    ListFirings,
    ListSignals,
    Signal,
    SignalId,
    SignalPage,
    SignalView,
    SteerSignal,
    UpdateSignal,
)
from windlass.rules.explain.signal import SignalFacts, explain_signal
from windlass.store.base import Tx

T = TypeVar("T")


class EngineSignals:
    """api.service.Signals, in process."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def create_signal(self, command: CreateSignal) -> SignalView:
        made = await create.create_signal(self._parts, command)
        return made if made.has_changed else await self._view(command.namespace, made.signal.id, has_changed=False)

    async def get_signal(self, namespace: str, signal_id: SignalId) -> SignalView:
        return await self._view(namespace, signal_id)

    async def list_signals(self, query: ListSignals) -> SignalPage:
        more = replace(query, limit=query.limit + 1)
        found = await self._read("list_signals", lambda tx: tx.signals.list(more))
        signals = tuple(found[: query.limit])
        return SignalPage(signals=signals, next=signals[-1].id if len(found) > query.limit else None)

    async def read_signal_log(self, namespace: str, signal_id: SignalId) -> tuple[LogEntry, ...]:
        found = await self._read("read_signal_log", lambda tx: tx.log.of_subject(namespace, kind=SUBJECT, id=signal_id))
        if not found:
            raise steer.no_signal(signal_id)
        return tuple(found)

    async def update_signal(self, command: UpdateSignal) -> SignalView:
        has_changed = await steer.update_signal(self._parts, command)
        return await self._view(command.namespace, command.signal_id, has_changed=has_changed)

    async def steer_signal(self, command: SteerSignal) -> SignalView:
        has_changed = await steer.steer_signal(self._parts, command)
        return await self._view(command.namespace, command.signal_id, has_changed=has_changed)

    async def delete_signal(self, command: DeleteSignal) -> None:
        await steer.delete_signal(self._parts, command)

    async def declare_signals(self, command: DeclareSignals) -> None:
        await declare.declare_signals(self._parts, command)

    async def list_firings(self, query: ListFirings) -> FiringPage:
        more = replace(query, limit=query.limit + 1)
        found = await self._read("list_firings", lambda tx: tx.firings.list(more))
        firings = tuple(found[: query.limit])
        last = firings[-1] if len(found) > query.limit else None
        return FiringPage(firings=firings, next=None if last is None else f"{last.created_at}:{last.id}")

    async def explain_signal(self, namespace: str, signal_id: SignalId) -> Explanation:
        return explain_signal(await self._read("explain_signal", lambda tx: _facts(tx, namespace, signal_id)))

    async def _view(self, namespace: str, signal_id: SignalId, *, has_changed: bool = True) -> SignalView:
        async def look(tx: Tx) -> SignalView:
            signal = await _load(tx, namespace, signal_id)
            queued, failed = await tx.firings.count(namespace, signal_id)
            state = await _state(tx, signal)
            # Had the subject entered it since, there would be a firing.
            already = state in signal.trigger.to and not (signal.fired or queued or failed)
            return SignalView(
                signal=signal, state=state, already=already, has_changed=has_changed, queued=queued, failed=failed
            )

        return await self._read("get_signal", look)

    async def _read(self, name: str, fn: Callable[[Tx], Awaitable[T]]) -> T:
        return await until_answered(self._parts.clock, lambda: self._parts.store.read(name, fn))


async def _load(tx: Tx, namespace: str, signal_id: SignalId) -> Signal:
    signal = await tx.signals.load(namespace, signal_id)
    if signal is None:
        raise steer.no_signal(signal_id)
    return signal


async def _state(tx: Tx, signal: Signal) -> str | None:
    """What its subject is in; none: it has none, or that is gone."""
    namespace, id = signal.namespace, signal.trigger.subject
    match signal.trigger.kind.subject_kind:
        case "run":
            run = await tx.runs.load(namespace, id=RunId(id))
            return None if run is None else run.status
        case "item":
            item = await tx.items.load(namespace, ItemId(id))
            return None if item is None else item.status
        case "pipeline":
            pipeline = await tx.pipelines.load(namespace, id)
            return None if pipeline is None else pipeline.status
    return None


async def _facts(tx: Tx, namespace: str, signal_id: SignalId) -> SignalFacts:
    signal = await _load(tx, namespace, signal_id)
    queued, failed = await tx.firings.count(namespace, signal_id)
    asked = ListFirings(namespace=namespace, signal_id=signal_id, limit=1)
    last = await tx.firings.list(replace(asked, status=FiringStatus.DONE))
    open = (
        []
        if not queued
        else [
            *await tx.firings.list(replace(asked, status=FiringStatus.RUNNING)),
            *await tx.firings.list(replace(asked, status=FiringStatus.QUEUED)),
        ]
    )
    is_run = signal.trigger.kind.subject_kind == "run"
    return SignalFacts(
        signal=signal,
        now=await tx.now(),
        state=await _state(tx, signal),
        retried_as=await tx.retries.of(namespace, run_id=RunId(signal.trigger.subject)) if is_run else None,
        queued=queued,
        failed=failed,
        last=last[0] if last else None,
        due=open[0] if open else None,
    )

"""api.service.Namespaces, in process.

A namespace needs no row to be used: code in this process starts runs in whichever it names, and one that is in use and
has no row exists, and is enabled. It gets its row as soon as somebody has something to say about it.

Locks: start keys and workers, then gates, then the row of the namespace; as where these are made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from windlass.engine.again import until_answered
from windlass.engine.audit import LOCAL, Audit
from windlass.engine.gates import noted as noted_gate
from windlass.engine.parts import Parts
from windlass.errors import AlreadyExists, NotFound
from windlass.model.gate import Gate, GateKind
from windlass.model.namespace import CreateNamespace, Namespace, NamespacePage
from windlass.model.run import Deed
from windlass.notify.local import gates_topic, schedules_topic
from windlass.rules import namespaces as rules
from windlass.rules.limits import check_limit, check_namespace, check_note
from windlass.store.base import Tx
from windlass.store.queries.gates import NewGate
from windlass.store.queries.log import NewLogEntry
from windlass.store.queries.namespaces import LockedNamespace

T = TypeVar("T")

SUBJECT = "namespace"  # in the log
MOST_ON_A_PAGE = 500


class EngineNamespaces:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def create_namespace(self, command: CreateNamespace) -> Namespace:
        name, note, audit = check_namespace(command.name), check_note(command.note), Audit.of_anyone("create_namespace")

        async def create(tx: Tx) -> Namespace:
            is_new = await tx.namespaces.enter(name, note=note)
            made = (await locked(tx, name)).namespace
            if is_new:
                await _note(tx, audit, name, None, rules.ENABLED)
            elif made.note != note:
                raise AlreadyExists(f"Namespace {name!r} exists with another note. Use another name.", owner=name)
            return made

        return await self._parts.run_tx("create_namespace", create)

    async def get_namespace(self, name: str) -> Namespace:
        check_namespace(name)

        async def look(tx: Tx) -> Namespace:
            found = await tx.namespaces.load(name)
            if found is None and not await _is_used(tx, name):
                raise _not_found(name)
            return found or Namespace(name=name)

        return await self._read("get_namespace", look)

    async def list_namespaces(self, after: str | None = None, limit: int = 100) -> NamespacePage:
        check_limit(limit, what="limit", low=1, high=MOST_ON_A_PAGE)
        start = "" if after is None else check_namespace(after, what="after")
        found = await self._read("list_namespaces", lambda tx: tx.namespaces.page(after=start, limit=limit + 1))
        shown = tuple(found[:limit])
        return NamespacePage(namespaces=shown, next=shown[-1].name if len(found) > limit else None)

    async def set_enabled(self, name: str, *, is_enabled: bool) -> Namespace:
        name, audit = check_namespace(name), Audit.of_anyone("set_enabled")

        async def change(tx: Tx) -> Namespace:
            await tx.gates.lock()
            was = await locked(tx, name)
            if was.namespace.is_enabled != is_enabled:
                closes = await _turn_gate(tx, was, is_enabled=is_enabled, audit=audit)
                await tx.namespaces.set(name, is_enabled=is_enabled, closes_gate=closes)
                await _note(tx, audit, name, rules.standing(was.namespace), rules.word(is_enabled=is_enabled))
            return (await locked(tx, name)).namespace

        changed = await self._parts.run_tx("set_enabled", change)
        if changed.is_enabled:
            self._parts.hub.publish(gates_topic(name))
            self._parts.hub.publish(schedules_topic())
        return changed

    async def delete_namespace(self, name: str) -> None:
        name, audit = check_namespace(name), Audit.of_anyone("delete_namespace")
        is_tried = False

        async def delete(tx: Tx) -> None:
            nonlocal is_tried
            seen = await tx.namespaces.load(name)
            if seen is None and is_tried:
                return  # a first try whose answer was lost
            rules.check_removable(seen or (await locked(tx, name)).namespace)
            is_tried = True
            # A run comes with its key: looked for after the keys are gone, none that had one of these is overlooked.
            await tx.namespaces.remove_leavings(name)
            await tx.gates.lock()
            was = (await locked(tx, name)).namespace
            rules.check_removable(was)
            use = await tx.namespaces.use(name, limit=rules.MOST_COUNTED)
            rules.check_empty(
                name,
                {
                    "run": use.runs,
                    "schedule": use.schedules,
                    "worker": use.workers,
                    "waiting event": use.waiting,
                    "item": use.items,
                    "signal": use.signals,
                },
            )
            await tx.api_keys.revoke_all(name)
            await tx.namespaces.remove(name)
            await _note(tx, audit, name, rules.standing(was), rules.DELETED)

        await self._parts.run_tx("delete_namespace", delete)

    async def _read(self, name: str, fn: Callable[[Tx], Awaitable[T]]) -> T:
        return await until_answered(self._parts.clock, lambda: self._parts.store.read(name, fn, single=True))


async def locked(tx: Tx, name: str) -> LockedNamespace:
    """The row under its lock; one that is in use and has none gets it now. Raises NotFound."""
    found = await tx.namespaces.lock(name)
    if found is None and await _is_used(tx, name):
        await tx.namespaces.enter(name)
        found = await tx.namespaces.lock(name)
    if found is None:
        raise _not_found(name)
    return found


async def _is_used(tx: Tx, name: str) -> bool:
    return name == rules.DEFAULT or (await tx.namespaces.use(name, limit=1)).is_any


async def _turn_gate(tx: Tx, was: LockedNamespace, *, is_enabled: bool, audit: Audit) -> bool:
    """Close or open its gate, so that nobody claims in it. One that somebody paused before stays as it is."""
    name = was.namespace.name
    if is_enabled and not was.closes_gate:
        return False
    by = None if audit.actor in (None, LOCAL) else audit.actor.key
    gate = Gate(namespace=name, kind=GateKind.NAMESPACE, name=name, is_paused=not is_enabled)
    await tx.gates.enter([NewGate(name, gate.kind, name)])
    paused = gate if is_enabled else rules.closed(gate, by=by)
    is_turned = await tx.gates.set(paused)
    if is_turned:
        await tx.log.append([noted_gate(gate, Deed(by=by, note=paused.note))])
    return is_turned and not is_enabled


async def _note(tx: Tx, audit: Audit, name: str, was: str | None, now: str) -> None:
    await tx.log.append(
        [
            NewLogEntry(
                namespace=name,
                subject_kind=SUBJECT,
                subject_id=name,
                from_status=was,
                to_status=now,
                cause=audit.action,
            )
        ]
    )
    await audit.note(tx, name, subject=name, before=was, after=now)


def _not_found(name: str) -> NotFound:
    return NotFound("Namespace", name, hint="See which there are: windlass namespaces")

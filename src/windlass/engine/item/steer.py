"""Create work items, move them from state to state, and forget them. A move lets those know who watch it."""

from __future__ import annotations

from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.engine.signal.resolve import resolve_signals
from windlass.errors import AlreadyExists, NotFound, WindlassError
from windlass.model.item import CreateItem, DeleteItem, Item, ItemId, ItemStatus, TransitionItem
from windlass.model.run import Deed
from windlass.notify.local import items_topic
from windlass.rules import items as rules
from windlass.rules.limits import check_key, check_note, check_payload, check_person
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.rows import deed_to_bytes

SUBJECT = "item"  # in the log
CREATED, MOVED, DELETED = "create", "move", "delete"  # causes there


class _Raced(WindlassError):
    """Somebody else has taken the key meanwhile: look again."""


def no_item(item_id: ItemId) -> NotFound:
    return NotFound("item", item_id, hint="If it did once, it was deleted. See: windlass items")


async def create_item(parts: Parts, command: CreateItem) -> Item:
    rules.check_title(command.title)
    rules.check_item_priority(command.priority)
    check_payload(command.data, what="data")
    by = check_person(command.by)
    if command.key is not None:
        check_key(command.key)
    audit, item_id = Audit.of_caller("create_item"), command.item_id or ItemId(parts.ids.item())

    async def create(tx: Tx) -> Item:
        known = await _known(tx, command, item_id)
        if known is not None:
            return known
        now = await tx.now()
        item = Item(
            namespace=command.namespace,
            id=item_id,
            title=command.title,
            status=ItemStatus.BACKLOG,
            priority=command.priority,
            data=command.data,
            key=command.key,
            created_at=now,
            changed_at=now,
        )
        if not await tx.items.insert(item):
            raise _Raced
        await tx.log.append([_entry(item, was=None, cause=CREATED, deed=Deed(by=by))])
        await audit.note(tx, item.namespace, subject=item.id, after=item.status)
        return item

    while True:
        try:
            item = await parts.run_tx("create_item", create)
        except _Raced:
            continue
        parts.hub.publish(items_topic(item.namespace))
        return item


async def _known(tx: Tx, command: CreateItem, item_id: ItemId) -> Item | None:
    """The one that the id or the key belongs to, if that is the same item."""
    found = await tx.items.load(command.namespace, item_id)
    if found is None and command.key is not None:
        found = await tx.items.by_key(command.namespace, command.key)
    if found is None:
        return None
    if (found.title, found.priority, found.data, found.key) == (
        command.title,
        command.priority,
        command.data,
        command.key,
    ):
        return found
    what = f"Key {command.key!r}" if found.key == command.key and command.key is not None else f"Id {found.id}"
    text = f"{what} belongs to item {found.id} ({found.title!r}), which is another one. Use another key."
    raise AlreadyExists(text, reason="idempotency_conflict", owner=found.id)


async def transition_item(parts: Parts, command: TransitionItem) -> Item:
    by = check_person(command.by)
    check_note(command.note)
    audit, tried = Audit.of_caller("transition_item"), list[Item]()

    async def move(tx: Tx) -> Item:
        item = await tx.items.lock(command.namespace, command.item_id)
        if item is None:
            raise no_item(command.item_id)
        if item in tried or (command.is_again and await _is_done(tx, item, command.deed_id)):
            return item  # by a try whose answer was lost
        moved = rules.transition(item, command.to, now=await tx.now(), expected=command.expected)
        await tx.items.move(moved, was=item.status)
        if moved.status.is_terminal:
            await tx.tasks.cancel_of(item.namespace, item.id, by=by, note=f"the item is {moved.status}")
        await tx.log.append([_entry(moved, was=item.status, cause=MOVED, deed=_deed(command))])
        await audit.note(tx, item.namespace, subject=item.id, before=item.status, after=moved.status)
        tried.append(moved)
        return moved

    moved = await parts.run_tx("transition_item", move)
    parts.hub.publish(items_topic(moved.namespace))
    return moved


def _deed(command: TransitionItem) -> Deed:
    return Deed(by=command.by, note=command.note, id=command.deed_id or None)


async def _is_done(tx: Tx, item: Item, deed_id: str) -> bool:
    """Did this very call move it, wherever it stands by now?"""
    entries = await tx.log.of_subject(item.namespace, kind=SUBJECT, id=item.id)
    return bool(deed_id) and any(Deed.from_log(entry.data).id == deed_id for entry in entries)


async def delete_item(parts: Parts, command: DeleteItem) -> None:
    by, audit, tries = check_person(command.by), Audit.of_caller("delete_item"), int(command.is_again)

    async def delete(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        item = await tx.items.lock(command.namespace, command.item_id)
        if item is None:
            if tries > 1:
                return  # by a try whose answer was lost
            raise no_item(command.item_id)
        reason = f"item {item.id} was deleted{'' if by is None else f' by {by}'}"
        await resolve_signals(tx, item.namespace, kind=SUBJECT, subjects=[item.id], reason=reason)
        await tx.items.delete(item.namespace, item.id)
        entry = NewLogEntry(
            namespace=item.namespace,
            subject_kind=SUBJECT,
            subject_id=item.id,
            from_status=item.status,
            to_status="deleted",
            cause=DELETED,
            data=deed_to_bytes(Deed(by=by)),
        )
        await tx.log.append([entry])
        await audit.note(tx, item.namespace, subject=item.id, before=item.status, after="deleted")

    await parts.run_tx("delete_item", delete)
    parts.hub.publish(items_topic(command.namespace))


def _entry(item: Item, *, was: ItemStatus | None, cause: str, deed: Deed) -> NewLogEntry:
    return NewLogEntry(
        namespace=item.namespace,
        subject_kind=SUBJECT,
        subject_id=item.id,
        from_status=was,
        to_status=item.status,
        cause=cause,
        data=deed_to_bytes(deed),
    )

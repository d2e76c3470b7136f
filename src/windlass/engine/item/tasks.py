"""What is to be done about work items: recorded here, done by others, who say how it ended."""

from __future__ import annotations

from windlass.engine.audit import Audit
from windlass.engine.item.steer import no_item
from windlass.engine.parts import Parts
from windlass.errors import AlreadyExists, InvalidInput, NotFound, WrongState
from windlass.model.item import AddTask, EndTask, Task, TaskId, TaskStatus
from windlass.rules import items as rules
from windlass.rules.limits import check_note, check_payload, check_person
from windlass.store.base import Tx


async def add_task(parts: Parts, command: AddTask) -> Task:
    rules.check_title(command.title)
    check_payload(command.data, what="data")
    check_person(command.by)
    audit, task_id = Audit.of_caller("add_task"), command.task_id or TaskId(parts.ids.task())

    async def add(tx: Tx) -> Task:
        # Under the lock of the item: it is not over when this commits, or its end finds this.
        item = await tx.items.lock(command.namespace, command.item_id)
        known = await tx.tasks.load(command.namespace, task_id)
        if known is not None:
            return _same(known, command)
        if item is None:
            raise no_item(command.item_id)
        if item.status.is_terminal:
            raise WrongState("Item", item.id, item.status, wanted="one that is not over")
        if await tx.tasks.count_open(item.namespace, item.id) >= rules.MOST_TASKS:
            raise InvalidInput(f"An item has at most {rules.MOST_TASKS:,} open tasks.", reason="too_many")
        task = Task(
            namespace=item.namespace,
            id=task_id,
            item_id=item.id,
            title=command.title,
            status=TaskStatus.QUEUED,
            data=command.data,
            firing_id=None,
            created_at=await tx.now(),
        )
        await tx.tasks.insert([task])
        await audit.note(tx, item.namespace, subject=item.id, after=f"task {task.id}")
        return task

    return await parts.run_tx("add_task", add)


def _same(known: Task, command: AddTask) -> Task:
    if (known.item_id, known.title, known.data) != (command.item_id, command.title, command.data):
        text = f"Id {known.id} belongs to another task, of item {known.item_id}. Choose another id."
        raise AlreadyExists(text, owner=known.id)
    return known


async def end_task(parts: Parts, command: EndTask) -> Task:
    by, note = check_person(command.by), check_note(command.note)
    audit = Audit.of_caller("end_task")

    async def end(tx: Tx) -> Task:
        task = await tx.tasks.load(command.namespace, command.task_id)
        if task is None:
            raise NotFound("task", command.task_id)
        ended = rules.end_task(task, command.status, now=await tx.now(), by=by, note=note)
        if ended == task:
            return task
        if not await tx.tasks.end(ended):  # somebody else was faster, and this judges by what they made of it
            found = await tx.tasks.load(command.namespace, command.task_id)
            return rules.end_task(found or task, command.status, now=await tx.now(), by=by, note=note)
        await audit.note(tx, task.namespace, subject=task.id, before=task.status, after=ended.status)
        return ended

    return await parts.run_tx("end_task", end)

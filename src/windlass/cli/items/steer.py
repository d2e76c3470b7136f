"""`windlass items move`, `task`, `end-task` and `delete`."""

from __future__ import annotations

import click
from rich.text import Text as Line

from windlass.assembly import Opened
from windlass.cli import sure
from windlass.cli.items import records
from windlass.cli.items.names import find_item, item_argument
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import Json, Value, by_option, note_option, person
from windlass.codec import Codec
from windlass.model.item import (
    AddTask,
    DeleteItem,
    EndTask,
    Item,
    ItemStatus,
    ItemView,
    Task,
    TaskId,
    TaskStatus,
    TransitionItem,
)
from windlass.rules.items import check_title
from windlass.rules.limits import check_task_id

STATES = click.Choice([status.value for status in ItemStatus])
ENDS = click.Choice([status.value for status in TaskStatus if status.is_terminal])


def _check_task(text: str) -> str:
    return check_task_id(text, what="task id")


@click.command(short_help="Move a work item to another state.")
@item_argument
@click.argument("state", metavar="STATE", type=STATES)
@by_option
@note_option
@shared_options
@click.pass_obj
def move(session: Session, /, item: str, state: str, *, by: str | None, note: str | None) -> None:
    """Move a work item to another state: backlog, ready, doing, blocked, done, failed or cancelled.

    From backlog it goes to ready, from there to doing; from doing to anything but the backlog, and from blocked back to
    ready or doing. Ready, doing and blocked may be cancelled. Done, failed and cancelled are for good, and cancel its
    open tasks.
    """

    async def go(opened: Opened) -> tuple[ItemView, Item]:
        before = await find_item(opened.items, item, namespace=session.namespace)
        command = TransitionItem(
            namespace=session.namespace,
            item_id=before.item.id,
            to=ItemStatus(state),
            by=person(by),
            note=note,
        )
        return before, await opened.items.transition_item(command)

    before, after = session.change(go)
    if session.is_json:
        session.screen.write_json({**records.item(after), "from": before.item.status.value})
        return
    arrow = session.screen.glyphs.arrow
    _say(
        session, f"{_named(after)} {before.item.status.value} {arrow} {after.status.value}.{_cancelled(before, after)}"
    )


def _cancelled(before: ItemView, after: Item) -> str:
    """What its end has ended."""
    count = records.open_tasks(before)
    if not after.status.is_terminal or not count:
        return ""
    return " Its open task is cancelled." if count == 1 else f" Its {count:,} open tasks are cancelled."


@click.command(name="task", short_help="Note something to be done about a work item.")
@item_argument
@click.argument("title", metavar="TITLE", type=Text(check_title))
@click.option("--data", type=Json(), help="Whatever belongs to it, in JSON.")
@by_option
@shared_options
@click.pass_obj
def add_task(session: Session, /, item: str, title: str, *, data: Value | None, by: str | None) -> None:
    """Note something to be done about a work item, and print its id. Nothing executes it: whoever does it ends it."""

    async def add(opened: Opened) -> Task:
        found = await find_item(opened.items, item, namespace=session.namespace)
        command = AddTask(
            namespace=session.namespace,
            item_id=found.item.id,
            title=title,
            data=None if data is None else Codec().encode(data.value),
            by=person(by),
        )
        return await opened.items.add_task(command)

    task = session.change(add)
    if session.is_json:
        session.screen.write_json(records.task(task))
        return
    then = session.advise(f"windlass items end-task {task.id} completed")
    _say(session, f"{task.id} ({escape(repr(task.title))}) is to be done about {task.item_id}. Then: {then}")


@click.command(name="end-task", short_help="Say how a task ended.")
@click.argument("task", metavar="TASK", type=Text(_check_task))
@click.argument("end", metavar="completed|failed|cancelled|skipped", type=ENDS)
@by_option
@note_option
@shared_options
@click.pass_obj
def end_task(session: Session, /, task: str, end: str, *, by: str | None, note: str | None) -> None:
    """Say how a task ended. TASK is its id, as `windlass items show` has it."""
    command = EndTask(
        namespace=session.namespace, task_id=TaskId(task), status=TaskStatus(end), by=person(by), note=note
    )
    ended = session.change(lambda opened: opened.items.end_task(command))
    if session.is_json:
        session.screen.write_json(records.task(ended))
        return
    _say(session, f"{ended.id} ({escape(repr(ended.title))}) is {ended.status.value}.")


@click.command(short_help="Forget a work item.")
@item_argument
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@by_option
@shared_options
@click.pass_obj
def delete(session: Session, /, item: str, *, is_sure: bool, by: str | None) -> None:
    """Forget a work item and its tasks. Signals that watch it are resolved, and say why; its log stays.

    Asks once on a terminal; elsewhere --yes is needed.
    """
    view = session.change(lambda opened: find_item(opened.items, item, namespace=session.namespace))
    found = view.item
    if not is_sure:
        sure.ask(session, f"Delete {_named(view.item)}? It is {found.status.value}.", what=found.id)
    command = DeleteItem(namespace=session.namespace, item_id=found.id, by=person(by))
    session.change(lambda opened: opened.items.delete_item(command))
    if session.is_json:
        session.screen.write_json({"id": found.id, "is_deleted": True, "resolved_signals": view.signals})
        return
    signals = f" {_counted(view.signals)} that watched it {'is' if view.signals == 1 else 'are'} resolved."
    _say(session, f"{_named(found)} is deleted.{signals if view.signals else ''}")


def _counted(signals: int) -> str:
    return "1 signal" if signals == 1 else f"{signals:,} signals"


def _named(item: Item) -> str:
    return f"{item.id} ({escape(repr(item.title))})"


def _say(session: Session, text: str) -> None:
    session.screen.write(session.screen.draw_whole(Line(text)))

"""Everything about one work item on a page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli import payloads
from windlass.cli import records as run_records
from windlass.cli.columns import DIM, indented, title
from windlass.cli.items import records
from windlass.cli.items.listing import STYLES, TASK_STYLES
from windlass.cli.items.names import find_item_id
from windlass.cli.session import Session
from windlass.cli.signals import records as signal_records
from windlass.cli.signals.listing import status as status_of_signal
from windlass.cli.terminal import Glyphs, Screen, escape
from windlass.model.duration import between, from_instant
from windlass.model.item import ItemView, Task
from windlass.model.run import Deed, LogEntry
from windlass.model.signal import ANY, ListSignals, Signal
from windlass.model.time import Instant
from windlass.rules.items import MOVES
from windlass.rules.signal_words import in_words

TASKS, HISTORY, SIGNALS = 20, 20, 20


class ItemStory(Struct, frozen=True, kw_only=True):
    """What is known about a work item."""

    view: ItemView
    log: tuple[LogEntry, ...]
    signals: tuple[Signal, ...]  # on it or on all items, newest first


def show_item(session: Session, text: str) -> None:
    _write(session, session.read(lambda opened: _read(session, opened, text)))


async def _read(session: Session, opened: Opened, text: str) -> ItemStory:
    """Raises NotFound."""
    namespace = session.namespace
    item_id = await find_item_id(opened.items, text, namespace=namespace)
    view = await opened.items.get_item(namespace, item_id)
    log, own, general = await asyncio.gather(
        opened.items.read_item_log(namespace, item_id),
        opened.signals.list_signals(_on(namespace, item_id)),
        opened.signals.list_signals(_on(namespace, ANY)),
    )
    live = tuple(signal for signal in general.signals if signal.status.is_live)
    return ItemStory(view=view, log=log, signals=(*own.signals, *live))


def _on(namespace: str, subject: str) -> ListSignals:
    return ListSignals(namespace=namespace, subject_kind="item", subject=subject, limit=SIGNALS)


def _write(session: Session, story: ItemStory) -> None:
    screen = session.screen
    if session.is_json:
        screen.write_json(_record(story))
    else:
        screen.write(screen.draw_whole(*_page(story, now=session.now(), screen=screen)))


def _record(story: ItemStory) -> dict[str, object]:
    return {
        **records.view(story.view),
        "tasks": [records.task(task) for task in story.view.tasks],
        "signals": [signal_records.signal(signal) for signal in story.signals],
        "log": [run_records.entry(entry) for entry in story.log],
    }


def _page(story: ItemStory, *, now: Instant, screen: Screen) -> Iterator[Text]:
    yield from _header(story, now=now, screen=screen)
    yield from _tasks(story.view.tasks, now=now, screen=screen)
    yield from _signals(story, screen=screen)
    yield from _history(story.log, screen=screen)


def _header(story: ItemStory, *, now: Instant, screen: Screen) -> Iterator[Text]:
    item = story.view.item
    yield Text(item.status.value, style=STYLES[item.status]).append(f"  {escape(item.title)}", style="bold default")
    since = f"{item.status.value} for {between(item.changed_at, now)}"
    if item.ended_at is not None:
        since = f"{item.status.value} {between(item.ended_at, now)} ago"
    facts = [
        item.id,
        f"priority {item.priority:,}" if item.priority else "",
        f"made {between(item.created_at, now)} ago",
        since if item.changed_at != item.created_at else "",
        f"key {escape(item.key)}" if item.key is not None else "",
    ]
    yield from indented(f" {screen.glyphs.dot} ".join(filter(None, facts)), screen=screen, style=DIM)
    if item.data is not None:
        for line in payloads.lines(item.data, width=screen.width - 2):
            yield Text(f"  {line}")
    moves = [move.value for move in MOVES if move in MOVES[item.status]]
    if moves:
        yield Text(f"  It may go to {', '.join(moves)}.", style=DIM)


def _tasks(tasks: Sequence[Task], *, now: Instant, screen: Screen) -> Iterator[Text]:
    if not tasks:
        return
    count = sum(not task.status.is_terminal for task in tasks)
    yield from title(f"Tasks: {count:,} open, {len(tasks) - count:,} over")
    if len(tasks) > TASKS:
        yield Text(f"  {screen.glyphs.ellipsis} {len(tasks) - TASKS:,} earlier (--json)", style=DIM)
    shown = tasks[-TASKS:]
    room = max(len(task.status) for task in shown)
    for task in shown:
        line = Text("  ").append(f"{task.status.value:{room}}", style=TASK_STYLES[task.status])
        line.append(f"  {task.id}  ", style=DIM)
        begin = line.cell_len
        about = f" {screen.glyphs.dot} ".join(filter(None, [escape(task.title), _ended(task)]))
        first, *rest = indented(about, screen=screen, by=begin)
        yield line.append(first.plain[begin:])
        yield from rest


def _ended(task: Task) -> str:
    """Who ended it, and what they said."""
    by = f"by {task.ended_by}" if task.ended_by is not None else ""
    return escape(": ".join(filter(None, [by, task.note])))


def _signals(story: ItemStory, *, screen: Screen) -> Iterator[Text]:
    signals = story.signals
    if not signals:
        return
    yield from title("Signals")
    room = max(len(signal.status) for signal in signals)
    for signal in signals:
        line = Text("  ").append_text(status_of_signal(signal))
        line.pad_right(room + 2 - line.cell_len)
        yield line.append(f"  {signal.id}", style=DIM)
        said = in_words(signal).replace(f"item {story.view.item.id}", "it", 1)
        yield from indented(escape(said), screen=screen, by=room + 4)


def _history(log: Sequence[LogEntry], *, screen: Screen) -> Iterator[Text]:
    if not log:
        return
    yield from title("History")
    if len(log) > HISTORY:
        yield Text(f"  {screen.glyphs.ellipsis} {len(log) - HISTORY:,} earlier (--json)", style=DIM)
    for entry in log[-HISTORY:]:
        begin = f"  {from_instant(entry.at):%Y-%m-%d %H:%M:%S} UTC  "
        first, *rest = indented(_told(entry, glyphs=screen.glyphs), screen=screen, by=len(begin))
        yield Text(begin, style=DIM).append(first.plain[len(begin) :], style="default")
        yield from rest


def _told(entry: LogEntry, *, glyphs: Glyphs) -> str:
    done = Deed.from_log(entry.data)
    by = f" by {done.by}" if done.by is not None else ""
    note = f": {done.note}" if done.note is not None else ""
    return escape(f"{entry.from_status or 'new'} {glyphs.arrow} {entry.to_status}{by}{note}")

"""Which work items there are: a line for each, the newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from windlass.api.signal_service import Items
from windlass.cli.columns import DIM, Columns, table, taken, width_for
from windlass.cli.items import records
from windlass.cli.lookup import shortest
from windlass.cli.runs import READERS, WIDE, age
from windlass.cli.session import Session
from windlass.cli.terminal import Screen, cut, escape
from windlass.errors import NotFound
from windlass.model.item import ItemId, ItemStatus, ItemView, ListItems, TaskStatus
from windlass.model.time import Instant

SHORTEST_TITLE = 16
RIGHT = ("priority", "open tasks", "tasks", "age")
STYLES = {
    ItemStatus.BACKLOG: DIM,
    ItemStatus.READY: "yellow",
    ItemStatus.DOING: "cyan",
    ItemStatus.BLOCKED: "bold magenta",
    ItemStatus.DONE: "green",
    ItemStatus.FAILED: "bold red",
    ItemStatus.CANCELLED: DIM,
}
TASK_STYLES = {
    TaskStatus.QUEUED: "yellow",
    TaskStatus.COMPLETED: "green",
    TaskStatus.FAILED: "bold red",
    TaskStatus.CANCELLED: DIM,
    TaskStatus.SKIPPED: DIM,
}

NONE_YET = (
    "No work items yet. Make one, and watch what becomes of it:",
    '  windlass items create "Move the archive"',
    '  windlass signals create --item any --enters blocked --task "Unblock it"',
)


class Listing(Struct, frozen=True, kw_only=True):
    views: tuple[ItemView, ...]
    next: str | None


async def read(items: Items, query: ListItems) -> Listing:
    page = await items.list_items(query)
    gate = asyncio.Semaphore(READERS)

    async def look(item_id: ItemId) -> ItemView | None:
        async with gate:
            try:
                return await items.get_item(query.namespace, item_id)
            except NotFound:  # deleted since the page was read
                return None

    found = await asyncio.gather(*(look(item.id) for item in page.items))
    return Listing(views=tuple(view for view in found if view is not None), next=page.next)


def record(listing: Listing) -> dict[str, object]:
    return {"items": [records.view(view) for view in listing.views], "next": listing.next}


def drawn(session: Session, listing: Listing, *, status: str | None, before: str | None) -> str:
    screen = session.screen
    if not listing.views and (status is not None or before is not None):
        return screen.draw(Text("No items match.", style=DIM))
    if not listing.views:
        return screen.draw_whole(*(Text(session.advise(line), style=DIM) for line in NONE_YET))
    width = width_for(screen)
    columns = _columns(listing.views, now=session.now(), width=width, screen=screen)
    shown = screen.draw(table(columns, right=RIGHT), width=max(width, taken(columns)))
    if listing.next is not None and screen.is_terminal:
        filters = "" if status is None else f"--status {status} "
        older = session.advise(f"windlass items {filters}--before {listing.next}")
        shown += screen.draw_whole(Text(f"older: {escape(older)}", style=DIM))
    return shown


def _columns(views: Sequence[ItemView], *, now: Instant, width: int, screen: Screen) -> Columns:
    """Titles take what room is left."""
    length = None if width >= WIDE else shortest([view.item.id for view in views])
    titles = [escape(view.item.title) for view in views]
    columns: Columns = {
        "id": [Text(view.item.id[:length]) for view in views],
        "status": [Text(view.item.status.value, style=STYLES[view.item.status]) for view in views],
        "priority": [Text(f"{view.item.priority:,}") for view in views],
        "title": [Text("") for _ in views],
        "open tasks": [_count(records.open_tasks(view)) for view in views],
        "age": [Text(age(view.item.created_at, now=now), style=DIM) for view in views],
    }
    if not any(columns["open tasks"]):
        del columns["open tasks"]
    room = max(width - taken(columns) + len("title"), SHORTEST_TITLE)
    columns["title"] = [Text(cut(title, room, glyphs=screen.glyphs), style="bold") for title in titles]
    return columns


def _count(count: int) -> Text:
    return Text(f"{count:,}" if count else "", style=TASK_STYLES[TaskStatus.QUEUED])

"""`windlass runs`: which runs there are, newest first, and what each waits for."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence

import click
from msgspec import Struct
from msgspec.structs import replace
from rich.table import Table
from rich.text import Text

from windlass.api.service import Runs
from windlass.cli import records
from windlass.cli import session as sessions
from windlass.cli.lookup import shortest
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import STATUS_STYLES, UNLIMITED, Glyphs, cut, escape, status_glyph
from windlass.cli.waits import in_short
from windlass.model.duration import between
from windlass.model.page import ListRuns
from windlass.model.run import RunId, RunStatus, RunView
from windlass.model.time import Instant
from windlass.rules.limits import check_run_id

READERS = 8
DIM = "bright_black"
WIDE = 120  # from here on there is room for whole ids
SHORTEST_NAME = 10


class Listing(Struct, frozen=True, kw_only=True):
    views: tuple[RunView, ...]  # without their payloads
    next: str | None


@click.command()
@click.option("--status", type=click.Choice([status.value for status in RunStatus]), help="Only these.")
@click.option("--name", type=sessions.Text(), help="Only runs of this workflow.")
@click.option("--queue", type=sessions.Text(), help="Only runs in this queue.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many.")
@click.option("--before", type=sessions.Text(check_run_id), metavar="RUN", help="Only runs older than this one.")
@shared_options
@click.pass_obj
def runs(
    session: Session, /, *, status: str | None, name: str | None, queue: str | None, limit: int, before: str | None
) -> None:
    """List runs, the newest first."""
    query = ListRuns(
        namespace=session.namespace,
        status=None if status is None else RunStatus(status),
        name=name,
        queue=queue,
        before=before,
        limit=limit,
    )
    listing = session.ask(lambda door: _read(door, query))
    if session.is_json:
        session.screen.write_json(_record(listing, now=session.now()))
        return
    session.screen.write(_drawn(session, listing, query=query))


async def _read(door: Runs, query: ListRuns) -> Listing:
    page = await door.list_runs(query)
    gate = asyncio.Semaphore(READERS)

    async def look(run_id: RunId) -> RunView:
        async with gate:
            view = await door.get_run(query.namespace, run_id)
        return replace(view, input=b"", output=None)

    return Listing(views=tuple(await asyncio.gather(*(look(run.id) for run in page.runs))), next=page.next)


def _record(listing: Listing, *, now: Instant) -> dict[str, object]:
    return {
        "runs": [
            records.run(view.run, key=view.key, failed=view.failure, waits_for=_waits_for(view, now=now))
            for view in listing.views
        ],
        "next": listing.next,
    }


def _waits_for(view: RunView, *, now: Instant) -> str:
    return "" if view.run.status.is_terminal else in_short(view.run, failure=view.failure, now=now)


def _drawn(session: Session, listing: Listing, *, query: ListRuns) -> str:
    screen = session.screen
    if not listing.views:
        is_filtered = any(value is not None for value in (query.status, query.name, query.queue, query.before))
        return screen.draw(Text("No runs match." if is_filtered else "No runs yet.", style=DIM))
    # Into a pipe everything is written whole: grep and awk cannot scroll.
    width = screen.width if screen.is_terminal else UNLIMITED
    drawn = screen.draw(table(listing.views, now=session.now(), width=width, glyphs=screen.glyphs), width=width)
    if listing.next is not None and screen.is_terminal:
        older = session.advise(f"windlass runs {_filters(query)}--before {listing.next}")
        drawn += screen.draw_whole(Text(f"older: {escape(older)}", style=DIM))
    return drawn


def _filters(query: ListRuns) -> str:
    given = {"status": query.status, "name": query.name, "queue": query.queue}
    return "".join(f"--{name} {shlex.quote(value)} " for name, value in given.items() if value is not None)


def table(views: Sequence[RunView], *, now: Instant, width: int, glyphs: Glyphs) -> Table:
    """One row per run. Where there is little room, ids are as long as it takes to tell them apart."""
    length = None if width >= WIDE else shortest([view.run.id for view in views])
    longest = max(width // 6, SHORTEST_NAME)
    columns: dict[str, list[Text]] = {
        "id": [Text(view.run.id[:length]) for view in views],
        "workflow": [Text(cut(escape(view.run.name), longest, glyphs=glyphs), style="bold") for view in views],
        "key": [Text(cut(escape(view.key or ""), longest, glyphs=glyphs)) for view in views],
        "status": [_status(view.run.status, glyphs) for view in views],
        "age": [Text(_age(view.run.created_at, now=now), style=DIM) for view in views],
    }
    if not any(columns["key"]):
        del columns["key"]
    taken = sum(max(len(header), *(cell.cell_len for cell in cells)) + 2 for header, cells in columns.items())
    columns["waits"] = [_waits(view, now=now, width=max(width - taken, SHORTEST_NAME), glyphs=glyphs) for view in views]
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, 2, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right" if header == "age" else "left")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _status(status: RunStatus, glyphs: Glyphs) -> Text:
    return Text(f"{status_glyph(status, glyphs=glyphs)} {status.value}", style=STATUS_STYLES[status])


def _waits(view: RunView, *, now: Instant, width: int, glyphs: Glyphs) -> Text:
    text = cut(in_short(view.run, failure=view.failure, now=now), width, glyphs=glyphs)
    return Text(text, style="red" if view.run.status is RunStatus.FAILED else "")


def _age(created_at: Instant, *, now: Instant) -> str:
    """In one unit: a column of ages is compared, not read."""
    words = between(created_at, now).split(" ")
    return " ".join(words[:2]) if "." not in words[0] else f"{int(float(words[0]))} {words[1]}"

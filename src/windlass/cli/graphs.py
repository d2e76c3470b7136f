"""`windlass graphs`: which graphs there are, newest first, and how far each of them is."""

from __future__ import annotations

import asyncio
import shlex

import click
from msgspec import Struct
from rich.table import Table
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli import records
from windlass.cli import session as sessions
from windlass.cli.graph_page import progress
from windlass.cli.lookup import shortest
from windlass.cli.runs import age
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import STATUS_STYLES, UNLIMITED, Glyphs, cut, escape, status_glyph
from windlass.model.duration import between, describe
from windlass.model.graph import GraphView, ListGraphs
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunId, RunStatus
from windlass.model.time import Duration, Instant
from windlass.rules.limits import check_run_id

DIM = "bright_black"
READERS = 8
MOST_COUNTED = 100  # jobs at work, of one graph
WIDE = 140  # from here on there is room for whole ids
SHORTEST_NAME, SHORTEST_PROGRESS = 10, 24
NONE_YET = (
    "No graphs yet: a run becomes one as soon as a worker has taken it up.",
    '  declare one:  release = app.graph("release"), and @release.job(needs=[…]) for each of its jobs',
    "  start it:     windlass start MODULE:APP NAME",
    "  execute it:   windlass worker MODULE:APP",
)


class Listing(Struct, frozen=True, kw_only=True):
    views: tuple[GraphView, ...]
    running: dict[RunId, int]  # jobs at work, as far as they were counted
    next: str | None


@click.command(short_help="List graphs, and how far each of them is.")
@click.option("--name", type=sessions.Text(), help="Only graphs of this name.")
@click.option("--open", "is_open", is_flag=True, help="Only graphs that are not over.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
@click.option("--before", type=sessions.Text(check_run_id), metavar="RUN", help="Only graphs older than this one.")
@shared_options
@click.pass_obj
def graphs(session: Session, /, *, name: str | None, is_open: bool, limit: int, before: str | None) -> None:
    """List graphs, the newest first: where each stands, how many of its jobs are over, at work, failed.

    `windlass show GRAPH` draws one.
    """
    query = ListGraphs(
        namespace=session.namespace, name=name, is_open=True if is_open else None, before=before, limit=limit
    )
    listing = session.read(lambda opened: _read(opened, query))
    if session.is_json:
        record = {"graphs": [records.graph(view, running=_running(listing, view)) for view in listing.views]}
        session.screen.write_json({**record, "next": listing.next})
        return
    session.screen.write(_drawn(session, listing, query=query))


async def _read(opened: Opened, query: ListGraphs) -> Listing:
    page = await opened.graphs.list_graphs(query)
    gate = asyncio.Semaphore(READERS)

    async def count(view: GraphView) -> int:
        if not view.graph.open:
            return 0
        async with gate:
            found = await opened.runs.list_runs(
                ListRuns(
                    namespace=query.namespace, parent=view.run.id, status=RunStatus.RUNNING, limit=MOST_COUNTED + 1
                )
            )
        return len(found.runs)

    running = await asyncio.gather(*(count(view) for view in page.graphs))
    counted = {view.run.id: number for view, number in zip(page.graphs, running, strict=True)}
    return Listing(views=page.graphs, running=counted, next=page.next)


def _running(listing: Listing, view: GraphView) -> int | None:
    """How many jobs are at work; none if there are too many to count."""
    number = listing.running[view.run.id]
    return None if number > MOST_COUNTED else number


def _drawn(session: Session, listing: Listing, *, query: ListGraphs) -> str:
    screen = session.screen
    if not listing.views:
        is_filtered = query.name is not None or query.is_open is not None or query.before is not None
        lines = ("No graphs match.",) if is_filtered else NONE_YET
        return screen.draw_whole(*(Text(escape(session.advise(line)), style=DIM) for line in lines))
    # Into a pipe everything is written whole: grep and awk cannot scroll.
    width = screen.width if screen.is_terminal else UNLIMITED
    drawn = screen.draw(table(listing, now=session.now(), width=width, glyphs=screen.glyphs), width=width)
    if listing.next is not None and screen.is_terminal:
        named = "" if query.name is None else f"--name {shlex.quote(query.name)} "
        older = f"windlass graphs {named}{'--open ' if query.is_open else ''}--before {listing.next}"
        drawn += screen.draw_whole(Text(f"older: {escape(session.advise(older))}", style=DIM))
    return drawn


def table(listing: Listing, *, now: Instant, width: int, glyphs: Glyphs) -> Table:
    """One row per graph. Where there is little room, the progress is cut at its end."""
    views = listing.views
    length = None if width >= WIDE else shortest([view.run.id for view in views])
    longest = max(width // 6, SHORTEST_NAME)
    columns: dict[str, list[Text]] = {
        "id": [Text(view.run.id[:length]) for view in views],
        "name": [Text(cut(escape(view.graph.name), longest, glyphs=glyphs), style="bold") for view in views],
        "status": [_status(view, glyphs) for view in views],
        "started": [Text(age(view.run.created_at, now=now), style=DIM) for view in views],
        "took": [Text(_took(view.run, now=now), style=DIM) for view in views],
    }
    for header in ("took", "started"):
        if _room(columns, width) < SHORTEST_PROGRESS:
            del columns[header]
    room = max(_room(columns, width), SHORTEST_NAME)
    told = [_progress(listing, view, glyphs=glyphs) for view in views]
    for text in told:
        text.truncate(room, overflow="ellipsis")
    columns["progress"] = told
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, 2, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right" if header in ("started", "took") else "left")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _room(columns: dict[str, list[Text]], width: int) -> int:
    taken = sum(max(len(header), *(cell.cell_len for cell in cells)) + 2 for header, cells in columns.items())
    return width - taken


def _progress(listing: Listing, view: GraphView, *, glyphs: Glyphs) -> Text:
    number = listing.running[view.run.id]
    return progress(view.graph, running=min(number, MOST_COUNTED), is_more=number > MOST_COUNTED, glyphs=glyphs)


def _status(view: GraphView, glyphs: Glyphs) -> Text:
    """A graph that is paused or being cancelled still waits for its jobs: that is not what people look for."""
    status = view.run.status
    if not status.is_terminal and view.graph.is_paused:
        status = RunStatus.PAUSED
    word = (
        f"{view.graph.ending.value}{glyphs.ellipsis}" if view.graph.ending and not status.is_terminal else status.value
    )
    return Text(f"{status_glyph(status, glyphs=glyphs)} {word}", style=STATUS_STYLES[status])


def _took(run: Run, *, now: Instant) -> str:
    if run.started_at is None:
        return ""
    if run.finished_at is None:
        return between(run.started_at, now)
    return describe(Duration(run.finished_at - run.started_at))

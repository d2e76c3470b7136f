"""`windlass runs`: which runs there are, newest first, and what each waits for."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import asdict, replace
from rich.table import Table
from rich.text import Text

from windlass.api.service import Runs
from windlass.assembly import Opened
from windlass.cli import records
from windlass.cli import session as sessions
from windlass.cli.lookup import RUN, find, shortest
from windlass.cli.session import Session, shared_options
from windlass.cli.targets import gate_words
from windlass.cli.terminal import STATUS_STYLES, UNLIMITED, Glyphs, cut, escape, status_glyph
from windlass.cli.values import Span
from windlass.cli.waits import in_brief, in_short
from windlass.errors import NotFound
from windlass.model.duration import between, moment, to_duration
from windlass.model.gate import Gate
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunId, RunStatus, RunView
from windlass.model.time import Instant
from windlass.rules.limits import check_key, check_run_id

READERS = 8
DIM = "bright_black"
WIDE = 120  # from here on there is room for whole ids
SHORTEST_NAME = 10


class Wanted(Struct, frozen=True, kw_only=True):
    """What was asked for, as it was typed."""

    status: str | None
    name: str | None
    queue: str | None
    since: str | None  # a duration
    parent: str | None  # an id, or the beginning of one
    schedule: str | None
    key: str | None
    before: str | None
    limit: int

    @property
    def is_filtered(self) -> bool:
        return any(value is not None for name, value in asdict(self).items() if name != "limit")

    @property
    def filters(self) -> str:
        """The options that select runs, to be typed again."""
        given = {"status": self.status, "workflow": self.name, "queue": self.queue, "since": self.since}
        given |= {"parent": self.parent, "schedule": self.schedule, "key": self.key}
        return "".join(f"--{name} {shlex.quote(value)} " for name, value in given.items() if value is not None)


class Listing(Struct, frozen=True, kw_only=True):
    views: tuple[RunView, ...]  # without their payloads
    briefs: dict[RunId, str]  # what a look behind their rows has found
    next: str | None
    gates: tuple[Gate, ...]  # that are closed


@click.command()
@click.option("--status", type=click.Choice([status.value for status in RunStatus]), help="Only these.")
@click.option("--workflow", "--name", "name", type=sessions.Text(), help="Only runs of this workflow.")
@click.option("--queue", type=sessions.Text(), help="Only runs in this queue.")
@click.option("--since", type=Span(), help='Only runs started within this time: "90s", "2h", "7d".')
@click.option("--parent", type=sessions.Text(RUN.check), metavar="RUN", help="Only children of this run.")
@click.option("--schedule", type=sessions.Text(), metavar="NAME", help="Only runs that this schedule has started.")
@click.option("--key", type=sessions.Text(check_key), help="Only the run that was started with this key.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many.")
@click.option("--before", type=sessions.Text(check_run_id), metavar="RUN", help="Only runs older than this one.")
@shared_options
@click.pass_obj
def runs(session: Session, /, **options: Any) -> None:
    """List runs, the newest first, and what is paused as a whole."""
    wanted = Wanted(**options)
    listing = session.read(lambda opened: _read(opened, wanted, session=session))
    if session.is_json:
        session.screen.write_json(_record(listing, now=session.now()))
        return
    session.screen.write(_drawn(session, listing, wanted=wanted))


async def _read(opened: Opened, wanted: Wanted, *, session: Session) -> Listing:
    door, parent = opened.runs, None
    if wanted.parent is not None:
        parent = (await find(door, wanted.parent, key=None, namespace=session.namespace)).run.id
    query = ListRuns(
        namespace=session.namespace,
        status=None if wanted.status is None else RunStatus(wanted.status),
        name=wanted.name,
        queue=wanted.queue,
        created_after=None if wanted.since is None else Instant(max(0, session.now() - to_duration(wanted.since))),
        parent=parent,
        schedule=wanted.schedule,
        before=wanted.before,
        limit=wanted.limit,
    )
    if wanted.key is not None:
        views, next = await _of_key(door, query, key=wanted.key), None
    else:
        views, next = await _page(door, query)
    if not views and wanted.schedule is not None:
        await _check_schedule(opened, wanted.schedule, namespace=session.namespace)
    briefs = await _briefs(door, views, now=session.now())
    gates = await opened.control.list_gates(session.namespace)
    return Listing(views=views, briefs=briefs, next=next, gates=gates)


async def _check_schedule(opened: Opened, name: str, *, namespace: str) -> None:
    """Raises NotFound, with names that look alike, unless there is such a schedule or was one that left runs."""
    page = await opened.runs.list_runs(ListRuns(namespace=namespace, schedule=name, limit=1))
    if not page.runs:
        await opened.schedules.get_schedule(namespace, name)


async def _of_key(door: Runs, query: ListRuns, *, key: str) -> tuple[RunView, ...]:
    """The run a key belongs to, if it passes the other filters too."""
    try:
        view = await door.find_run(query.namespace, key)
    except NotFound:
        return ()
    run = view.run
    passes = (
        query.status in (None, run.status)
        and query.name in (None, run.name)
        and query.queue in (None, run.queue)
        and query.parent in (None, run.parent)
        and query.schedule in (None, run.schedule)
        and (query.created_after is None or run.created_at >= query.created_after)
        and (query.before is None or run.id < query.before)
    )
    return (replace(view, input=b"", output=None),) if passes else ()


async def _page(door: Runs, query: ListRuns) -> tuple[tuple[RunView, ...], str | None]:
    page = await door.list_runs(query)
    gate = asyncio.Semaphore(READERS)

    async def look(run_id: RunId) -> RunView:
        async with gate:
            view = await door.get_run(query.namespace, run_id)
        return replace(view, input=b"", output=None)

    return tuple(await asyncio.gather(*(look(run.id) for run in page.runs))), page.next


async def _briefs(door: Runs, views: Sequence[RunView], *, now: Instant) -> dict[RunId, str]:
    gate = asyncio.Semaphore(READERS)

    async def look(run: Run) -> str:
        async with gate:
            return await in_brief(door, run, now=now)

    found = await asyncio.gather(*(look(view.run) for view in views))
    return {view.run.id: brief for view, brief in zip(views, found, strict=True)}


def _record(listing: Listing, *, now: Instant) -> dict[str, object]:
    return {
        "runs": [
            records.run(view.run, key=view.key, failed=view.failure, waits_for=_waits_for(listing, view, now=now))
            for view in listing.views
        ],
        "next": listing.next,
        "paused": [records.gate(gate) for gate in listing.gates],
    }


def _waits_for(listing: Listing, view: RunView, *, now: Instant) -> str:
    if view.run.status.is_terminal:
        return ""
    return in_short(view.run, failure=view.failure, now=now, brief=listing.briefs[view.run.id])


def _drawn(session: Session, listing: Listing, *, wanted: Wanted) -> str:
    screen = session.screen
    above = screen.draw_whole(*(closed(gate, now=session.now()) for gate in listing.gates)) if listing.gates else ""
    if not listing.views:
        return above + screen.draw(Text("No runs match." if wanted.is_filtered else "No runs yet.", style=DIM))
    # Into a pipe everything is written whole: grep and awk cannot scroll.
    width = screen.width if screen.is_terminal else UNLIMITED
    drawn = screen.draw(table(listing, now=session.now(), width=width, glyphs=screen.glyphs), width=width)
    if listing.next is not None and screen.is_terminal:
        older = session.advise(f"windlass runs {wanted.filters}--before {listing.next}")
        drawn += screen.draw_whole(Text(f"older: {escape(older)}", style=DIM))
    return above + drawn


def closed(gate: Gate, *, now: Instant) -> Text:
    """One line about what is paused as a whole: it explains why runs below it wait."""
    text = f"Paused: {gate_words(gate.kind, gate.name)}"
    if gate.paused_by is not None:
        text += f" by {escape(gate.paused_by)}"
    if gate.paused_at is not None:
        text += f" since {moment(gate.paused_at, now=now)} ({between(gate.paused_at, now)})"
    if gate.note is not None:
        text += f": {escape(gate.note)}"
    return Text(text, style=STATUS_STYLES[RunStatus.PAUSED])


def table(listing: Listing, *, now: Instant, width: int, glyphs: Glyphs) -> Table:
    """One row per run. Where there is little room, ids are as long as it takes to tell them apart."""
    views = listing.views
    length = None if width >= WIDE else shortest([view.run.id for view in views])
    longest = max(width // 6, SHORTEST_NAME)
    columns: dict[str, list[Text]] = {
        "id": [Text(view.run.id[:length]) for view in views],
        "workflow": [Text(cut(escape(view.run.name), longest, glyphs=glyphs), style="bold") for view in views],
        "key": [Text(cut(escape(view.key or ""), longest, glyphs=glyphs)) for view in views],
        "status": [_status(view.run.status, glyphs) for view in views],
        "age": [Text(age(view.run.created_at, now=now), style=DIM) for view in views],
    }
    if not any(columns["key"]):
        del columns["key"]
    taken = sum(max(len(header), *(cell.cell_len for cell in cells)) + 2 for header, cells in columns.items())
    room = max(width - taken, SHORTEST_NAME)
    columns["waits"] = [_waits(listing, view, now=now, width=room, glyphs=glyphs) for view in views]
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, 2, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right" if header == "age" else "left")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _status(status: RunStatus, glyphs: Glyphs) -> Text:
    return Text(f"{status_glyph(status, glyphs=glyphs)} {status.value}", style=STATUS_STYLES[status])


def _waits(listing: Listing, view: RunView, *, now: Instant, width: int, glyphs: Glyphs) -> Text:
    brief = listing.briefs[view.run.id]
    text = cut(in_short(view.run, failure=view.failure, now=now, brief=brief), width, glyphs=glyphs)
    return Text(text, style="red" if view.run.status is RunStatus.FAILED else "")


def age(since: Instant, *, now: Instant) -> str:
    """In one unit: a column of ages is compared, not read."""
    words = between(since, now).split(" ")
    return " ".join(words[:2]) if "." not in words[0] else f"{int(float(words[0]))} {words[1]}"

"""`windlass queues`: how full each queue is, how fast it empties, and who serves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from msgspec import Struct
from rich.table import Table
from rich.text import Text

from windlass.api.service import Control, Runs
from windlass.cli import records
from windlass.cli.runs import age, closed
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import STATUS_STYLES, UNLIMITED, Glyphs, Screen, cut, escape, wrapped
from windlass.model.gate import Gate
from windlass.model.queue import QueueView
from windlass.model.run import RunStatus
from windlass.rules.queues import about, warning

DIM = "bright_black"
ALARM = "bold red"
SHORTEST_NAME = 10
PADDING = 2
FIRST_TO_GO = ("paused", "waiting", "later", "running")

NONE_YET = (
    "No queues yet: there is one as soon as a run is in it, or a worker serves it.",
    "  start a run:    windlass start MODULE:APP WORKFLOW",
    "  serve them:     windlass worker MODULE:APP",
)


class Listing(Struct, frozen=True, kw_only=True):
    queues: tuple[QueueView, ...]
    gates: tuple[Gate, ...]  # that are closed


@click.command(short_help="List queues: what is due, since when, who serves it.")
@shared_options
@click.pass_obj
def queues(session: Session, /) -> None:
    """List queues: how many runs are due and since when, what else is in them, how many end, who serves them.

    A queue is listed if a run that is not over is in it, a live worker serves it, it is paused, or a run of it ended
    within a minute.
    """
    listing = session.read(lambda opened: _read(opened.runs, opened.control, namespace=session.namespace))
    if session.is_json:
        session.screen.write_json(_record(listing))
        return
    session.screen.write(_drawn(session, listing))


async def _read(runs: Runs, control: Control, *, namespace: str) -> Listing:
    return Listing(queues=await runs.list_queues(namespace), gates=await control.list_gates(namespace))


def _record(listing: Listing) -> dict[str, object]:
    return {
        "queues": [records.queue(view) for view in listing.queues],
        "paused": [records.gate(gate) for gate in listing.gates],
    }


def _drawn(session: Session, listing: Listing) -> str:
    screen = session.screen
    above = screen.draw_whole(*(closed(gate, now=session.now()) for gate in listing.gates)) if listing.gates else ""
    if not listing.queues:
        return above + screen.draw_whole(*(Text(escape(session.advise(line)), style=DIM) for line in NONE_YET))
    # Into a pipe everything is written whole: grep and awk cannot scroll.
    width = screen.width if screen.is_terminal else UNLIMITED
    drawn = screen.draw(table(listing.queues, width=width, glyphs=screen.glyphs), width=UNLIMITED)
    alarms = [*_alarms(session, listing.queues, screen=screen)]
    return above + drawn + (screen.draw_whole(*alarms) if alarms else "")


def table(views: Sequence[QueueView], *, width: int, glyphs: Glyphs) -> Table:
    """One row per queue; in front of it a sign if it is paused, or holds what nobody will take."""
    columns: dict[str, list[Text]] = {
        "due": [_count(view.due, style=ALARM if view.unserved else "bold") for view in views],
        "oldest": [_oldest(view) for view in views],
        "running": [_count(view.running, style=STATUS_STYLES[RunStatus.RUNNING]) for view in views],
        "later": [_count(view.later) for view in views],
        "waiting": [_count(view.waiting) for view in views],
        "paused": [_count(view.paused, style=STATUS_STYLES[RunStatus.PAUSED]) for view in views],
        "ended/min": [_rate(view) for view in views],
        "workers": [_workers(view) for view in views],
    }
    room = _fit(columns, width=width)
    has_signs = any(view.unserved or view.gate for view in views)
    names = [_name(view, has_signs=has_signs, width=room, glyphs=glyphs) for view in views]
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, PADDING, 0, 0))
    drawn.add_column("  queue" if has_signs else "queue", no_wrap=True)
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right")
    for row in zip(names, *columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _fit(columns: dict[str, list[Text]], *, width: int) -> int:
    """Leave out columns of zeros while there is too little room; no number is cut. Says what is left for the names."""

    def left() -> int:
        taken = (max(len(header), *(cell.cell_len for cell in cells)) for header, cells in columns.items())
        return width - sum(taken) - PADDING * len(columns)

    for header in FIRST_TO_GO:
        if left() < SHORTEST_NAME and all(cell.plain == "0" for cell in columns[header]):
            del columns[header]
    return max(left(), SHORTEST_NAME)


def _name(view: QueueView, *, has_signs: bool, width: int, glyphs: Glyphs) -> Text:
    name = escape(view.name)
    if not has_signs:
        return Text(cut(name, width, glyphs=glyphs), style="bold")
    sign = Text("  ")
    if view.gate is not None:
        sign = Text(f"{glyphs.paused} ", style=STATUS_STYLES[RunStatus.PAUSED])
    elif view.unserved:
        sign = Text("! ", style=ALARM)
    return sign.append(cut(name, width - 2, glyphs=glyphs), style="bold default")


def _count(count: int, *, style: str = "") -> Text:
    return Text(f"{count:,}", style=style if count else DIM)


def _oldest(view: QueueView) -> Text:
    return Text("" if view.oldest_due_at is None else age(view.oldest_due_at, now=view.at))


def _rate(view: QueueView) -> Text:
    rate = view.ended_per_minute
    shown = f"{rate:.1f}" if 0 < rate < 10 and rate != int(rate) else f"{rate:,.0f}"
    return Text(about(shown, is_estimate=view.ended_is_estimate), style="" if rate else DIM)


def _workers(view: QueueView) -> Text:
    return Text(f"{view.workers:,}", style="" if view.workers else ALARM if view.unserved else DIM)


def _alarms(session: Session, views: Sequence[QueueView], *, screen: Screen) -> Iterator[Text]:
    for view in views:
        text = warning(view)
        if text is not None:
            first, *rest = wrapped(escape(session.advise(text)), width=screen.width - 2)
            yield Text("! ", style=ALARM).append(first, style="default not bold")
            yield from (Text(f"  {line}") for line in rest)

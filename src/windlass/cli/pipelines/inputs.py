"""`windlass inputs PIPELINE [INPUT]`: what came from outside, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from rich.table import Table
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli import session as sessions
from windlass.cli.lookup import shortest
from windlass.cli.pipelines import records
from windlass.cli.pipelines.names import find_input, known, pipeline_argument
from windlass.cli.pipelines.trace import tree
from windlass.cli.runs import age
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import UNLIMITED, Screen, cut, escape
from windlass.client.inputs import listed_inputs
from windlass.model.pipeline import Input, InputStatus
from windlass.model.pipeline_commands import ListInputs, Trace
from windlass.model.time import Instant

DIM = "bright_black"
WIDE = 140
STYLES = {InputStatus.PENDING: "yellow", InputStatus.DONE: "green", InputStatus.SKIPPED: DIM}


@click.command(short_help="List what came into a pipeline, and what became of it.")
@pipeline_argument
@click.argument("given", metavar="[INPUT]", required=False, type=sessions.Text())
@click.option("--status", type=click.Choice([status.value for status in InputStatus]), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
@shared_options
@click.pass_obj
def inputs(session: Session, /, name: str, given: str | None, *, status: str | None, limit: int) -> None:
    """List what came into a pipeline from outside, the newest first: how much of it is done, and what is left.

    With INPUT, its id or what it is called outside: every event it has caused, what took it, and what was done.
    """
    screen = session.screen

    async def read(opened: Opened) -> list[Input] | Trace:
        await known(opened.pipelines, name, namespace=session.namespace)
        if given is not None:
            input = await find_input(opened.pipelines, name, given, namespace=session.namespace)
            return await opened.pipelines.trace_input(session.namespace, name, input)
        wanted = None if status is None else InputStatus(status)
        query = ListInputs(namespace=session.namespace, pipeline=name, status=wanted, limit=limit)
        return await listed_inputs(opened.pipelines, query)

    found = session.read(read)
    if isinstance(found, Trace):
        _write_trace(session, found)
    elif session.is_json:
        screen.write_json({"inputs": [records.input(item) for item in found]})
    elif not found:
        line = "No inputs match." if status is not None else f"No inputs yet in pipeline {escape(name)}."
        screen.write(screen.draw_whole(Text(line, style=DIM)))
    else:
        width = screen.width if screen.is_terminal else UNLIMITED
        screen.write(screen.draw(_table(found, now=session.now(), width=width, screen=screen), width=width))


def _write_trace(session: Session, found: Trace) -> None:
    if session.is_json:
        session.screen.write_json(records.trace(found))
        return
    screen = session.screen
    lines = [*_header(found.input, now=session.now(), screen=screen), *tree(found, screen=screen)]
    screen.write(screen.draw_whole(*lines))


def _header(item: Input, *, now: Instant, screen: Screen) -> Iterator[Text]:
    title = Text(f"{item.status.value}  ", style=STYLES[item.status])
    yield title.append(escape(item.title or item.external_id), style="bold default")
    dot = screen.glyphs.dot
    facts = [item.id, _outside(item), f"{age(item.created_at, now=now)} ago", _done(item)]
    if item.skipped_by is not None:
        facts.append(f"skipped by {escape(item.skipped_by)}")
    yield Text(f"  {f' {dot} '.join(facts)}", style=DIM)


def _table(found: Sequence[Input], *, now: Instant, width: int, screen: Screen) -> Table:
    length = None if width >= WIDE else shortest([item.id for item in found])
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, 2, 0, 0))
    for header in ("id", "status", "came", "events", "from", "title"):
        drawn.add_column(header, no_wrap=True, justify="right" if header == "came" else "left", overflow="ellipsis")
    for item in found:
        word = item.status.value + (", stale" if item.is_stale else "")
        drawn.add_row(
            Text(item.id[:length]),
            Text(word, style="bold red" if item.is_stale else STYLES[item.status]),
            Text(f"{age(item.created_at, now=now)} ago", style=DIM),
            Text(_done(item)),
            Text(cut(_outside(item), max(width // 3, 20), glyphs=screen.glyphs)),
            Text(escape(item.title)),
        )
    return drawn


def _done(item: Input) -> str:
    if not item.events:
        return "no events"
    return f"{item.events - item.pending:,} of {item.events:,} done"


def _outside(item: Input) -> str:
    """What it is called outside."""
    return escape(f"{item.source} {item.type} {item.external_id}")

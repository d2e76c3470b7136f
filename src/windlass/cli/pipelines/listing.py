"""`windlass pipelines`: which there are, how each stands, and what keeps one from going on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from rich.table import Table
from rich.text import Text

from windlass.cli.pipelines import records
from windlass.cli.runs import age
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import STATUS_STYLES, UNLIMITED, Glyphs, Screen, cut, escape, wrapped
from windlass.model.pipeline_commands import PipelineDetail
from windlass.model.run import RunStatus
from windlass.model.time import Instant
from windlass.rules.pipeline_words import Word

DIM = "bright_black"
PADDING = 2
STYLES = {
    Word.RUNNING: STATUS_STYLES[RunStatus.RUNNING],
    Word.IDLE: "green",
    Word.ATTENTION: "bold red",
    Word.STOPPED: STATUS_STYLES[RunStatus.PAUSED],
}
NONE_YET = (
    "No pipelines yet. Declare one in code; it is there once a worker of that code has started:",
    '  payments = app.pipeline("payments")',
    "  windlass worker MODULE:APP",
)

Columns = dict[str, list[Text]]


@click.command(short_help="List pipelines, and how each stands.")
@shared_options
@click.pass_obj
def pipelines(session: Session, /) -> None:
    """List pipelines: how each stands and what it waits for, when it looks next, what is left to do.

    `windlass show PIPELINE` has all about one.
    """
    found = session.read(lambda opened: opened.pipelines.list_pipelines(session.namespace))
    if session.is_json:
        session.screen.write_json({"pipelines": [records.detail(item) for item in found]})
    else:
        session.screen.write(drawn(session, found))


def drawn(session: Session, found: Sequence[PipelineDetail]) -> str:
    """A table with what each waits for beside or below it; where there is no room for one, some lines for each."""
    screen = session.screen
    if not found:
        return screen.draw_whole(*(Text(escape(session.advise(line)), style=DIM) for line in NONE_YET))
    width = screen.width if screen.is_terminal else UNLIMITED  # into a pipe everything is written whole
    columns = _columns(found, now=session.now(), glyphs=screen.glyphs)
    issues = [issue_of(session, item) for item in found]
    with_issues = {**columns, "issue": [Text(issue) for issue in issues]} if any(issues) else columns
    if _taken(with_issues) <= width:
        return screen.draw(_table(with_issues), width=UNLIMITED)
    if _taken(columns) <= width:
        notes = [*_notes(found, issues, screen=screen)]
        return screen.draw(_table(columns), width=UNLIMITED) + screen.draw_whole(*notes)
    return screen.draw_whole(*_blocks(found, issues, now=session.now(), screen=screen))


def status(word: str, *, glyphs: Glyphs) -> Text:
    signs = {
        Word.RUNNING: glyphs.running,
        Word.IDLE: glyphs.pending,
        Word.ATTENTION: "!",
        Word.STOPPED: glyphs.paused,
    }
    known = Word(word)
    return Text(f"{signs[known]} {word}", style=STYLES[known])


def issue_of(session: Session, item: PipelineDetail) -> str:
    """What is said about it, with the options given in every command, safe to show."""
    return escape(session.advise(item.summary.issue))


def next_check(item: PipelineDetail, *, now: Instant) -> str:
    at = item.summary.next_check
    if at is None:
        return ""
    return "now" if at <= now else f"in {age(now, now=at)}"


def _columns(found: Sequence[PipelineDetail], *, now: Instant, glyphs: Glyphs) -> Columns:
    return {
        "name": [Text(escape(item.summary.name), style="bold") for item in found],
        "status": [status(item.summary.status, glyphs=glyphs) for item in found],
        "schedule": [Text(escape(item.summary.schedule)) for item in found],
        "next check": [Text(next_check(item, now=now)) for item in found],
        "pending": [Text(item.summary.pending) for item in found],
    }


def _table(columns: Columns) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, PADDING, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _taken(columns: Columns) -> int:
    widths = (max(len(header), *(cell.cell_len for cell in cells)) for header, cells in columns.items())
    return sum(widths) + PADDING * (len(columns) - 1)


def _notes(found: Sequence[PipelineDetail], issues: Sequence[str], *, screen: Screen) -> Iterator[Text]:
    for item, issue in zip(found, issues, strict=True):
        lines = wrapped(f"{escape(item.summary.name)}: {issue}", width=screen.width - PADDING) if issue else []
        for number, line in enumerate(lines):
            yield Text(line if number == 0 else f"  {line}", style=STYLES[Word(item.summary.status)])


def _blocks(found: Sequence[PipelineDetail], issues: Sequence[str], *, now: Instant, screen: Screen) -> Iterator[Text]:
    room = min(max(len(escape(item.summary.name)) for item in found), screen.width // 3) + PADDING
    for item, issue in zip(found, issues, strict=True):
        name = cut(escape(item.summary.name), room - PADDING, glyphs=screen.glyphs)
        yield Text(f"{name:{room}}", style="bold").append_text(
            status(item.summary.status, glyphs=screen.glyphs).append("")
        )
        following = next_check(item, now=now)
        facts = [item.summary.schedule, f"next {following}" if following else "", item.summary.pending]
        about = f" {screen.glyphs.dot} ".join(escape(fact) for fact in facts if fact)
        for line in wrapped(about, width=screen.width - room):
            yield Text(" " * room + line)
        for line in wrapped(issue, width=screen.width - room) if issue else []:
            yield Text(" " * room + line, style=STYLES[Word(item.summary.status)])

"""`windlass firings`: what signals have fired, the newest first, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from rich.text import Text

from windlass.api.checks_of_signals import FIRING_CURSOR
from windlass.assembly import Opened
from windlass.cli import session as sessions
from windlass.cli.columns import DIM, PADDING, Columns, indented, table, taken, width_for
from windlass.cli.lookup import shortest
from windlass.cli.runs import age
from windlass.cli.session import Session, shared_options
from windlass.cli.signals import records
from windlass.cli.signals.names import SIGNAL, find_signal
from windlass.cli.terminal import Glyphs, Screen, cut, escape
from windlass.errors import InvalidInput
from windlass.model.duration import between
from windlass.model.signal import FiringPage, FiringRow, FiringStatus, ListFirings
from windlass.model.time import Instant

RIGHT = ("attempt", "age")
LONGEST_OUTCOME = 60
STYLES = {
    FiringStatus.QUEUED: "yellow",
    FiringStatus.RUNNING: "cyan",
    FiringStatus.DONE: "green",
    FiringStatus.FAILED: "bold red",
    FiringStatus.SUPERSEDED: DIM,
}


def _check_cursor(text: str) -> str:
    if FIRING_CURSOR.fullmatch(text) is None:
        message = f"{text[:60]!a} is not `next` of a page before, as --json has it."
        raise InvalidInput(message, reason="invalid_cursor", path="--before")
    return text


@click.command(short_help="List what signals have fired, and what became of it.")
@click.argument("signal", metavar="[SIGNAL]", required=False, type=sessions.Text(SIGNAL.check))
@click.option("--status", type=click.Choice([status.value for status in FiringStatus]), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
@click.option(
    "--before", type=sessions.Text(_check_cursor), metavar="CURSOR", help="Only older ones: `next` of the page before."
)
@shared_options
@click.pass_obj
def firings(session: Session, /, signal: str | None, *, status: str | None, limit: int, before: str | None) -> None:
    """List what signals have fired, or one of them, the newest first: because of what, and what became of it.

    Of one that failed for good its signal is paused: `windlass resume SIGNAL` tries it again.
    """

    async def read(opened: Opened) -> FiringPage:
        found = None
        if signal is not None:
            found = (await find_signal(opened.signals, signal, namespace=session.namespace)).signal.id
        query = ListFirings(
            namespace=session.namespace,
            signal_id=found,
            status=None if status is None else FiringStatus(status),
            before=before,
            limit=limit,
        )
        return await opened.signals.list_firings(query)

    page, screen = session.read(read), session.screen
    if session.is_json:
        screen.write_json({"firings": [records.firing(item) for item in page.firings], "next": page.next})
    elif not page.firings:
        line = "No firings match." if status is not None or before is not None else "Nothing has fired yet."
        screen.write(screen.draw(Text(line, style=DIM)))
    else:
        filters = "".join([f"{signal} " if signal else "", f"--status {status} " if status else ""])
        screen.write(_drawn(session, page, filters=filters, has_signal=signal is None))


def _drawn(session: Session, page: FiringPage, *, filters: str, has_signal: bool) -> str:
    screen, now = session.screen, session.now()
    width, found = width_for(screen), page.firings
    for columns in (
        columns_of(found, now=now, screen=screen, has_signal=has_signal, is_short=False),
        columns_of(found, now=now, screen=screen, has_signal=has_signal, is_short=True),
    ):
        if taken(columns) <= width:
            shown = screen.draw(table(columns, right=RIGHT), width=taken(columns))
            break
    else:
        shown = screen.draw_whole(*blocks(found, now=now, screen=screen, has_signal=has_signal))
    if page.next is not None and screen.is_terminal:
        older = session.advise(f"windlass firings {filters}--before {page.next}")
        shown += screen.draw_whole(Text(f"older: {escape(older)}", style=DIM))
    return shown


def columns_of(
    found: Sequence[FiringRow], *, now: Instant, screen: Screen, has_signal: bool, is_short: bool
) -> Columns:
    """`is_short`: ids as long as it takes to tell them apart, and none of the firing: that of its signal is in it."""
    glyphs = screen.glyphs
    length = shortest([*{item.signal_id for item in found}]) if is_short else None
    subjects = shortest([*{item.subject_id for item in found}]) if is_short else None
    columns: Columns = {
        "id": [Text(escape(item.id)) for item in found],
        "signal": [Text(item.signal_id[:length]) for item in found],
        "subject": [Text(escape(_subject(item)[:subjects])) for item in found],
        "change": [Text(change(item, glyphs=glyphs)) for item in found],
        "status": [status_of(item) for item in found],
        "attempt": [Text(f"{item.attempt:,}") for item in found],
        "outcome": [
            Text(cut(outcome(item, now=now), LONGEST_OUTCOME if is_short else 10_000, glyphs=glyphs)) for item in found
        ],
        "age": [Text(age(item.created_at, now=now), style=DIM) for item in found],
    }
    if is_short:
        del columns["id"]
    if is_short and not has_signal:
        del columns["signal"]
    return columns


def blocks(found: Sequence[FiringRow], *, now: Instant, screen: Screen, has_signal: bool) -> Iterator[Text]:
    """Beside each status because of what; below that what became of it."""
    room = max(len(item.status) for item in found) + PADDING
    for item in found:
        head = status_of(item)
        head.pad_right(room - head.cell_len)
        facts = [_subject(item), change(item, glyphs=screen.glyphs), f"{age(item.created_at, now=now)} ago"]
        if item.attempt > 1:
            facts.append(f"attempt {item.attempt:,}")
        first, *rest = indented(escape(f" {screen.glyphs.dot} ".join(facts)), screen=screen, by=room)
        yield head.append(first.plain[room:], style="default not bold")
        yield from rest
        became = outcome(item, now=now)
        led = f"led to {became}" if became and item.status is FiringStatus.DONE else became
        told = ": ".join(filter(None, [item.signal_id if has_signal else "", led]))
        yield from indented(told, screen=screen, by=room, style=DIM) if told else ()


def status_of(item: FiringRow) -> Text:
    return Text(item.status.value, style=STYLES[item.status])


def change(item: FiringRow, *, glyphs: Glyphs) -> str:
    """ "running → failed"; of a time nothing has changed."""
    if item.subject_kind == "time":
        return "the time came"
    return escape(f"{item.from_status or 'new'} {glyphs.arrow} {item.to_status}")


def outcome(item: FiringRow, *, now: Instant) -> str:
    """The run it started or sent to, the task it noted, or the error, and when it is tried again; safe to show."""
    done = item.run_id or item.task_id
    if item.status is FiringStatus.DONE:
        return done or ""
    error = escape(" ".join((item.error or "").split()))
    if item.status is not FiringStatus.QUEUED:
        return error
    if item.available_at is None:
        return f"{error}; waits until its signal is resumed" if error else "waits until its signal is resumed"
    if item.attempt and item.available_at > now:
        return f"{error}; again in {between(now, item.available_at)}"
    return error


def _subject(item: FiringRow) -> str:
    return item.subject_id if item.subject_kind != "time" else "time"

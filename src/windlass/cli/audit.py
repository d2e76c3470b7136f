"""`windlass audit`: what was done over the network, by whom, and who was turned away."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text as Line

from windlass.cli import records
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import UNLIMITED, Glyphs, cut, escape
from windlass.model.access import EVERY_NAMESPACE, AuditEntry, AuditPage, ListAudit
from windlass.model.duration import moment
from windlass.model.time import Instant

DIM = "bright_black"
PADDING = 2
SHORTEST_CHANGE = 12
SHOWN_OF_A_KEY = 14  # characters that tell keys apart
LONGEST_SUBJECT = 34

NOTHING_YET = (
    "Nothing yet. Here stands which keys and namespaces were made, what was steered over the network,",
    "and who was turned away.",
)


@click.command(short_help="Show what was done over the network, and by whom.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
@click.option("--before", type=click.IntRange(1), metavar="NUMBER", help="Only what was done before this entry.")
@shared_options
@click.pass_obj
def audit(session: Session, /, *, limit: int, before: int | None) -> None:
    """Show what was done over the network, by which key, and who was turned away; the newest first.

    Of every namespace, unless --namespace names one. What code does that has the database itself stands in the log of
    what it concerns; of keys and namespaces it stands here too, as done by "local".
    """
    query = ListAudit(namespace=session.wide_namespace or EVERY_NAMESPACE, before=before, limit=limit)
    page = session.read(lambda opened: opened.access.list_audit(query))
    if session.is_json:
        entries = [records.audit_entry(entry) for entry in page.entries]
        session.screen.write_json({"entries": entries, "next": page.next})
        return
    session.screen.write(_drawn(session, page, limit=limit))


def _drawn(session: Session, page: AuditPage, *, limit: int) -> str:
    screen = session.screen
    if not page.entries:
        return screen.draw_whole(*(Line(line, style=DIM) for line in NOTHING_YET))
    width = screen.width if screen.is_terminal else UNLIMITED
    drawn = screen.draw(table(page, now=session.now(), width=width, glyphs=screen.glyphs), width=UNLIMITED)
    if page.next is not None and screen.is_terminal:
        older = session.advise(f"windlass audit --limit {limit} --before {page.next}")
        drawn += screen.draw_whole(Line(f"older: {escape(older)}", style=DIM))
    return drawn


def table(page: AuditPage, *, now: Instant, width: int, glyphs: Glyphs) -> Table:
    """One row per act; what does not fit is cut in the last column."""
    is_narrow = width < UNLIMITED
    columns: dict[str, list[Line]] = {
        "when": [Line(moment(entry.at, now=now), style=DIM) for entry in page.entries],
        "by": [Line(escape(entry.actor[:SHOWN_OF_A_KEY] if is_narrow else entry.actor)) for entry in page.entries],
        "did": [Line(escape(entry.action), style="bold") for entry in page.entries],
        "namespace": [Line(escape(entry.namespace)) for entry in page.entries],
        "to": [_subject(entry, is_narrow=is_narrow, glyphs=glyphs) for entry in page.entries],
    }
    if is_narrow and len({entry.namespace for entry in page.entries}) == 1:
        del columns["namespace"]
    taken = sum(max(len(header), *(cell.cell_len for cell in cells)) + PADDING for header, cells in columns.items())
    room = max(width - taken, SHORTEST_CHANGE)
    columns["change"] = [_change(entry, width=room, glyphs=glyphs) for entry in page.entries]
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, PADDING, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _subject(entry: AuditEntry, *, is_narrow: bool, glyphs: Glyphs) -> Line:
    text = escape(entry.subject)
    return Line(cut(text, LONGEST_SUBJECT, glyphs=glyphs) if is_narrow else text)


def _change(entry: AuditEntry, *, width: int, glyphs: Glyphs) -> Line:
    before, after = escape(entry.before or ""), escape(entry.after or "")
    text = f"{before} {glyphs.arrow} {after}" if before else after
    return Line(cut(text, width, glyphs=glyphs), style="red" if after.startswith("refused") else "")

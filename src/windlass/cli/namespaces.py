"""`windlass namespaces`: who shares the database; make one, stop one, remove one."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text as Line

from windlass.api.service import Namespaces
from windlass.cli import records
from windlass.cli.runs import age
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import UNLIMITED, Glyphs, cut, escape
from windlass.cli.values import note_option
from windlass.model.namespace import CreateNamespace, Namespace
from windlass.model.time import Instant
from windlass.rules.limits import check_namespace
from windlass.rules.namespaces import standing

DIM = "bright_black"
PADDING = 2
SHORTEST_NAME, SHORTEST_NOTE = 10, 10
PAGE = 500

name_argument = click.argument("name", metavar="NAME", type=Text(check_namespace))


@click.group(invoke_without_command=True, short_help="List namespaces; make, disable or delete one.")
@shared_options
@click.pass_context
def namespaces(ctx: click.Context, /) -> None:
    """List namespaces: those that were made, and those that are in use without having been made."""
    if ctx.invoked_subcommand is None:
        _list(ctx.ensure_object(Session))


@namespaces.command(name="list", short_help="List namespaces: what `windlass namespaces` does.")
@shared_options
@click.pass_obj
def list_namespaces(session: Session, /) -> None:
    """List namespaces, by name."""
    _list(session)


@namespaces.command(short_help="Make a namespace.")
@name_argument
@note_option
@shared_options
@click.pass_obj
def create(session: Session, /, name: str, *, note: str | None) -> None:
    """Make a namespace, so that keys can be made for it. Programs with the database itself need none to be made."""
    made = session.change(lambda opened: opened.namespaces.create_namespace(CreateNamespace(name=name, note=note)))
    then = f"windlass keys create --role worker --namespace {name}"
    _report(session, made, f"Namespace {escape(name)} is there. A key for its workers: {escape(then)}")


@namespaces.command(short_help="Let a disabled namespace go on.")
@name_argument
@shared_options
@click.pass_obj
def enable(session: Session, /, name: str) -> None:
    """Let a disabled namespace go on: runs are taken up again, and schedules fire. Times that have passed meanwhile
    follow the catch-up of their schedule."""
    changed = session.change(lambda opened: opened.namespaces.set_enabled(name, is_enabled=True))
    _report(session, changed, f"Namespace {escape(name)} is enabled.")


@namespaces.command(short_help="Let nothing happen in a namespace.")
@name_argument
@shared_options
@click.pass_obj
def disable(session: Session, /, name: str) -> None:
    """Let nothing be taken up or fired in a namespace, and a server start nothing in it, until it is enabled again.

    What is at work may come to its end. Nothing is lost.
    """
    changed = session.change(lambda opened: opened.namespaces.set_enabled(name, is_enabled=False))
    then = session.advise(f"windlass namespaces enable {name}")
    _report(session, changed, f"Namespace {escape(name)} is disabled: nothing is taken up in it. Then: {escape(then)}")


@namespaces.command(short_help="Remove a namespace that is empty.")
@name_argument
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@shared_options
@click.pass_obj
def delete(session: Session, /, name: str, *, is_sure: bool) -> None:
    """Remove a namespace that is disabled and holds no run, no schedule and no live worker.

    Its keys are revoked; its log and its audit stay.

    Asks once on a terminal; elsewhere --yes is needed.
    """
    if not is_sure:
        _ask(session, name)
    session.change(lambda opened: opened.namespaces.delete_namespace(name))
    if session.is_json:
        session.screen.write_json({"name": name, "is_deleted": True})
        return
    _say(session, f"Namespace {escape(name)} is deleted, and its keys are revoked.")


def _ask(session: Session, name: str) -> None:
    if session.is_json or not (session.screen.is_terminal and sys.stdin.isatty()):
        raise click.UsageError(f"Deleting {escape(name)} cannot be taken back: say --yes where nobody can be asked.")
    if not click.confirm(f"Delete namespace {escape(name)}, and revoke its keys?", err=True):
        raise click.ClickException("Nothing was deleted.")


def _report(session: Session, namespace: Namespace, text: str) -> None:
    if session.is_json:
        session.screen.write_json(records.namespace(namespace))
        return
    _say(session, text)


def _say(session: Session, text: str) -> None:
    session.screen.write(session.screen.draw_whole(Line(text)))


def _list(session: Session) -> None:
    found = session.read(lambda opened: _all(opened.namespaces))
    if session.is_json:
        session.screen.write_json({"namespaces": [records.namespace(item) for item in found]})
        return
    screen = session.screen
    width = screen.width if screen.is_terminal else UNLIMITED
    screen.write(screen.draw(table(found, now=session.now(), width=width, glyphs=screen.glyphs), width=UNLIMITED))


async def _all(door: Namespaces) -> list[Namespace]:
    found: list[Namespace] = []
    after: str | None = None
    while True:
        page = await door.list_namespaces(after, PAGE)
        found += page.namespaces
        if page.next is None:
            return found
        after = page.next


def table(found: Sequence[Namespace], *, now: Instant, width: int, glyphs: Glyphs) -> Table:
    """One row per namespace; since when is known only of those that were made."""
    longest = max(width // 3, SHORTEST_NAME)
    names = [Line(cut(escape(item.name), longest, glyphs=glyphs), style="bold") for item in found]
    columns: dict[str, list[Line]] = {
        "namespace": names,
        "status": [Line(standing(item), style="green" if item.is_enabled else "bold magenta") for item in found],
        "made": [Line(age(item.created_at, now=now) if item.created_at else "", style=DIM) for item in found],
        "disabled": [Line("" if item.disabled_at is None else age(item.disabled_at, now=now)) for item in found],
    }
    columns = {header: cells for header, cells in columns.items() if any(cells)}
    taken = sum(max(len(header), *(cell.cell_len for cell in cells)) + PADDING for header, cells in columns.items())
    room = max(width - taken, SHORTEST_NOTE)
    if any(item.note for item in found):
        notes = [escape(" ".join((item.note or "").split())) for item in found]
        columns["note"] = [Line(cut(note, room, glyphs=glyphs)) for note in notes]
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, PADDING, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right" if header in ("made", "disabled") else "left")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn

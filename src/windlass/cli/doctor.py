"""`windlass doctor`: is the database in order, and what is set for it? It only looks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from windlass.assembly import open_engine
from windlass.cli.session import Session, is_missing, shared_options
from windlass.cli.terminal import Screen, escape, wrapped
from windlass.embedded import open_admin, read_schema_version
from windlass.errors import WindlassError
from windlass.model.checkup import Check, Checkup, Grade
from windlass.rules import checkup as rules
from windlass.runtime import system_rng
from windlass.settings import FILE, OPTIONS, Location, Settings, parse_url, read_settings, resolve_url
from windlass.store.sqlite.file import left_beside

STYLES = {Grade.GOOD: "green", Grade.WARNING: "yellow", Grade.FAILED: "bold red", Grade.SKIPPED: "bright_black"}
DIM = "bright_black"
SHOWN_LEFT = 3  # files


@click.command(short_help="Check that the database is in order.")
@shared_options
@click.pass_context
def doctor(ctx: click.Context, /) -> None:
    """Check the settings, and the database: schema, durability, files, tables, consistency, workers, schedules,
    pipelines, time-outs, retention, feed, clock.

    It only looks: nothing is created, migrated or repaired. Exit code 1 if a check failed; warnings do not count.
    """
    session = ctx.ensure_object(Session)
    where, checks = _configured(session)
    if where is not None:
        checks += asyncio.run(_examined(session, where))
    checkup = Checkup(checks=tuple(replace(check, text=session.advise(check.text)) for check in checks))
    shown = None if where is None else where.location.shown
    if session.is_json:
        session.screen.write_json(_record(checkup, where=shown))
    else:
        lines = _page(checkup, where=shown or "unknown database", screen=session.screen)
        session.screen.write(session.screen.draw_whole(*lines))
    if not checkup.is_sound:
        ctx.exit(1)


class Where(Struct, frozen=True, kw_only=True):
    """The database to look at, and what is set for it."""

    url: str
    settings: Settings

    @property
    def location(self) -> Location:
        return parse_url(self.url)


def _configured(session: Session) -> tuple[Where | None, list[Check]]:
    """Judge the settings. Where they cannot be read, a database is known only if it was named on the command line."""
    try:
        settings, warnings = read_settings()
    except WindlassError as error:
        failed = rules.unreadable("settings", str(error))
        if session.given_url is None:
            return None, [failed, rules.skipped("database", "which one it is stands in the settings")]
        return Where(url=resolve_url(session.given_url, Settings()), settings=Settings()), [failed]
    variables = [option.variable for option in OPTIONS if os.environ.get(option.variable, "").strip()]
    file = FILE if Path(FILE).exists() else None
    url = resolve_url(session.given_url, settings)
    return Where(url=url, settings=settings), [rules.settings(file=file, variables=variables, warnings=warnings)]


async def _examined(session: Session, where: Where) -> list[Check]:
    if where.location.kind == "grpc":
        return await _asked_of_server(session, where)
    if is_missing(where.location):
        return [rules.unreadable("schema", _missing(where.location))]
    checks: list[Check] = []
    try:
        # First and without opening the engine, which would migrate.
        version = await read_schema_version(where.url)
        checks.append(rules.schema(found=version.found, known=version.known))
        async with open_admin(where.url, version, clock=session.clock, settings=where.settings) as admin:
            checks += (await admin.check_up()).checks
    except WindlassError as error:
        checks.append(rules.unreadable("database" if checks else "schema", str(error)))
    return checks


def _missing(location: Location) -> str:
    """Tell a file that was removed from one that was never there."""
    left = left_beside(location.target)
    if not left:
        return f"{location.shown} does not exist: name another with --url, or create it: windlass migrate"
    names = ", ".join(left[:SHOWN_LEFT]) + (", …" if len(left) > SHOWN_LEFT else "")
    return (
        f"{location.shown} was removed: what belongs to it is still beside it ({names}). Restore it from a backup, or "
        "remove this too and begin anew: windlass migrate"
    )


async def _asked_of_server(session: Session, where: Where) -> list[Check]:
    """What a server says of its database; its schema is as the server needs it, or it would not have started."""
    try:
        opened = await open_engine(where.url, where.settings, clock=session.clock, rng=system_rng())
    except WindlassError as error:
        return [rules.unreadable("server", str(error))]
    try:
        return list((await opened.admin.check_up()).checks)
    except WindlassError as error:
        return [rules.unreadable("server", str(error))]
    finally:
        await opened.close()


def _page(checkup: Checkup, *, where: str, screen: Screen) -> Iterator[Text]:
    yield Text(escape(where), style="bold")
    room = max(len(check.name) for check in checkup.checks)
    for check in checkup.checks:
        sign = _sign(check.grade, screen)
        first, *rest = wrapped(escape(check.text), width=screen.width - room - 5)
        yield Text(f" {sign} {check.name:{room}}  ", style=STYLES[check.grade]).append(first, style="default not bold")
        for line in rest:
            yield Text(f"{'':{room + 5}}{line}")
        for detail in check.details:
            head, *tail = wrapped(escape(detail), width=screen.width - room - 7)
            yield Text(f"{'':{room + 5}}{screen.glyphs.dot} {head}", style=DIM)
            for line in tail:
                yield Text(f"{'':{room + 7}}{line}", style=DIM)
    yield _conclusion(checkup)


def _sign(grade: Grade, screen: Screen) -> str:
    signs = {Grade.GOOD: screen.glyphs.completed, Grade.FAILED: screen.glyphs.failed, Grade.WARNING: "!"}
    return signs.get(grade, screen.glyphs.skipped)


def _conclusion(checkup: Checkup) -> Text:
    failed = sum(check.grade is Grade.FAILED for check in checkup.checks)
    warnings = sum(check.grade is Grade.WARNING for check in checkup.checks)
    said = "The database is in order" if checkup.is_sound else "1 check failed" if failed == 1 else f"{failed} failed"
    if warnings:
        said += f"; {'1 warning does' if warnings == 1 else f'{warnings} warnings do'} not count against it"
    return Text(said + ".", style="green" if checkup.is_sound else "bold red")


def _record(checkup: Checkup, *, where: str | None) -> dict[str, object]:
    return {
        "database": where,
        "is_sound": checkup.is_sound,
        "checks": [
            {"name": check.name, "grade": check.grade.value, "text": check.text, "details": list(check.details)}
            for check in checkup.checks
        ],
    }

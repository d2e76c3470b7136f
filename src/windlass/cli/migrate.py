"""`windlass migrate`: bring a database up to date, or only say whether it is."""

from __future__ import annotations

import asyncio

import click

from windlass.assembly import open_engine
from windlass.cli.session import Session, is_missing, shared_options
from windlass.cli.terminal import escape
from windlass.embedded import SchemaVersion, read_schema_version
from windlass.errors import NotAllowed
from windlass.runtime import system_rng


@click.command()
@click.option("--check", "is_check", is_flag=True, help="Only look: exit code 1 if the database is behind.")
@shared_options
@click.pass_context
def migrate(ctx: click.Context, /, *, is_check: bool) -> None:
    """Create the database or bring its schema up to date. Doing it twice is harmless."""
    session = ctx.ensure_object(Session)
    where = session.location.shown
    if session.location.kind == "grpc":
        raise NotAllowed(f"{where} is a server: it brings its database up to date itself when it starts.")
    has_file = not is_missing(session.location)
    before = asyncio.run(read_schema_version(session.url))
    if not is_check and before.is_behind:
        asyncio.run(_migrate(session))
    if session.is_json:
        session.screen.write_json(
            {
                "database": where,
                "from": before.found,
                "to": before.known,
                "is_current": not (is_check and before.is_behind),
            }
        )
    else:
        sentence = _sentence(where, before, is_check=is_check, has_file=has_file)
        session.screen.write(escape(session.advise(sentence)) + "\n")
    if is_check and before.is_behind:
        ctx.exit(1)


async def _migrate(session: Session) -> None:
    opened = await open_engine(session.url, session.settings, clock=session.clock, rng=system_rng())
    await opened.close()


def _sentence(where: str, version: SchemaVersion, *, is_check: bool, has_file: bool) -> str:
    if not version.is_behind:
        return f"{where} is up to date: schema {version.known}."
    if not is_check:
        made = f"migrated from schema {version.found}" if version.found else "created"
        return f"{where} is {made}, now schema {version.known}."
    if not has_file:
        return f"{where} does not exist; windlass migrate creates it with schema {version.known}."
    state = f"has schema {version.found}" if version.found else "has no schema yet"
    return f"{where} {state}; windlass migrate brings it to {version.known}."

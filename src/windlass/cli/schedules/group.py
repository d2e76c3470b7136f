"""`windlass schedules`: which there are; and below it, what is done about them."""

from __future__ import annotations

import shlex
from typing import Any

import click

from windlass.cli.schedules import listing
from windlass.cli.schedules.create import create
from windlass.cli.schedules.preview import preview
from windlass.cli.schedules.show import show
from windlass.cli.schedules.steer import delete, pause, resume, trigger
from windlass.cli.session import Session, shared_options

LISTS = ("list", "ls")  # what other programs call it


class InOrder(click.Group):
    """Commands in the order of a schedule's life, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:  # whoever types a name here wants to see that one
            hint = f"To see one schedule: windlass schedules show {shlex.quote(args[0])}"
            if args[0] in LISTS:
                hint = "To list schedules: windlass schedules"
            raise click.UsageError(f"{error.format_message()} {hint}.", ctx) from None


@click.group(
    cls=InOrder, invoke_without_command=True, short_help="List schedules; create, pause, resume or trigger one."
)
@shared_options
@click.pass_context
def schedules(ctx: click.Context, /) -> None:
    """List schedules: what each starts and when, its next time, its last run, and why one does not fire."""
    if ctx.invoked_subcommand is not None:
        return
    session = ctx.ensure_object(Session)
    items = session.read(lambda opened: listing.read(session, opened))
    if session.is_json:
        session.screen.write_json(listing.record(items))
    else:
        session.screen.write(listing.drawn(session, items))


for command in (show, create, preview, pause, resume, trigger, delete):
    schedules.add_command(command)

"""A command that lists things, with commands below it that do something about one of them."""

from __future__ import annotations

import shlex
from typing import Any

import click

LISTS = ("list", "ls")  # what other programs call it


class ListingGroup(click.Group):
    """Its commands stand in the order of a thing's life; whoever types an id behind its name is told what to type."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = f"To see one: windlass {self.name} show {shlex.quote(args[0])}"
            if args[0] in LISTS:
                hint = f"To list them: windlass {self.name}"
            raise click.UsageError(f"{error.format_message()} {hint}.", ctx) from None

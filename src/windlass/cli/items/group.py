"""`windlass items`: which work items there are; and below it, what is done about them."""

from __future__ import annotations

import click

from windlass.cli.groups import ListingGroup
from windlass.cli.items import listing
from windlass.cli.items.create import create
from windlass.cli.items.show import show
from windlass.cli.items.steer import add_task, delete, end_task, move
from windlass.cli.session import Session, Text, shared_options
from windlass.model.item import ItemStatus, ListItems
from windlass.rules.limits import check_item_id


@click.group(
    cls=ListingGroup, invoke_without_command=True, short_help="List work items; create, show, move or delete one."
)
@click.option("--status", type=click.Choice([status.value for status in ItemStatus]), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
@click.option("--before", type=Text(check_item_id), metavar="ITEM", help="Only items older than this one.")
@shared_options
@click.pass_context
def items(ctx: click.Context, /, *, status: str | None, limit: int, before: str | None) -> None:
    """List work items, the newest first: their states, how urgent they are, and how many of their tasks are open."""
    if ctx.invoked_subcommand is not None:
        return
    session = ctx.ensure_object(Session)
    wanted = None if status is None else ItemStatus(status)
    query = ListItems(namespace=session.namespace, status=wanted, before=before, limit=limit)
    found = session.read(lambda opened: listing.read(opened.items, query))
    if session.is_json:
        session.screen.write_json(listing.record(found))
    else:
        session.screen.write(listing.drawn(session, found, status=status, before=before))


for command in (show, create, move, add_task, end_task, delete):
    items.add_command(command)

"""`windlass items show ITEM`: everything about one work item on a page."""

from __future__ import annotations

import click

from windlass.cli.items.names import item_argument
from windlass.cli.items.page import show_item
from windlass.cli.session import Session, shared_options


@click.command(short_help="Show one work item: its tasks, its signals, its history.")
@item_argument
@shared_options
@click.pass_obj
def show(session: Session, /, item: str) -> None:
    """Show one work item: its state and where it may go, its tasks, the signals that watch it, and who moved it."""
    show_item(session, item)

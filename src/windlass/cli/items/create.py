"""`windlass items create TITLE`: put a work item into the backlog."""

from __future__ import annotations

import click
from rich.text import Text as Line

from windlass.cli.items import records
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import Json, Value, by_option, person
from windlass.codec import Codec
from windlass.model.item import CreateItem, ItemStatus
from windlass.rules.items import HIGHEST_ITEM_PRIORITY, check_title
from windlass.rules.limits import check_key


@click.command(short_help="Put a work item into the backlog.")
@click.argument("title", metavar="TITLE", type=Text(check_title))
@click.option(
    "--priority", type=click.IntRange(0, HIGHEST_ITEM_PRIORITY), default=0, show_default=True, metavar="NUMBER",
    help="What that means is up to whoever works on it.",
)  # fmt: skip
@click.option("--data", type=Json(), help="Whatever belongs to it, in JSON.")
@click.option("--key", type=Text(check_key), help="The same key again is the same item.")
@by_option
@shared_options
@click.pass_obj
def create(
    session: Session, /, title: str, *, priority: int, data: Value | None, key: str | None, by: str | None
) -> None:
    """Put a work item into the backlog, and print its id. With a --key that was used before nothing is made."""
    command = CreateItem(
        namespace=session.namespace,
        title=title,
        priority=priority,
        data=None if data is None else Codec().encode(data.value),
        key=key,
        by=person(by),
    )
    item = session.change(lambda opened: opened.items.create_item(command))
    if session.is_json:
        session.screen.write_json(records.item(item))
        return
    text = f"{item.id} ({escape(repr(item.title))}) is in the backlog."
    if item.status is not ItemStatus.BACKLOG:
        text = f"{item.id} ({escape(repr(item.title))}) was made before; it is {item.status.value}."
    session.screen.write(session.screen.draw_whole(Line(text)))

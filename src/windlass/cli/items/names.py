"""Which work item is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from windlass.api.signal_service import Items
from windlass.cli.ids import IdKind
from windlass.cli.session import Text
from windlass.model.item import ItemId, ItemView, ListItems

Command = TypeVar("Command", bound=Callable[..., Any])

ITEM = IdKind(prefix="itm_", noun="item")


def item_argument(command: Command) -> Command:
    return click.argument("item", metavar="ITEM", type=Text(ITEM.check))(command)


async def find_item_id(items: Items, text: str, *, namespace: str) -> ItemId:
    async def list_before(id: str | None, limit: int) -> Sequence[str]:
        page = await items.list_items(ListItems(namespace=namespace, before=id, limit=limit))
        return [item.id for item in page.items]

    return ItemId(await ITEM.find(text, list_before=list_before))


async def find_item(items: Items, text: str, *, namespace: str) -> ItemView:
    """Raises NotFound."""
    return await items.get_item(namespace, await find_item_id(items, text, namespace=namespace))

"""An outside effect that may happen twice, made harmless by a key. Run this program twice.

The first run dies right after the payment provider has taken the money and before the step could be committed: the
worst moment there is. The second run cannot know, so it asks the provider again, with the same key, and the provider
answers with the charge it already has. The money is asked for twice and taken once.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import windlass

app = windlass.App()

BOOKS = Path("provider.json")  # the provider's, on the other side of the network


def read_books() -> dict[str, Any]:
    books: dict[str, Any] = json.loads(BOOKS.read_text()) if BOOKS.exists() else {"asked": 0, "charges": {}}
    return books


def ask_provider(amount: int, *, idempotency_key: str) -> str:
    """Take the money, unless this key has paid already; either way answer with the charge."""
    books = read_books()
    books["asked"] += 1
    new = {"id": f"charge-{len(books['charges']) + 1}", "amount": amount}
    charged = books["charges"].setdefault(idempotency_key, new)
    BOOKS.write_text(json.dumps(books))
    return str(charged["id"])


def charge(amount: int) -> str:
    step = windlass.current_step()
    charge_id = ask_provider(amount, idempotency_key=step.idempotency_key)
    if read_books()["asked"] == 1:
        os._exit(9)  # the power goes: the money is taken, and nobody here knows
    return charge_id


@app.workflow
async def order(ctx: windlass.Context, id: str, amount: int) -> str:
    return await ctx.step(charge, amount)


if __name__ == "__main__":
    print("paid with", app.run(order, "7", 42, key="order-7"))
    books = read_books()
    print(f"asked {books['asked']} times, charged {len(books['charges'])} time")

"""A script as a user would write it: it executes one run, and goes on with it when it is started again.

python order.py task|thread|… first     its second step never ends
python order.py task|thread             it does
"""

from __future__ import annotations

import asyncio
import sys
import time

import windlass

FOR_EVER = 3_600
app = windlass.App()
is_first = "first" in sys.argv


def note(text: str) -> None:
    with open("journal", "a") as journal:
        journal.write(text + "\n")


def pack(item: str) -> str:
    note("pack")
    return f"packed {item}"


async def ship_in_a_task(parcel: str) -> str:
    note("ship")
    await asyncio.sleep(FOR_EVER if is_first else 0)
    return f"{parcel}, shipped"


def ship_in_a_thread(parcel: str) -> str:
    note("ship")
    time.sleep(FOR_EVER if is_first else 0)
    return f"{parcel}, shipped"


@app.workflow
async def order(ctx: windlass.Context, where: str) -> str:
    parcel = await ctx.step(pack, "a book")
    return await ctx.step(ship_in_a_task if where == "task" else ship_in_a_thread, parcel)


if __name__ == "__main__":
    print(app.run(order, sys.argv[1], key="order-7"))

"""A program that starts runs with keys, at the same moment as another one, and says what it was answered.

python asking.py NAME SUFFIX COUNT      waits for the file "go"; the input of every run is its number and SUFFIX
python asking.py serve                  executes what is there, until every run is over
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import windlass

app = windlass.App()


@app.workflow
async def order(ctx: windlass.Context, id: str) -> str:
    return f"order {id} done"


def wait_for_the_others(name: str) -> None:
    """Blocks: nothing else is to be done in this process."""
    Path(f"ready-{name}").touch()
    while not Path("go").exists():
        time.sleep(0.001)


async def ask(name: str, suffix: str, count: int) -> list[tuple[str, bool]]:
    async with app:
        wait_for_the_others(name)

        async def start(number: int) -> tuple[str, bool]:
            try:
                return (await app.start(order, f"{number}{suffix}", key=f"order-{number}")).id, True
            except windlass.AlreadyExists as error:
                assert error.reason == "idempotency_conflict"
                return error.owner, False

        return [await start(number) for number in range(count)]


async def serve(count: int) -> list[str]:
    async with app, app.worker():
        return [await app.handle(order, key=f"order-{number}").result() for number in range(count)]


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    print(json.dumps(asyncio.run(serve(int(rest[0])) if first == "serve" else ask(first, rest[0], int(rest[1])))))

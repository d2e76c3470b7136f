"""Is every run looked at that asked for it, whatever happens at another look?"""

from __future__ import annotations

import asyncio
import contextvars

import pytest

from windlass.worker.turns import FEW, Turns


async def test_all_that_asked_are_looked_at_in_their_order() -> None:
    turns, looked = Turns(contextvars.Context()), []
    for number in range(3 * FEW):
        turns.ask(lambda number=number: looked.append(number))  # type: ignore[misc]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert looked == list(range(3 * FEW))


@pytest.mark.parametrize("number", [2, 3 * FEW])
async def test_a_look_that_raises_takes_no_other_with_it(number: int) -> None:
    turns, looked, raised = Turns(contextvars.Context()), [], []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: raised.append(about["exception"]))

    def broken() -> None:
        raise RuntimeError("no")

    turns.ask(broken)
    for item in range(number):
        turns.ask(lambda item=item: looked.append(item))  # type: ignore[misc]
    for _ in range(6):
        await asyncio.sleep(0)

    assert looked == list(range(number))
    assert [str(error) for error in raised] == ["no"]

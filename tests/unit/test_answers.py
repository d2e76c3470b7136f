"""Is an answer heard by whoever waits for it, once, and as it was given?"""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import pytest

from windlass.answers import Answer, answer_of, outcomes


async def test_it_is_heard_where_it_arrives_and_awaited_later() -> None:
    answer: Answer[int] = Answer()
    heard: list[Any] = []
    answer.then(heard.append)
    answer.then(heard.append)
    answer.settle(1)
    answer.settle(2)  # only the first counts

    assert heard == [1, 1]
    assert await answer == 1
    answer.then(heard.append)
    assert heard == [1, 1, 1]


async def test_many_wait_for_one_and_one_of_them_gives_up() -> None:
    answer: Answer[str] = Answer()
    waiting = [asyncio.ensure_future(answer_of_it(answer)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    answer.settle("there")

    assert await asyncio.gather(*waiting[1:]) == ["there", "there"]
    assert waiting[0].cancelled()


async def answer_of_it(answer: Answer[str]) -> str:
    return await answer


async def test_an_error_that_many_raise_does_not_grow() -> None:
    error, depths = ValueError("no"), []
    answers: list[Answer[int]] = [Answer() for _ in range(20)]
    for answer in answers:
        answer.settle(error)
    for answer in answers:
        with pytest.raises(ValueError, match="no") as raised:
            await answer
        depths.append(len(traceback.extract_tb(raised.value.__traceback__)))

    assert set(depths) == {depths[0]}
    assert await outcomes(answers) == [error] * 20


async def test_whatever_can_be_awaited_becomes_an_answer() -> None:
    async def value() -> int:
        return 7

    async def broken() -> int:
        raise ValueError("no")

    one, other, never = answer_of(value()), answer_of(broken()), asyncio.get_running_loop().create_future()
    third = answer_of(never)
    never.cancel()

    assert answer_of(one) is one
    assert await one == 7
    with pytest.raises(ValueError, match="no"):
        await other
    with pytest.raises(Exception, match="cancelled before it was answered"):
        await third

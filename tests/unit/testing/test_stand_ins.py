"""Is a function played by its fake wherever it is called, and by itself everywhere else?"""

from __future__ import annotations

import functools
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from windlass.define.registry import Registry
from windlass.errors import InvalidInput
from windlass.testing.stand_ins import BorrowedRegistry, StandIns


def fetch(url: str, *, limit: int = 1) -> str:
    return url * limit


async def fetch_later(url: str) -> str:
    return url


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, url: str) -> str:
        return url


def borrowed(cast: StandIns) -> tuple[Registry, BorrowedRegistry]:
    lender = Registry()
    return lender, BorrowedRegistry(lender, cast)


def test_a_fake_plays_under_name_and_type_of_the_function() -> None:
    cast = StandIns()
    lender, registry = borrowed(cast)
    fake = Mock(return_value="fake")
    cast.add(fetch, fake, is_workflow=False)

    played, real = registry.describe_step(fetch), lender.describe_step(fetch)

    assert (played.name, played.return_type, played.function) == ("fetch", str, fake)
    assert real.function is fetch


def test_whether_it_is_awaited_is_up_to_the_fake() -> None:
    cast = StandIns()
    _, registry = borrowed(cast)
    cast.add(fetch, AsyncMock(), is_workflow=False)
    cast.add(fetch_later, lambda url: url, is_workflow=False)

    assert registry.describe_step(fetch).is_async
    assert not registry.describe_step(fetch_later).is_async


def test_a_partial_is_about_the_function_inside() -> None:
    cast = StandIns()
    lender, registry = borrowed(cast)
    cast.add(fetch, lambda url, *, limit: f"{limit} x {url}", is_workflow=False)
    twice = functools.partial(functools.partial(fetch, limit=3), limit=2)

    assert registry.describe_step(twice).function("a") == "2 x a"
    assert lender.describe_step(twice).function is twice


def test_what_nobody_plays_is_itself() -> None:
    _, registry = borrowed(StandIns())
    callable_object = Unhashable()

    for function in (fetch, functools.partial(fetch, limit=2), callable_object):
        assert registry.describe_step(function, name="step").function is function


def test_what_is_declared_later_is_borrowed_too() -> None:
    lender, registry = borrowed(StandIns())

    lender.declare_step(fetch, name="download")

    assert registry.describe_step(fetch).name == "download"


@pytest.mark.parametrize("function", ["reserve", None, 3])
def test_what_is_replaced_is_named_by_itself_and_not_by_its_name(function: Any) -> None:
    with pytest.raises(InvalidInput, match="takes the function that the workflow calls"):
        StandIns().add(function, lambda: None, is_workflow=False)

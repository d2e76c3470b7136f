"""The pytest plugin: a fixture that is a harness, and a loop for the tests that use it.

A test that takes `windlass_harness`, itself or through other fixtures, may be `async def`. If pytest-asyncio or anyio
runs it, the harness lives on their loop; if neither does, this plugin brings one. Either way the harness is closed on
that loop, behind the test. For a test that is `def` it has a loop of its own, and is closed with its fixture.

The app of `use(app)` is given back last: a fixture that shuts a web app down must not reach a real database either.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from windlass.testing.harness import Harness

NAME = "windlass_harness"


@pytest.fixture
def windlass_harness(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """Workflows without waiting: SQLite in memory, a worker, and a clock that the test moves. See `Harness`.

    Example: `windlass_harness.use(app)`, then `assert await windlass_harness.run(order, "7") == "order 7 done"`; in a
    test without `async`, `windlass_harness.sync.run(order, "7")`.
    """
    harness = Harness()
    harness._is_fixture, harness._home.is_of_async_test = True, inspect.iscoroutinefunction(request.function)
    yield harness
    harness.sync.close()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Close the harness on the loop it was used on: inside of what the test's own plugin awaits.

    One that lives on a loop of its own is closed with its fixture.
    """
    harness = _harness_of(item)
    if harness is None or not isinstance(item, pytest.Function):
        return (yield)
    if not inspect.iscoroutinefunction(item.obj):
        result = yield
        harness._check_crashes()
        return result
    original = item.obj
    item.obj = _closing(original, harness)
    try:
        return (yield)
    finally:
        item.obj = original


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that nobody else runs. By now pytest-asyncio and anyio have taken what is theirs."""
    if _harness_of(pyfuncitem) is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


def _harness_of(item: pytest.Item) -> Harness | None:
    harness: Harness | None = getattr(item, "funcargs", {}).get(NAME)
    return harness


def _closing(test: Callable[..., Coroutine[Any, Any, Any]], harness: Harness) -> Callable[..., Any]:
    @functools.wraps(test)
    async def closing(*args: Any, **options: Any) -> Any:
        async with AsyncExitStack() as stack:
            stack.push_async_exit(harness)  # entered by its first use: until then the test may say use(app)
            return await test(*args, **options)

    return closing

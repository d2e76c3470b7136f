"""The wire under the behaviour tests: which of them go over it, and when nothing is on its way there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.wires.wired import Wired
from windlass.embedded import in_process
from windlass.model.namespace import CreateNamespace
from windlass.testing.harness import Harness

WIRE, WIRE_POSTGRES = "wire", "wire-postgres"
# What the two databases could do differently behind a server: claims, results, children, starts, and answers that get
# lost. Everything else is the same code behind the same doors.
ALSO_POSTGRES = {"test_lost_answers"}  # where it matters which store is behind the server; the rest is the engine's
PATIENCE = 20.0

_open: list[Wired] = []


def is_wired(item: pytest.Item) -> bool:
    return _kind(item) in (WIRE, WIRE_POSTGRES)


def _kind(item: pytest.Item) -> str | None:
    callspec = getattr(item, "callspec", None)
    kind = None if callspec is None else callspec.params.get("url")
    return kind if isinstance(kind, str) else None


def is_wanted(item: pytest.Item) -> bool:
    """Not of tests that open no harness, nor of those that look at what only a database in this process has."""
    if not is_wired(item):
        return True
    if "open_harness" not in getattr(item, "fixturenames", ()) or item.get_closest_marker("in_process") is not None:
        return False
    return _kind(item) == WIRE or item.path.stem in ALSO_POSTGRES


async def at_rest() -> None:
    """Wait until nothing is on its way over a wire. A clock that moves meanwhile would move for one end only."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while not all(wired.is_at_rest for wired in _open):
        assert loop.time() < deadline, f"A call was still on its way after {PATIENCE:g} s"
        await asyncio.sleep(0.001)


def lead_through_wire(harness: Harness) -> None:
    """Let everything the app of a harness asks go through a server of gRPC, and back."""
    opening, clock = harness.app._opening, harness.clock
    open, settle, idle = opening._open, harness._settle_takeovers, harness.idle

    async def open_wired() -> Wired:
        embedded = in_process(await open())
        if harness.app._namespace != "default":  # a server knows its tenants beforehand
            await embedded.namespaces.create_namespace(CreateNamespace(name=harness.app._namespace))
        wired = await Wired.around(embedded, clock=clock)
        _open.append(wired)
        return wired

    changed: Any = harness
    opening._open = open_wired
    changed._settle_takeovers = _then_at_rest(settle)
    changed.idle = _then_at_rest(idle)


def _then_at_rest(work: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    async def both() -> None:
        await work()
        await at_rest()

    return both


def forget_wires() -> None:
    _open.clear()

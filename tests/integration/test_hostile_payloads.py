"""What if a client stores numbers that all share one hash, where a program makes a set or a mapping of them?"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from windlass import Context, ReplayMismatch
from windlass.errors import InvalidInput
from windlass.model.commands import StartRun
from windlass.testing.harness import Harness

PRIME = 2**61 - 1  # what Python's hash of a number is modulo
INTEGERS = [1 + PRIME * number for number in range(2, 1_003)]
KEYS = {str(UUID(int=number)): 1 for number in INTEGERS}
REFUSED = "with more than (1,000 integers beyond 2\\*\\*60|100 items of the same hash)"


def tagged(tag: str, items: list[Any]) -> bytes:
    return json.dumps({"$tuple": [{tag: [{"$int": str(item)} for item in items]}]}).encode()


def plain(value: Any) -> bytes:
    return json.dumps({"$tuple": [value]}).encode()


async def of_set(ctx: Context, ids: set[int]) -> int:
    return len(ids)


async def of_mapping(ctx: Context, by_id: dict[UUID, int]) -> int:
    return len(by_id)


async def of_anything(ctx: Context, value: Any) -> int:
    return len(value)


@pytest.mark.parametrize(
    ("workflow", "input"),
    [
        (of_set, plain(INTEGERS)),
        (of_set, tagged("$set", INTEGERS)),
        (of_mapping, plain(KEYS)),
        (of_anything, tagged("$set", INTEGERS)),
        (of_anything, tagged("$frozenset", [-number for number in INTEGERS])),
    ],
    ids=["list for a set", "set", "mapping", "set for anything", "negative ones"],
)
async def test_a_run_with_such_an_input_waits_for_a_person_and_the_worker_goes_on(
    harness: Harness, workflow: Any, input: bytes
) -> None:
    declared = harness.app.workflow(workflow)
    name = harness.app._registry.find_workflow(workflow.__name__).name
    bad = StartRun(
        namespace="default", name=name, version="", queue="default", priority=0, input=input, input_hash=bytes(16)
    )
    stored = await harness.opened.runs.start_run(bad)

    good = await harness.start(declared, {} if workflow is of_mapping else set())

    assert await good.result() == 0
    with pytest.raises(ReplayMismatch, match=REFUSED):
        await harness.app.handle(stored.run_id).result()
    explained = await harness.app.handle(stored.run_id).explain()
    assert "pass them in a list, or as text" in explained


async def test_who_starts_it_is_told_at_once(harness: Harness) -> None:
    declared = harness.app.workflow(of_set)

    with pytest.raises(InvalidInput, match=REFUSED):
        await harness.start(declared, set(INTEGERS))


async def test_what_a_step_returns_is_refused_while_its_author_can_read_why(harness: Harness) -> None:
    @harness.app.step
    async def look() -> set[int]:
        return set(INTEGERS)

    @harness.app.workflow
    async def order(ctx: Context) -> int:
        return len(await ctx.step(look))

    with pytest.raises(Exception, match=REFUSED):
        await harness.run(order)

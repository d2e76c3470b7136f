"""Do `app.pause` and `app.resume` hold back a queue or a workflow as a whole, and say who did it?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import OpenHarness
from windlass import Context, InvalidInput, NotFound
from windlass.testing.harness import Harness


async def order(ctx: Context, id: str) -> str:
    return f"order {id} done"


async def invoice(ctx: Context, id: str) -> str:
    return f"invoice {id} sent"


@pytest.fixture
async def shop(open_harness: OpenHarness) -> Harness:
    harness = await open_harness(queues=("default", "mail"))
    harness.app.workflow(order)
    harness.app.workflow(invoice)
    return harness


async def gates_of(harness: Harness) -> list[tuple[str, str, str | None, str | None]]:
    gates = await harness.opened.control.list_gates("default")
    return [(gate.kind.value, gate.name, gate.paused_by, gate.note) for gate in gates if gate.is_paused]


async def test_runs_of_a_paused_queue_wait_and_those_of_others_do_not(shop: Harness) -> None:
    await shop.app.pause(queue="mail", by="ann", note="the server is moved")

    held, free = await shop.start(order, "7", queue="mail"), await shop.start(order, "8")
    assert await free.result() == "order 8 done"
    assert (await held.status(), await gates_of(shop)) == (
        "pending",
        [("queue", "mail", "ann", "the server is moved")],
    )
    await shop.app.resume(queue="mail", by="ben")

    assert await held.result() == "order 7 done"
    assert await gates_of(shop) == []


@pytest.mark.parametrize("wanted", [order, "order"])
async def test_a_workflow_is_paused_by_function_or_name(shop: Harness, wanted: Any) -> None:
    await shop.app.pause(workflow=wanted)

    held, free = await shop.start(order, "7", queue="mail"), await shop.start(invoice, "7", queue="mail")
    assert await free.result() == "invoice 7 sent"
    assert (await held.status(), await gates_of(shop)) == ("pending", [("workflow", "order", None, None)])
    await shop.app.resume(workflow=wanted)

    assert await held.result() == "order 7 done"


async def test_a_name_this_program_does_not_know_may_be_paused(shop: Harness) -> None:
    await shop.app.pause(workflow="nightly")

    assert await gates_of(shop) == [("workflow", "nightly", None, None)]
    await shop.app.resume(workflow="nightly")


async def test_pausing_and_resuming_twice_is_doing_it_once(shop: Harness) -> None:
    for _ in range(2):
        await shop.app.pause(queue="mail")
    assert len(await gates_of(shop)) == 1
    for _ in range(2):
        await shop.app.resume(queue="mail")

    assert await (await shop.start(order, "7", queue="mail")).result() == "order 7 done"


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "one of them"),
        ({"queue": "mail", "workflow": order}, "not both"),
    ],
)
async def test_exactly_one_of_queue_and_workflow_is_taken(
    shop: Harness, verb: str, given: dict[str, Any], text: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await getattr(shop.app, verb)(**given)

    assert str(refused.value) == (
        f"{verb}() takes a queue or a workflow, {text}: app.{verb}(queue='mail') or app.{verb}(workflow=order)."
    )
    assert await gates_of(shop) == []


@pytest.mark.parametrize(
    "given",
    [
        {"queue": ""},
        {"queue": "a/b"},
        {"queue": 5},
        {"workflow": ""},
        {"workflow": "a b"},
        {"queue": "mail", "by": ""},
        {"queue": "mail", "by": "x" * 256},
        {"queue": "mail", "note": "a\0b"},
    ],
)
async def test_bad_names_and_notes_are_refused(shop: Harness, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await shop.app.pause(**given)

    assert await gates_of(shop) == []


async def test_a_function_that_is_no_workflow_is_not_found(shop: Harness) -> None:
    async def stranger(ctx: Context) -> None: ...

    with pytest.raises(NotFound, match="Workflow 'stranger' does not exist"):
        await shop.app.pause(workflow=stranger)

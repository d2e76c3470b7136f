"""Does `windlass queues` show how full the queues are, warn of what nobody takes, and teach where there is nothing?"""

from __future__ import annotations

from typing import Any

from tests.integration.cli.scene import Scene
from tests.programs import echo
from windlass import Context
from windlass.model.commands import RegisterWorker, SetGate
from windlass.model.gate import GateKind
from windlass.model.run import WorkerId
from windlass.model.worker import Served
from windlass.testing.harness import Harness

WORKER = WorkerId("wrk_01KDVQ0000000000000000000A")


def declare(harness: Harness) -> tuple[Any, Any, Any]:
    paid = harness.app.event("paid", int)
    invoice = harness.app.workflow(name="invoice")(echo)

    @harness.app.workflow
    async def nap(ctx: Context, id: int) -> None:
        await ctx.sleep("1h")

    @harness.app.workflow
    async def sale(ctx: Context, id: int) -> int:
        return await ctx.receive(paid)

    return invoice, nap, sale


async def a_busy_day(harness: Harness) -> None:
    """Three queues: one that is served, one that is paused, one that nobody serves; and a worker that stays."""
    invoice, nap, sale = declare(harness)
    for number in range(2):
        await harness.start(nap, number)
    await harness.start(sale, 1)
    held = await harness.start(nap, 9)
    await harness.idle()
    await held.pause(by="ann")
    for number in range(12):
        await harness.start(invoice, number, queue="reports")
    await harness.start(invoice, 1, queue="mail")
    await harness.opened.control.set_gate(
        SetGate(namespace="default", kind=GateKind.QUEUE, name="mail", is_paused=True, by="ann", note="disk is full")
    )
    harness.clock.advance("6m")
    for number in range(4):
        await harness.start(invoice, number)
    await harness.idle()
    command = RegisterWorker(
        namespace="default",
        id=WORKER,
        host="alpha",
        pid=71,
        served=(Served("default", "invoice"), Served("mail", "invoice")),
        slots=5,
    )
    await harness.opened.work.register_worker(command)


def test_each_queue_is_a_line_with_what_is_wrong_below(either: Scene) -> None:
    either.play(a_busy_day)

    shown = either.shown("queues")

    lines = shown.splitlines()
    assert lines[:5] == [
        "Paused: queue 'mail' by ann since 00:00:00 UTC (6 min): disk is full",
        "  queue    due  oldest  running  later  waiting  paused  ended/min  workers",
        "  default    0                0      2        1       1          4        1",
        "‖ mail       1   6 min        0      0        0       0          0        1",
        "! reports   12   6 min        0      0        0       0          0        0",
    ]
    assert lines[5] == "! 12 runs in queue 'reports' are due, and no live worker serves it. Start one"
    assert " ".join(lines[6:]).endswith("worker MODULE:APP --queue reports")


def test_json_has_the_same_with_stable_names(either: Scene) -> None:
    either.play(a_busy_day)

    record = either.json("queues")

    default, mail, reports = record["queues"]
    assert default == {
        "namespace": "default",
        "name": "default",
        "at": "2026-01-01T00:06:00.000000Z",
        "due": 0,
        "oldest_due_at": None,
        "running": 0,
        "later": 2,
        "waiting": 1,
        "paused": 1,
        "ended_per_minute": 4.0,
        "ended_is_estimate": False,
        "workers": 1,
        "slots": 5,
        "is_paused": False,
        "unserved": [],
    }
    assert (mail["is_paused"], mail["due"], mail["unserved"]) == (True, 1, [])
    assert (reports["oldest_due_at"], reports["workers"]) == ("2026-01-01T00:00:00.000000Z", 0)
    assert reports["unserved"] == [{"workflow": "invoice", "version": None, "runs": 12}]
    assert [(gate["kind"], gate["name"]) for gate in record["paused"]] == [("queue", "mail")]


def test_where_there_is_nothing_it_says_what_would_be_something(scene: Scene) -> None:
    scene.shown("migrate")

    assert scene.shown("queues") == (
        "No queues yet: there is one as soon as a run is in it, or a worker serves it.\n"
        "  start a run:    windlass --url shop.db start MODULE:APP WORKFLOW\n"
        "  serve them:     windlass --url shop.db worker MODULE:APP\n"
    )
    assert scene.json("queues") == {"queues": [], "paused": []}


def test_a_database_that_does_not_exist_is_not_created(scene: Scene) -> None:
    assert "shop.db" in scene.refused("queues")


def test_a_namespace_has_queues_of_its_own(scene: Scene) -> None:
    scene.play(a_busy_day)

    assert scene.shown("queues", "--namespace", "other").startswith("No queues yet")
    assert "--namespace other worker" in scene.shown("queues", "--namespace", "other")


def test_a_calm_database_needs_no_signs(scene: Scene) -> None:
    async def rest(harness: Harness) -> None:
        _, nap, _ = declare(harness)
        await harness.start(nap, 1)
        await harness.idle()

    scene.play(rest)

    assert scene.shown("queues") == (
        "queue    due  oldest  running  later  waiting  paused  ended/min  workers\n"
        "default    0                0      1        0       0          0        0\n"
    )

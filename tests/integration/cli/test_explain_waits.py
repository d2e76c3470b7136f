"""Does every command that `windlass explain` advises work as it is typed, and does `windlass runs` say it in short?"""

from __future__ import annotations

import asyncio
import re
import shlex
from typing import Any

import pytest

from tests.architecture.source import ROOT
from tests.integration.cli.scene import Scene, declare_order
from tests.programs import asks, receives, sleeps
from windlass import Context
from windlass.cli.terminal import wrapped
from windlass.model.commands import SetGate
from windlass.model.explanation import Situation
from windlass.model.gate import GateKind
from windlass.testing.harness import Harness

COMMAND = re.compile(r"(?:: |or )windlass (--url .+?)(?=, (?:and|or) |$)")


def advised(text: str) -> list[list[str]]:
    """Every command in a text, as a shell would split it, without the name of the program."""
    return [shlex.split(found) for found in COMMAND.findall(text)]


def follow(scene: Scene, run_id: str, *, number: int = 0) -> list[str]:
    """Type one of the commands that are advised about a run."""
    return typed(advised(scene.json("explain", run_id)["text"])[number])


def typed(words: list[str]) -> list[str]:
    result = Scene("another.db").run(*words)  # the last --url counts
    assert result.exit_code == 0, result.output
    return words[2:]


async def wait(harness: Harness) -> str:
    """A run that waits for an event, an approval and a child at once."""
    replied = harness.app.event("replied", object)
    parcel = harness.app.workflow(name="parcel")(sleeps("1h"))

    @harness.app.workflow
    async def order(ctx: Context) -> None:
        await asyncio.gather(ctx.receive(replied), ctx.approval("Ship it?"), ctx.run(parcel))

    handle = await harness.start(order)
    await harness.idle()
    return handle.id


def test_what_is_advised_about_several_waits_ends_each_of_them(scene: Scene) -> None:
    run_id = scene.play(wait)

    send, approve, _, explain = advised(scene.json("explain", run_id)["text"])

    assert send[-1] == "PAYLOAD"  # which stands for what only a person knows
    assert typed([*send[:-1], "yes"]) == ["send", run_id, "replied", "yes"]
    assert typed(approve) == ["approve", run_id]
    assert typed(explain)[0] == "explain"
    assert {message["name"] for message in scene.json("show", run_id)["messages"]} == {"replied", "approval"}


def test_what_is_advised_about_a_single_approval_decides_it(scene: Scene) -> None:
    async def ask(harness: Harness) -> str:
        ship = harness.app.workflow(asks("Ship it?"))
        handle = await harness.start(ship)
        await harness.idle()
        return handle.id

    run_id = scene.play(ask)

    assert follow(scene, run_id, number=1) == ["reject", run_id]
    assert scene.json("show", run_id)["status"] == "pending"


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        (GateKind.QUEUE, "default", ["--queue", "default"]),
        (GateKind.WORKFLOW, "order", ["--workflow", "order"]),
        (GateKind.NAMESPACE, "default", ["--all"]),
    ],
)
def test_what_is_advised_about_a_closed_gate_opens_it(
    scene: Scene, kind: GateKind, name: str, words: list[str]
) -> None:
    async def close(harness: Harness) -> str:
        await harness.opened.control.set_gate(SetGate(namespace="default", kind=kind, name=name, is_paused=True))
        return (await harness.start(declare_order(harness), "7")).id

    run_id = scene.play(close, has_worker=False)

    assert follow(scene, run_id) == ["resume", *words]
    assert scene.json("explain", run_id)["code"] == "no_worker"


def test_what_is_advised_about_a_paused_run_lets_it_go_on(scene: Scene) -> None:
    async def pause(harness: Harness) -> str:
        handle = await harness.start(declare_order(harness), "7")
        await handle.pause(by="ann")
        return handle.id

    run_id = scene.play(pause, has_worker=False)

    assert follow(scene, run_id) == ["resume", run_id]
    assert scene.json("show", run_id)["status"] == "pending"


def test_the_table_says_in_short_what_each_run_waits_for(scene: Scene) -> None:
    async def all_kinds(harness: Harness) -> dict[str, str]:
        replied = harness.app.event("replied", object)
        waits = harness.app.workflow(name="asks")(receives(replied, timeout="1h"))
        ships = harness.app.workflow(name="ships")(asks("Ship it?"))

        @harness.app.workflow
        async def maps(ctx: Context, count: int) -> None:
            await ctx.map(naps, range(count))

        @harness.app.workflow
        async def naps(ctx: Context, number: int) -> None:
            await ctx.sleep("1h")

        handles: dict[str, Any] = {
            "event": await harness.start(waits),
            "approval": await harness.start(ships),
            "children": await harness.start(maps, 2),
            "paused": await harness.start(ships),
        }
        await harness.idle()
        await handles["paused"].pause(by="ann")
        gate = SetGate(namespace="default", kind=GateKind.QUEUE, name="slow", is_paused=True, by="bob")
        await harness.opened.control.set_gate(gate)
        handles["gate"] = await harness.start(waits, queue="slow")
        return {name: handle.id for name, handle in handles.items()}

    ids = scene.play(all_kinds)

    lines = scene.shown("runs").splitlines()
    cells = {name: next(line for line in lines if line.startswith(id)) for name, id in ids.items()}
    assert cells["event"].endswith("  event 'replied' until 01:00:00 UTC")
    assert cells["approval"].endswith("  approval 'Ship it?'")
    assert cells["children"].endswith("  2 children")
    assert cells["paused"].endswith("  paused by ann")
    assert cells["gate"].endswith("  queue 'slow' is paused")
    records = {run["id"]: run["waits_for"] for run in scene.json("runs")["runs"]}
    assert records[ids["paused"]] == "paused by ann"


def test_what_people_wrote_cannot_move_the_cursor_of_a_table(scene: Scene) -> None:
    async def ask(harness: Harness) -> None:
        ship = harness.app.workflow(asks("Ship\u202eit? [red]"))
        await harness.start(ship)
        await harness.idle()

    scene.play(ask)

    assert "approval 'Ship\\u202eit? [red]'" in scene.shown("runs")


def test_a_command_of_two_words_is_not_broken_over_two_lines() -> None:
    text = "Send it: windlass --url a.db send run_1 replied, and decide: windlass approve run_1 --step approval"

    assert wrapped(text, width=30) == [
        "Send it:",
        "windlass --url a.db send run_1 replied,",
        "and decide:",
        "windlass approve run_1 --step approval",
    ]


def test_every_code_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference" / "command-line.md").read_text()

    assert [code for code in Situation if f"`{code}`" not in reference] == []

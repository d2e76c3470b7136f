"""Do `windlass pause` and `windlass resume` hold and let go exactly one thing, and say who holds what?"""

from __future__ import annotations

import asyncio

import pytest

from tests.integration.cli.scene import Scene, a_sale, declare_order, going_on
from tests.integration.cli.test_show import claim_of
from windlass import Context
from windlass.testing.harness import Harness


async def an_order(harness: Harness) -> str:
    return (await harness.start(declare_order(harness), "7")).id


async def claimed(harness: Harness) -> list[str]:
    """What a worker gets that asks once."""
    return [run.run_id for run in await harness.opened.work.claim_runs(claim_of(harness))]


# One run


def test_a_paused_run_stays_until_it_is_resumed(either: Scene) -> None:
    run_id = either.play(a_sale)

    said = either.run("pause", run_id[:-1], "--by", "ann", "--note", "stocktaking")

    assert said.stdout.startswith(f"{run_id} (sell) is paused. Then: windlass --url ")
    assert said.stdout.endswith(f" resume {run_id}\n")
    either.shown("send", run_id, "paid", "12")
    either.play(going_on)
    paused = either.json("show", run_id)
    assert (paused["status"], paused["log"][-1]["by"], paused["log"][-1]["note"]) == ("paused", "ann", "stocktaking")

    assert either.shown("resume", run_id, "--by", "bob") == f"{run_id} (sell) goes on; it is pending.\n"
    either.play(going_on)
    resumed = either.json("show", run_id)
    assert [entry["by"] for entry in resumed["log"] if entry["cause"] == "resume"] == ["bob"]
    assert {step["key"]: step["status"] for step in resumed["steps"]} == {
        "receive/paid": "completed",
        "approval": "waiting",
    }


def test_pausing_twice_is_pausing_once(scene: Scene) -> None:
    run_id = scene.play(a_sale)

    for _ in range(2):
        assert scene.json("pause", "--key", "sale-7") == {
            "id": run_id,
            "workflow": "sell",
            "status": "paused",
            "is_paused": True,
        }
    assert [entry["cause"] for entry in scene.json("show", run_id)["log"]].count("pause") == 1


def test_a_run_at_work_pauses_as_soon_as_its_bodies_have_ended(scene: Scene) -> None:
    async def pause_while_it_works(harness: Harness) -> tuple[str, str, str]:
        entered, release = asyncio.Event(), asyncio.Event()

        async def body() -> None:
            entered.set()
            await release.wait()

        @harness.app.workflow
        async def works(ctx: Context) -> None:
            await ctx.step(body)
            await ctx.sleep("1h")

        handle = await harness.start(works)
        await entered.wait()
        said = await asyncio.to_thread(scene.shown, "pause", handle.id)
        shown = await asyncio.to_thread(scene.shown, "show", handle.id)
        release.set()
        await harness.until(handle, "paused")
        return handle.id, said, shown

    run_id, said, shown = scene.play(pause_while_it_works)

    assert said.startswith(f"{run_id} (works) pauses as soon as what is at work has ended. Then: ")
    assert "is to be paused" in shown
    assert scene.json("show", run_id)["steps"][0]["status"] == "completed"


def test_a_run_that_is_over_cannot_be_paused_and_one_that_goes_on_not_resumed(scene: Scene) -> None:
    run_id = scene.play(a_sale)

    assert scene.refused("resume", run_id) == f"run {run_id} is waiting; paused was expected."
    scene.shown("cancel", run_id)
    assert f"{run_id} is cancelled; " in scene.refused("pause", run_id)
    assert f"{run_id} is cancelled; " in scene.refused("resume", run_id)


# Gates


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (["--queue", "default"], "queue 'default'"),
        (["--workflow", "order"], "workflow 'order'"),
        (["--all"], "namespace 'default'"),
    ],
)
def test_nothing_behind_a_gate_is_taken_up_until_it_is_opened(either: Scene, target: list[str], words: str) -> None:
    said = _paused(either, *target, "--by", "ann", "--note", "bank is closed")
    run_id = either.play(an_order, has_worker=False)

    assert said.startswith(f"{words[0].upper()}{words[1:]} is paused: nothing of it is taken up until it is resumed.")
    assert said.endswith(f" resume {' '.join(target)}\n")
    assert either.play(claimed, has_worker=False) == []
    either.clock.advance("90s")
    first = either.shown("runs").splitlines()[0]
    assert first == f"Paused: {words} by ann since 00:00:00 UTC (1 min 30 s): bank is closed"
    (gate,) = either.json("runs")["paused"]
    assert (gate["kind"], gate["paused_by"], gate["paused_at"]) == (
        words.split()[0],
        "ann",
        "2026-01-01T00:00:00.000000Z",
    )

    assert either.shown("resume", *target) == f"{words[0].upper()}{words[1:]} goes on.\n"
    assert not either.shown("runs").startswith("Paused")
    assert either.play(claimed, has_worker=False) == [run_id]


def _paused(scene: Scene, *args: str) -> str:
    scene.shown("migrate")
    return scene.shown("pause", *args)


def test_a_gate_that_was_open_stays_so_and_a_slip_is_named(scene: Scene) -> None:
    _paused(scene, "--queue", "billing")

    assert scene.shown("resume", "--all") == "Namespace 'default' was not paused.\n"
    assert scene.shown("resume", "--queue", "biling") == "Queue 'biling' was not paused. Did you mean 'billing'?\n"
    assert scene.json("resume", "--queue", "billing")["was_paused"] is True
    assert scene.json("resume", "--queue", "billing")["was_paused"] is False


def test_a_gate_that_no_live_worker_stands_behind_is_closed_with_a_hint(scene: Scene) -> None:
    async def beside_a_worker(harness: Harness) -> list[str]:
        declare_order(harness)
        await harness.start(declare_order(harness), "7", delay="1h")
        await harness.idle()
        return [
            (await asyncio.to_thread(scene.run, "pause", *target)).stderr
            for target in (
                ["--queue", "defualt"],
                ["--workflow", "oder"],
                ["--queue", "default"],
                ["--workflow", "order"],
                ["--all"],
            )
        ]

    hints = scene.play(beside_a_worker)

    assert hints == [
        "windlass: No live worker serves queue 'defualt'. Did you mean 'default'?\n",
        "windlass: No live worker runs workflow 'oder'. Did you mean 'order'?\n",
        "",
        "",
        "",
    ]
    assert len(scene.json("runs")["paused"]) == 5


def test_a_gate_may_be_closed_before_the_first_worker_comes(scene: Scene) -> None:
    scene.shown("migrate")

    result = scene.run("pause", "--queue", "billing")

    assert (result.exit_code, result.stderr) == (0, "")


def test_a_note_cannot_speak_to_the_terminal(scene: Scene) -> None:
    _paused(scene, "--all", "--by", "an\u202en", "--note", "line\nline \x1b[2J")

    first = scene.shown("runs").splitlines()[0]

    assert first.startswith("Paused: namespace 'default' by an\\u202en since ")
    assert first.endswith(": line\\nline \\x1b[2J")


@pytest.mark.parametrize("command", ["pause", "resume"])
@pytest.mark.parametrize(
    "args",
    [
        [],
        ["run_0", "--all"],
        ["run_0", "--key", "x"],
        ["--all", "--queue", "billing"],
        ["--queue", "billing", "--workflow", "order"],
        ["--key", "x", "--workflow", "order"],
        ["--queue", ""],
        ["--queue", "a b"],
        ["--workflow", "../x"],
        ["run_0", "run_1"],
        ["--all", "--by", ""],
        ["--queue", "bad\udcff"],
    ],
)
def test_words_that_cannot_be_meant_are_refused(scene: Scene, command: str, args: list[str]) -> None:
    scene.shown("migrate")

    assert scene.refused(command, *args, exit_code=2).endswith(f"Try: windlass {command} --help")
    assert scene.json("runs")["paused"] == []


def test_no_target_and_two_say_what_can_be_one(scene: Scene) -> None:
    scene.shown("migrate")

    for args in ([], ["run_0", "--all"]):
        assert scene.refused("pause", *args, exit_code=2).startswith(
            "Name one: RUN, PIPELINE, SIGNAL, --key KEY, --workflow NAME, --queue NAME or --all."
        )

"""Do `windlass cancel` and `windlass retry` end and repeat what was meant, and do so once?"""

from __future__ import annotations

import pytest

from tests.integration.cli.scene import Scene, a_sale, a_sale_to_pack, declare_order, going_on
from windlass import Context, Retry
from windlass.testing.harness import Harness


async def a_failed_order(harness: Harness) -> str:
    """A run whose second step fails for good."""

    def reserve(id: str) -> str:
        return f"shelf of {id}"

    def charge(id: str) -> str:
        raise ValueError("card refused")

    @harness.app.workflow
    async def buy(ctx: Context, id: str) -> str:
        shelf = await ctx.step(reserve, id)
        return shelf + await ctx.step(charge, id, retry=Retry(1))

    handle = await harness.start(buy, "7", key="buy-7")
    await harness.idle()
    return handle.id


async def a_completed_order(harness: Harness) -> str:
    handle = await harness.start(declare_order(harness), "7")
    await harness.run(declare_order(harness), "8")
    while not (await handle.status()).is_terminal:
        await harness.advance("10s")
    return handle.id


# Cancel


def test_a_run_is_cancelled_with_its_children_and_both_say_by_whom(either: Scene) -> None:
    run_id, child_id = either.play(a_sale_to_pack)

    said = either.shown("cancel", run_id[:-1], "--by", "ann", "--note", "customer left")

    assert said == f"{run_id} (sell) is cancelled, and 1 child with it.\n"
    parent, child = either.json("show", run_id), either.json("show", child_id)
    assert (parent["status"], child["status"]) == ("cancelled", "cancelled")
    assert [parent["log"][-1][name] for name in ("by", "note", "run")] == ["ann", "customer left", None]
    assert [child["log"][-1][name] for name in ("by", "run")] == ["ann", run_id]
    assert "\nCancelled by ann\n  customer left\n" in either.shown("show", run_id)
    assert f"\nCancelled by ann\n  with its parent {run_id}\n" in either.shown("show", child_id)


def test_a_run_without_children_is_cancelled_alone(scene: Scene) -> None:
    run_id = scene.play(a_sale)

    assert scene.json("cancel", "--key", "sale-7") == {
        "id": run_id,
        "workflow": "sell",
        "status": "cancelled",
        "is_done": True,
        "children": [],
    }


def test_cancelling_what_is_over_says_so_and_changes_nothing(either: Scene) -> None:
    run_id = either.play(a_completed_order)
    before = either.json("show", run_id)

    assert either.shown("cancel", run_id) == f"{run_id} (order) was over before: completed.\n"
    assert either.json("cancel", run_id)["is_done"] is False
    assert either.json("show", run_id) == before


# Retry


def test_a_retry_prints_the_new_run_which_keeps_what_was_done(either: Scene) -> None:
    run_id = either.play(a_failed_order)

    new_id = either.shown("retry", run_id[:-1], "--by", "ann").strip()

    new = either.json("show", new_id)
    assert (new["status"], new["retry_of"], new["key"]) == ("pending", run_id, "buy-7")
    assert [(step["key"], step["status"]) for step in new["steps"]] == [("reserve", "completed")]
    assert (new["log"][0]["cause"], new["log"][0]["by"]) == ("retry", "ann")
    assert f"tries {run_id} again" in either.shown("show", new_id)
    assert either.json("show", run_id)["status"] == "failed"


def test_from_a_step_on_everything_is_done_again(scene: Scene) -> None:
    run_id = scene.play(a_failed_order)

    new_id = scene.shown("retry", run_id, "--from", "reserve").strip()

    assert scene.json("show", new_id)["steps"] == []


def test_a_second_retry_answers_with_the_first(either: Scene) -> None:
    run_id = either.play(a_failed_order)
    first = either.shown("retry", run_id)

    again = either.run("retry", run_id)

    assert (again.exit_code, again.stdout) == (0, first)
    assert again.stderr == f"windlass: {run_id} was tried again before; nothing new was started.\n"
    assert either.json("retry", run_id) == {
        "id": first.strip(),
        "workflow": "buy",
        "retry_of": run_id,
        "is_repeat": True,
    }
    assert len(either.json("runs")["runs"]) == 2


def test_a_retry_of_what_has_not_failed_is_refused(scene: Scene) -> None:
    waiting, completed = scene.play(a_sale), scene.play(a_completed_order)

    assert f"{waiting} is waiting; " in scene.refused("retry", waiting)
    assert f"{completed} is completed; " in scene.refused("retry", completed)


def test_a_retry_from_a_step_that_there_was_not_is_refused(scene: Scene) -> None:
    run_id = scene.play(a_failed_order)

    assert "'reserv'" in scene.refused("retry", run_id, "--from", "reserv")
    assert len(scene.json("runs")["runs"]) == 1


def test_a_paused_run_is_cancelled_for_its_retry(scene: Scene) -> None:
    run_id = scene.play(a_sale)
    scene.shown("pause", run_id)

    new_id = scene.shown("retry", run_id, "--by", "ann").strip()

    assert f"\nCancelled by ann\n  to be tried again as {new_id}\n" in scene.shown("show", run_id)
    scene.play(going_on)
    assert scene.json("show", new_id)["status"] == "waiting"


@pytest.mark.parametrize("command", ["cancel", "retry", "approve", "reject"])
def test_a_run_that_is_not_there_is_one_line(scene: Scene, command: str) -> None:
    scene.play(a_sale)

    assert scene.refused(command, "run_ZZZZ") == "run 'run_ZZZZ' does not exist."
    missing = "run_" + "Z" * 26
    assert f"'{missing}' does not exist." in scene.refused(command, missing)
    assert "does not exist" in scene.refused(command, "--key", "nobody")


@pytest.mark.parametrize(
    "args",
    [
        ["cancel"],
        ["cancel", "run_0", "--key", "x"],
        ["cancel", "run_0", "more"],
        ["cancel", "run_0", "--by", " "],
        ["cancel", "run_0", "--note", "x" * 2_001],
        ["retry"],
        ["retry", "run_0", "--from", ""],
        ["retry", "run_0", "--from", "x" * 401],
        ["retry", "run_0", "--note", "has none"],
        ["retry", "bad\udcff"],
    ],
)
def test_words_that_cannot_be_meant_are_refused(scene: Scene, args: list[str]) -> None:
    scene.shown("migrate")

    assert scene.refused(*args, exit_code=2).endswith(f"Try: windlass {args[0]} --help")

"""Do `windlass approve` and `windlass reject` decide what was asked, once, and say what it was?"""

from __future__ import annotations

import getpass

import pytest

from tests.integration.cli.scene import Scene, a_sale, a_sale_to_approve, going_on
from windlass import Context, JobContext
from windlass.testing.harness import Harness


async def two_approvals(harness: Harness) -> str:
    @harness.app.workflow
    async def hire(ctx: Context) -> str:
        name, decision = await ctx.race(skill=ctx.approval("Is she good?"), money=ctx.approval("Can we pay?"))
        return f"{name} {decision.outcome}"

    handle = await harness.start(hire)
    await harness.idle()
    return handle.id


def test_an_approval_says_what_was_approved_and_the_run_goes_on(either: Scene) -> None:
    run_id = either.play(a_sale_to_approve)

    said = either.shown("approve", run_id[:-1], "--by", "ann", "--note", "paid in full")

    assert said == f"'Ship 7?' of {run_id} (sell) approved by ann.\n"
    either.play(going_on)
    story = either.json("show", run_id)
    (step,) = [step for step in story["steps"] if step["key"] == "approval"]
    assert {name: step["output"][name] for name in ("outcome", "by", "note")} == {
        "outcome": "approved",
        "by": "ann",
        "note": "paid in full",
    }
    (entry,) = [entry for entry in story["log"] if entry["cause"] == "approve"]
    assert (entry["by"], entry["note"], entry["step"]) == ("ann", "paid in full", "approval")


def test_a_rejection_reaches_the_workflow(scene: Scene) -> None:
    run_id = scene.play(a_sale_to_approve)

    said = scene.json("reject", "--key", "sale-7", "--by", "bob", "--note", "no stock")

    assert said == {
        "id": run_id,
        "workflow": "sell",
        "step": "approval",
        "title": "Ship 7?",
        "outcome": "rejected",
        "by": "bob",
        "note": "no stock",
        "at": "2026-01-01T00:00:00.000000Z",
        "is_repeat": False,
    }
    scene.play(going_on)
    assert scene.json("show", run_id)["output"] == "kept 7"


def test_without_a_name_the_login_name_stands_in_the_log(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "carla")
    run_id = scene.play(a_sale_to_approve)

    assert scene.shown("approve", run_id).endswith("approved by carla.\n")


def test_a_machine_that_does_not_know_its_user_decides_all_the_same(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> str:
        raise OSError("No username set in the environment")  # as Python 3.13 says it; before, a KeyError

    monkeypatch.setattr(getpass, "getuser", nobody)
    run_id = scene.play(a_sale_to_approve)

    assert scene.shown("approve", run_id) == f"'Ship 7?' of {run_id} (sell) approved.\n"


def test_the_same_decision_again_is_a_repeat_and_another_one_is_refused(either: Scene) -> None:
    run_id = either.play(a_sale_to_approve)
    either.shown("approve", run_id, "--by", "ann")

    again = either.shown("approve", run_id, "--by", "ann")

    assert again == f"'Ship 7?' of {run_id} (sell) was approved before by ann.\n"
    assert either.json("approve", run_id, "--by", "ann")["is_repeat"] is True
    for other in (["reject", "--by", "ann"], ["approve", "--by", "bob"]):
        refused = either.refused(*other, run_id)
        assert refused == f"Approval 'Ship 7?' of {run_id} is approved by ann; waiting was expected."
    assert [entry["cause"] for entry in either.json("show", run_id)["log"]].count("approve") == 1


def test_of_several_one_has_to_be_named(scene: Scene) -> None:
    run_id = scene.play(two_approvals)

    refused = scene.refused("approve", run_id)
    keys = [step["key"] for step in scene.json("show", run_id)["steps"]]

    assert refused == (
        f"Run {run_id} waits for 2 approvals. Say which one with --step: "
        f"{keys[0]} ('Is she good?'), {keys[1]} ('Can we pay?')."
    )
    assert "does not exist" in scene.refused("approve", run_id, "--step", "nobody")
    said = scene.shown("reject", run_id, "--step", keys[1], "--by", "ann")
    assert said == f"'Can we pay?' of {run_id} (hire) rejected by ann.\n"
    assert scene.shown("approve", run_id, "--by", "ann") == f"'Is she good?' of {run_id} (hire) approved by ann.\n"


def test_what_waits_for_no_approval_is_refused(scene: Scene) -> None:
    run_id = scene.play(a_sale)

    expected = f"Run {run_id} is waiting; one that waits for an approval was expected."
    assert scene.refused("approve", run_id) == expected
    assert scene.refused("reject", run_id) == expected


@pytest.mark.parametrize("command", ["approve", "reject"])
@pytest.mark.parametrize(
    "args",
    [
        [],
        ["run_0", "--key", "sale-7"],
        ["run_0", "--by", ""],
        ["run_0", "--by", "x" * 256],
        ["run_0", "--note", "x" * 2_001],
        ["run_0", "--note", "bad\udcff"],
        ["run_0", "--step", ""],
        ["run_0", "more"],
    ],
)
def test_words_that_cannot_be_meant_are_refused(scene: Scene, command: str, args: list[str]) -> None:
    scene.shown("migrate")

    assert scene.refused(command, *args, exit_code=2).endswith(f"Try: windlass {command} --help")


def test_of_a_graph_the_job_is_named_that_asks(scene: Scene) -> None:
    async def story(harness: Harness) -> str:
        graph = harness.app.graph("release")

        @graph.job
        async def publish(ctx: JobContext) -> None:
            await ctx.approval("Publish?")

        handle = await harness.start(graph)
        await harness.idle()
        return str(handle.id)

    graph = scene.play(story)

    refused = scene.refused("approve", graph)
    assert refused.endswith(f"a job was expected. Waiting for one: {graph}/publish.")
    assert "'Publish?'" in scene.shown("approve", f"{graph}/publish")

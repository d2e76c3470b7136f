"""Who is asked and told when a handler does not go well, and what follows from the answer?"""

from __future__ import annotations

from typing import Any

import pytest

import windlass
from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.integration.pipelines.till import Order, Receipt, Till, World, pass_time, refusal
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # all of it is the worker's own business, also of one behind a wire


class Repair:
    """`on_logic_error`, which answers what the test says."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = [*answers], list[windlass.Problem]()

    async def __call__(self, problem: windlass.Problem) -> Any:
        self.asked.append(problem)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Gate):
            await answer.wait()
            return windlass.Fixed()
        return answer


@pytest.mark.spec("pipelines:78", "pipelines:85", "pipelines:101", "pipelines:108")
@pytest.mark.parametrize(("code", "phase"), [("prepare", "preparing"), ("mutate", "prepared"), ("charge", "mutating")])
async def test_a_repair_is_followed_by_a_fresh_attempt_where_nothing_has_happened(
    harness: Harness, code: str, phase: str
) -> None:
    repair, world = Repair(windlass.Fixed("restarted it")), World()
    till = await Till(harness, world, on_logic_error=repair, on_attention=world.told.append).deployed()
    world.plan(**{code: refusal("logic", "typo")})
    await till.settle("a")
    first, second = await till.runs()
    (problem,) = repair.asked

    assert (problem.pipeline, problem.handler, problem.run_id) == ("payments", "Charge", first.id)
    assert (problem.phase, problem.status, problem.attempt) == (phase, "failed:logic", 1)
    assert problem.failure is not None and problem.failure.message == "typo"
    assert (first.phase, first.status, first.note) == (phase, "failed:logic", "restarted it")
    assert (second.retry_of, second.status) == (first.id, "committed")
    assert world.count("prepare") == 2
    assert world.told == []


@pytest.mark.spec("pipelines:75", "pipelines:86", "pipelines:108", "invariants:I-38")
async def test_a_repair_of_next_is_followed_by_the_same_next(harness: Harness) -> None:
    repair = Repair(windlass.Fixed())
    till = await Till(harness, on_logic_error=repair).deployed()
    till.world.plan(next=KeyError("typo"))
    await till.settle("a")

    assert await till.path() == [("emitting", "failed:logic"), ("committed", "committed")]
    assert till.world.journal == ["prepare", "mutate", "charge", "next", "next"]
    assert till.world.handed == [(Order("a"), "success", Receipt("a", till.world.keys[0]))] * 2


@pytest.mark.spec("pipelines:85")
async def test_two_repairs_in_a_row_are_tried_and_the_failure_behind_them_is_for_a_person(harness: Harness) -> None:
    repair, world = Repair(*[windlass.Fixed()] * 4), World()
    till = await Till(harness, world, on_logic_error=repair, on_attention=world.told.append).deployed()
    world.plan(prepare=[refusal("logic") for _ in range(3)])
    await till.settle("a")

    assert len(repair.asked) == 2
    assert await till.path() == [("preparing", "failed:logic")] * 3
    assert await till.standing() == ("attention", "logic")
    assert [problem.issue for problem in world.told] == ["logic"]
    await till.app.pipelines.resume("payments")
    await harness.idle()
    assert world.noted == ["a"]
    world.plan(prepare=refusal("logic"))  # counted anew
    await till.settle("b")
    assert len(repair.asked) == 3
    assert world.noted == ["a", "b"]


@pytest.mark.spec("pipelines:108")
@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (windlass.GiveUp("no idea"), "no idea"),
        (None, None),
        (RuntimeError("broken"), "on_logic_error failed: RuntimeError"),
        ("fixed", None),
    ],
    ids=["gives up", "nothing", "raises", "nonsense"],
)
async def test_who_does_not_repair_it_leaves_it_to_a_person(harness: Harness, answer: Any, note: str | None) -> None:
    repair, world = Repair(answer), World()
    till = await Till(harness, world, on_logic_error=repair, on_attention=world.told.append).deployed()
    world.plan(prepare=refusal("logic"))
    await till.settle("a")
    (run,) = await till.runs()

    assert await till.standing() == ("attention", "logic")
    assert run.note == note
    assert [(problem.issue, problem.run_id) for problem in world.told] == [("logic", run.id)]
    await till.advance("1d")
    assert len(repair.asked) == 1


@pytest.mark.spec("pipelines:78")
@pytest.mark.parametrize("kind", ["transient", "auth", "permission", "internal"])
async def test_a_repair_is_asked_for_faults_of_the_code_alone(harness: Harness, kind: str) -> None:
    repair = Repair()
    till = await Till(harness, on_logic_error=repair).deployed()
    till.world.plan(prepare=refusal(kind))
    await till.settle("a")

    assert repair.asked == []


@pytest.mark.spec("pipelines:108")
async def test_a_repair_may_be_a_plain_function(harness: Harness) -> None:
    asked: list[windlass.Problem] = []

    def repair(problem: windlass.Problem) -> windlass.Fixed:
        asked.append(problem)
        return windlass.Fixed()

    till = await Till(harness, on_logic_error=repair).deployed()
    till.world.plan(prepare=refusal("logic"))
    await till.settle("a")

    assert len(asked) == 1
    assert till.world.noted == ["a"]


@pytest.mark.spec("pipelines:107", "pipelines:108", "pipelines:110")
async def test_nothing_of_the_pipeline_begins_while_it_is_repaired_and_what_came_is_served_then(
    harness: Harness, gate: Gate
) -> None:
    till = await Till(harness, on_logic_error=Repair(gate)).deployed()
    till.world.plan(prepare=refusal("logic"))
    await till.publish("a")
    await gate.reached()
    await till.publish("b")
    assert till.world.journal == ["prepare"]
    gate.open()
    await harness.idle()

    assert till.world.noted == ["a", "b"]


@pytest.mark.spec("pipelines:108")
async def test_a_worker_that_dies_while_it_repairs_is_followed_by_one_that_asks_again(
    harness: Harness, gate: Gate
) -> None:
    repair = Repair(gate, windlass.Fixed())
    till = await Till(harness, on_logic_error=repair).deployed()
    till.world.plan(prepare=refusal("logic"))
    await till.publish("a")
    await gate.reached()
    harness.crash()
    await harness.idle()

    assert len(repair.asked) == 2
    assert await till.path() == [("preparing", "failed:logic"), ("committed", "committed")]


@pytest.mark.spec("pipelines:109")
@pytest.mark.parametrize(
    ("plans", "issue"),
    [
        ({"prepare": refusal("internal")}, "internal"),
        ({"prepare": refusal("logic")}, "logic"),
        ({"next": refusal("auth")}, "auth"),
        ({"charge": refusal("permission")}, "permission"),
        ({"charge": ConnectionError("reset")}, "indeterminate"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_whoever_wants_to_hear_is_told_that_a_person_is_needed(
    harness: Harness, plans: dict[str, Any], issue: str
) -> None:
    world = World()
    till = await Till(harness, world, has_reconcile=False, on_attention=world.told.append).deployed()
    world.plan(**plans)
    await till.settle("a")
    (run,) = await till.runs()
    (problem,) = world.told

    assert (problem.issue, problem.run_id, problem.status) == (issue, run.id, run.status)
    assert problem.failure == run.failure
    assert await till.standing() == ("attention", issue)


@pytest.mark.spec("pipelines:109")
async def test_a_hook_that_fails_or_hangs_is_in_nobodys_way(
    harness: Harness, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = [gate, ValueError("broken")]

    async def tell(problem: windlass.Problem) -> None:
        hook: Any = hooks.pop(0)
        if isinstance(hook, Exception):
            raise hook
        await hook.wait()

    till = await Till(harness, on_attention=tell).deployed()
    till.world.plan(prepare=[refusal("internal"), refusal("internal")])
    await till.publish("a")
    await gate.reached()
    await till.app.pipelines.resume("payments")
    await eventually(lambda: not hooks, what="the second failure is told while the first is")
    await pass_time(harness, "30s")
    await gate.left()
    await harness.idle()
    assert "tell of pipeline 'payments' failed: ValueError" in caplog.text
    assert "tell of pipeline 'payments' failed: TimeoutError" in caplog.text
    await till.app.pipelines.resume("payments")
    await harness.idle()

    assert till.world.noted == ["a"]


@pytest.mark.spec("pipelines:83", "pipelines:101")
async def test_code_that_was_changed_is_tried_though_repairs_were_in_vain(open_shared: OpenHarness) -> None:
    world = World()
    till = await Till.restarted(open_shared, world, on_logic_error=Repair(windlass.GiveUp()))
    world.plan(prepare=refusal("logic"))
    await till.settle("a")
    assert await till.standing() == ("attention", "logic")
    await till.harness.aclose()

    till = await Till.restarted(open_shared, world, timeout="5s", on_logic_error=Repair())
    assert world.noted == ["a"]

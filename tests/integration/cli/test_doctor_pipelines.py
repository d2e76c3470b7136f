"""Does `windlass doctor` see pipelines that nobody executes, that wait for a person, and whose inputs are old?"""

from __future__ import annotations

import pytest

import windlass
from tests.integration.cli.scene import Scene
from tests.integration.cli.test_doctor_duties import examined
from tests.integration.conftest import eventually
from windlass.testing.harness import Harness


async def declare(harness: Harness) -> windlass.Topic[int]:
    """A producer of what nobody hears, and a consumer that is never sure."""
    numbers, unheard = harness.app.topic("number", int), harness.app.topic("unheard", int)
    pipeline, polled = harness.app.pipeline("counting"), list[int]()

    @harness.app.effect
    async def send(number: int) -> None:
        raise ConnectionError("reset")

    @pipeline.consumer(numbers)
    class Send(windlass.Consumer[int, None]):
        async def mutate(self, ctx: windlass.MutateContext, prepared: windlass.Prepared[int]) -> windlass.Effect[None]:
            return windlass.Effect(send, prepared.data)

    @pipeline.producer(every="1h", publishes=[unheard, numbers])
    async def poll(ctx: windlass.ProducerContext, state: int | None) -> int:
        ctx.publish(unheard, 1, id="1")
        polled.append(1)
        return 1

    await eventually(lambda: bool(polled), what="the worker has declared it")
    await harness.idle()
    return numbers


async def in_doubt(harness: Harness) -> None:
    numbers = await declare(harness)
    await harness.app.publish(numbers, 1, id="1", input=windlass.Input("meter", "reading", "7"))
    await harness.idle()


def test_one_that_goes_on_is_in_order_and_a_topic_that_nobody_hears_is_a_note(either: Scene) -> None:
    either.play(declare)

    check = examined(either)["pipelines"]

    assert (check["grade"], check["text"]) == ("good", "1 declared")
    assert check["details"] == ["topic unheard is published, and nobody subscribes to it"]


def test_one_that_no_worker_executes_is_late(either: Scene) -> None:
    either.play(declare)
    either.clock.advance("61m1s")

    check = examined(either)["pipelines"]

    assert (check["grade"], check["text"]) == ("warning", "1 declared; 1 needs a look")
    assert check["details"][0].startswith("'counting' has been due since 01:00:00 UTC (1 min 1 s)")


def test_one_that_waits_for_a_person_is_named_with_why(either: Scene) -> None:
    either.play(in_doubt)
    either.clock.advance("2h")

    check = examined(either)["pipelines"]

    assert check["grade"] == "warning"
    assert check["details"][0] == (
        "'counting' has waited for a person since 00:00:00 UTC (2 h) (indeterminate): windlass explain counting"
    )


@pytest.mark.spec("pipelines:117")
def test_inputs_that_wait_for_more_than_a_week_are_counted(either: Scene) -> None:
    either.play(in_doubt)
    either.clock.advance("6d")
    young = examined(either)["pipelines"]
    either.clock.advance("2d")

    old = examined(either)["pipelines"]

    assert not any("input" in line for line in young["details"])
    assert "1 input has waited in 'counting' for more than a week: windlass inputs counting" in old["details"]

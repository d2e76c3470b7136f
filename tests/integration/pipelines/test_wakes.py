"""Is a consumer woken when it asked for it, within the bounds of the engine, and by its own wake alone?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

import windlass
from tests.integration.conftest import Gate
from tests.integration.pipelines.handlers import Chooser, add_taker, everything, nothing
from tests.integration.pipelines.looking import (
    attempts,
    dirty,
    handler_of,
    jump,
    pass_time,
    stands,
    time_of,
    until_quiet,
    until_stands,
    wakes,
)
from windlass import InvalidInput, StepError
from windlass.rules.pipelines import CLAMPED, LONGEST_WAKE, SHORTEST_WAKE
from windlass.testing.harness import Harness

pytestmark = pytest.mark.in_process  # the wire carries nothing else here than in test_consumers
HOUR = timedelta(hours=1)


class Desk:
    """A pipeline with one consumer that chooses."""

    def __init__(self, harness: Harness, choose: Any = nothing) -> None:
        self.harness, self.chooser = harness, Chooser(choose)
        self.topic, self.pipeline = harness.app.topic("number", int), harness.app.pipeline("desk")
        self.chooser.add_to(self.pipeline, self.topic)

    async def publish(self, *ids: str) -> None:
        await until_quiet(self.harness)
        for id in ids:
            await self.harness.app.publish(self.topic, 7, id=id)
        await until_quiet(self.harness)

    async def wake(self) -> timedelta | None:
        """How long until it is woken."""
        await until_quiet(self.harness)
        found = (await wakes(self.harness, "desk")).get("choose")
        return None if found is None else found - time_of(self.harness)


FORMS: dict[str, Callable[[datetime], windlass.Reserve | windlass.Idle]] = {
    "text": lambda now: windlass.Idle(wake_at=(now + HOUR).isoformat()),
    "zulu": lambda now: windlass.Idle(wake_at=(now + HOUR).strftime("%Y-%m-%dT%H:%M:%SZ")),
    "elsewhere": lambda now: windlass.Idle(wake_at=(now + HOUR + HOUR).strftime("%Y-%m-%dT%H:%M:%S+01:00")),
    "datetime": lambda now: windlass.Idle(wake_at=now + HOUR),
    "timedelta": lambda now: windlass.Idle(wake_at=HOUR),
    "in-words": lambda now: windlass.Idle(wake_in="1h"),
    "in-timedelta": lambda now: windlass.Idle(wake_in=HOUR),
    "empty": lambda now: windlass.Reserve([], wake_at=HOUR),
}


@pytest.mark.spec("pipelines:20", "pipelines:25", "pipelines:27", "pipelines:48", "pipelines:124", "pipelines:152")
async def test_a_consumer_is_woken_without_any_event_however_it_said_when(harness: Harness) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("desk")
    choosers = {name: Chooser(nothing) for name in FORMS}

    def add(name: str, chooser: Chooser) -> None:
        chooser.choose = lambda found: FORMS[name](time_of(harness))
        chooser.add_to(pipeline, topic, name=name)

    for name, chooser in choosers.items():
        add(name, chooser)
    await until_quiet(harness)
    assert await wakes(harness, "desk") == dict.fromkeys(FORMS, time_of(harness) + HOUR)
    for chooser in choosers.values():
        chooser.choose = nothing

    await pass_time(harness, "59m59s")
    assert [chooser.saw for chooser in choosers.values()] == [[[]]] * len(FORMS)
    await pass_time(harness, "1s")
    assert [chooser.saw for chooser in choosers.values()] == [[[], []]] * len(FORMS)
    await pass_time(harness, "3d")
    assert [chooser.saw for chooser in choosers.values()] == [[[], []]] * len(FORMS)


@pytest.mark.spec("pipelines:28", "pipelines:67")
async def test_a_wake_is_kept_also_where_events_were_reserved(harness: Harness) -> None:
    desk = Desk(harness, lambda found: windlass.Reserve(found, wake_at=HOUR))
    await desk.publish("a")
    assert await stands(harness, "desk") == {"a": "consumed"}
    assert await desk.wake() == HOUR

    await pass_time(harness, "1h")

    assert desk.chooser.saw == [[], ["a"], []]


@pytest.mark.spec("pipelines:140", "pipelines:67", "pipelines:105")
async def test_a_wake_is_stored_with_the_reservation_before_anything_follows(harness: Harness, gate: Gate) -> None:
    desk = Desk(harness)
    await until_quiet(harness)
    desk.chooser.choose, desk.chooser.next_gate = lambda found: windlass.Reserve(found, wake_at=HOUR), gate
    await harness.app.publish(desk.topic, 7, id="a")
    await gate.reached()

    await until_stands(harness, "desk", a="reserved")
    assert await wakes(harness, "desk") == {"choose": time_of(harness) + HOUR}
    gate.open()
    assert await desk.wake() == HOUR


@pytest.mark.spec("pipelines:29", "pipelines:30", "pipelines:152")
async def test_an_event_ahead_of_a_wake_wakes_and_may_set_another(harness: Harness) -> None:
    desk = Desk(harness, lambda found: windlass.Idle(wake_in="1h"))
    await until_quiet(harness)
    await pass_time(harness, "40m")

    await desk.publish("a")

    assert desk.chooser.saw == [[], ["a"]]
    assert await desk.wake() == HOUR
    await pass_time(harness, "20m")  # the wake that was set before is gone
    assert len(desk.chooser.saw) == 2
    await pass_time(harness, "40m")
    assert len(desk.chooser.saw) == 3


@pytest.mark.spec("pipelines:26", "pipelines:139", "pipelines:125")
async def test_a_consumer_that_says_nothing_of_a_wake_has_none_any_more(harness: Harness) -> None:
    desk = Desk(harness, lambda found: windlass.Idle(wake_in="1h"))
    assert await desk.wake() == HOUR
    assert isinstance((await handler_of(harness, "desk", "choose")).wake_at, int)
    desk.chooser.choose = nothing

    await desk.publish("a")

    assert await desk.wake() is None
    assert (await handler_of(harness, "desk", "choose")).wake_at is None
    await pass_time(harness, "2d")
    assert len(desk.chooser.saw) == 2


ASKED = {  # by what it becomes, in seconds
    timedelta(0): 30,
    timedelta(seconds=29): 30,
    timedelta(seconds=30): 30,
    timedelta(seconds=31): 31,
    timedelta(days=-365): 30,
    timedelta(hours=24): 86_400,
    timedelta(hours=24, seconds=1): 86_400,
    timedelta(days=365): 86_400,
    timedelta(days=365 * 100): 86_400,
}


@pytest.mark.spec("pipelines:31", "pipelines:32", "pipelines:34", "pipelines:138", "pipelines:152", "security:62")
async def test_a_wake_out_of_bounds_is_moved_to_the_bound(harness: Harness) -> None:
    topic, pipeline, now = harness.app.topic("number", int), harness.app.pipeline("desk"), time_of(harness)
    expected: dict[str, datetime] = {}

    def add(name: str, seconds: int, **wake: Any) -> None:
        Chooser(lambda found: windlass.Idle(**wake)).add_to(pipeline, topic, name=name)
        expected[name] = now + timedelta(seconds=seconds)

    for place, (asked, seconds) in enumerate(ASKED.items()):
        add(f"timedelta-{place}", seconds, wake_at=asked)
        add(f"datetime-{place}", seconds, wake_at=now + asked)
        add(f"text-{place}", seconds, wake_at=(now + asked).isoformat())
        add(f"within-{place}", seconds, wake_in=asked)
        add(f"number-{place}", seconds, wake_in=int(asked.total_seconds()))
        add(f"float-{place}", seconds, wake_in=asked.total_seconds())
    await until_quiet(harness)

    assert await wakes(harness, "desk") == expected
    moved = {
        f"{form}-{place}"
        for place, (asked, seconds) in enumerate(ASKED.items())
        if asked != timedelta(seconds=seconds)
        for form in ("timedelta", "datetime", "text", "within", "number", "float")
    }
    runs = await attempts(harness, "desk")
    assert {run.status for run in runs} == {"committed"}
    assert {run.handler for run in runs if run.warning == CLAMPED} == moved, "and the run says so"
    assert {run.handler for run in runs if run.warning is None} == expected.keys() - moved
    assert (SHORTEST_WAKE, LONGEST_WAKE) == (30_000_000, 86_400_000_000)


@pytest.mark.spec("pipelines:33", "security:62")
async def test_a_text_that_is_no_time_is_a_warning_and_counts_as_none(harness: Harness) -> None:
    texts = ["tomorrow", "", "0", "1767225600", "2026-13-01T00:00:00Z", "P1D", "☃" * 500, "2026-01-01T09:00:00Z\n"]
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("desk")

    def add(name: str, text: str) -> None:
        Chooser(lambda found: windlass.Reserve(found, wake_at=text)).add_to(pipeline, topic, name=name)

    for place, text in enumerate(texts):
        add(f"reader-{place}", text)
    await until_quiet(harness)
    await harness.app.publish(topic, 7, id="a")
    await until_quiet(harness)

    assert await wakes(harness, "desk") == {}
    for run in await attempts(harness, "desk"):
        assert (run.status, run.error) == ("committed", None)
        assert run.warning is not None
        assert "is no time" in run.warning
        assert len(run.warning) < 300
    assert await stands(harness, "desk") == {"a": "consumed"}


NEVER: list[tuple[Any, str]] = [
    (1_767_225_600, "int"),
    (0, "int"),
    (1.5, "float"),
    (True, "bool"),
    (["2026-01-01T00:00:00Z"], "list"),
    (b"2026-01-01T00:00:00Z", "bytes"),
    (datetime(2026, 1, 1, 9), "no timezone"),  # noqa: DTZ001
    ("2026-01-01T09:00:00", "no timezone"),
    ("2026-01-01", "no timezone"),
]


@pytest.mark.spec("pipelines:150", "security:62")
async def test_a_wake_that_can_never_be_a_time_is_a_fault_of_the_code(harness: Harness) -> None:
    topic = harness.app.topic("number", int)

    def add(place: int, wake: Any) -> None:
        chooser = Chooser(lambda found: windlass.Reserve(found, wake_at=wake) if found else windlass.Idle())
        chooser.add_to(_pipeline(harness, f"desk-{place}"), topic)

    for place, (wake, _) in enumerate(NEVER):
        add(place, wake)
    await until_quiet(harness)
    await harness.app.publish(topic, 7, id="a")
    await until_quiet(harness)

    for place, (_, said) in enumerate(NEVER):
        run = (await attempts(harness, f"desk-{place}"))[-1]
        assert (place, run.phase, run.status) == (place, "preparing", "failed:logic")
        assert run.error is not None
        assert "wake_at" in run.error
        assert said in run.error
        assert await stands(harness, f"desk-{place}") == {"a": "pending"}


def _pipeline(harness: Harness, name: str) -> windlass.Pipeline:
    return harness.app.pipeline(name)


@pytest.mark.spec("pipelines:34")
def test_no_handler_can_move_the_bounds() -> None:
    with pytest.raises(TypeError):
        windlass.Idle(shortest="1s")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        windlass.Reserve([], longest="1w")  # type: ignore[call-arg]
    with pytest.raises(InvalidInput):
        windlass.Idle(wake_at="2026-01-01T00:00:00Z", wake_in="1h")


@pytest.mark.spec(
    "pipelines:119",
    "pipelines:120",
    "pipelines:143",
    "pipelines:147",
    "pipelines:151",
    "pipelines:152",
)
async def test_each_consumer_has_a_wake_of_its_own(harness: Harness) -> None:
    topic, pipeline = harness.app.topic("number", int), harness.app.pipeline("desk")
    early = Chooser(lambda found: windlass.Idle(wake_in="10m"))
    late = Chooser(lambda found: windlass.Idle(wake_in="1h"))
    never = Chooser(nothing)
    early.add_to(pipeline, topic, name="early")
    late.add_to(pipeline, topic, name="late")
    never.add_to(pipeline, topic, name="never")
    await until_quiet(harness)
    start = time_of(harness)
    assert await wakes(harness, "desk") == {"early": start + HOUR / 6, "late": start + HOUR}
    early.choose = nothing

    await pass_time(harness, "10m")
    assert [len(item.saw) for item in (early, late, never)] == [2, 1, 1]
    assert await wakes(harness, "desk") == {"late": start + HOUR}
    await pass_time(harness, "50m")

    assert [len(item.saw) for item in (early, late, never)] == [2, 2, 1]


@pytest.mark.spec("pipelines:131")
async def test_a_wake_that_comes_while_the_pipeline_is_busy_is_not_lost(harness: Harness, gate: Gate) -> None:
    desk, ran = Desk(harness, lambda found: windlass.Idle(wake_in="1m")), list[str]()
    other = harness.app.topic("other", int)
    add_taker(desk.pipeline, other, ran, gate=gate)
    await until_quiet(harness)
    desk.chooser.choose = nothing
    await harness.app.publish(other, 1, id="a")
    await gate.reached()
    await jump(harness, "2m")
    assert len(desk.chooser.saw) == 1
    gate.open()
    await until_quiet(harness)

    assert len(desk.chooser.saw) == 2
    assert await wakes(harness, "desk") == {}


@pytest.mark.spec("pipelines:131")
@pytest.mark.parametrize("how", ["failed", "crashed"])
async def test_a_wake_stays_due_until_a_reservation_replaces_it(harness: Harness, gate: Gate, how: str) -> None:
    desk = Desk(harness, lambda found: windlass.Idle(wake_in="1m"))
    await until_quiet(harness)
    desk.chooser.choose = nothing
    if how == "failed":
        desk.chooser.error = StepError("not now", kind="transient")
        await pass_time(harness, "1m")
        assert await wakes(harness, "desk") == {"choose": time_of(harness)}
        await pass_time(harness, "10s")
    else:
        desk.chooser.prepare_gate = gate
        await jump(harness, "1m")
        await gate.reached()
        harness.crash()
        await gate.reached(2)
        assert await wakes(harness, "desk") == {"choose": time_of(harness)}
        gate.open()
        await until_quiet(harness)

    assert len(desk.chooser.saw) == 3
    assert await wakes(harness, "desk") == {}


@pytest.mark.spec("pipelines:141", "pipelines:142")
async def test_a_wake_is_stored_beside_the_state_and_changes_none_of_it(harness: Harness) -> None:
    topic, pipeline, states = harness.app.topic("number", int), harness.app.pipeline("desk"), list[Any]()

    @pipeline.consumer(topic)
    class Keep(windlass.Consumer[None, None]):
        async def prepare(self, ctx: windlass.PrepareContext, state: dict[str, int] | None) -> windlass.Reserve:
            states.append(state)
            return windlass.Reserve(await ctx.peek(topic), wake_at=HOUR)

        async def next(
            self, ctx: windlass.NextContext, prepared: windlass.Prepared[None], result: None
        ) -> dict[str, int] | None:
            return {"taken": len(prepared.events)} if prepared.events else None

    await until_quiet(harness)
    assert await wakes(harness, "desk") == {"Keep": time_of(harness) + HOUR}  # its row has a wake, and no state
    assert not (await handler_of(harness, "desk", "Keep")).has_state
    await harness.app.publish(topic, 7, id="a")
    await until_quiet(harness)
    await pass_time(harness, "1h")
    await pass_time(harness, "1h")

    assert states == [None, None, {"taken": 1}, {"taken": 1}]


@pytest.mark.spec("pipelines:152")
async def test_a_wake_alone_makes_nobody_dirty(harness: Harness) -> None:
    desk = Desk(harness, lambda found: windlass.Idle(wake_in="1h"))
    await until_quiet(harness)
    await harness.app.pipelines.pause("desk")
    await jump(harness, "2h")
    assert await dirty(harness, "desk") == set()
    await until_quiet(harness)
    assert len(desk.chooser.saw) == 1
    await harness.app.pipelines.resume("desk")
    await until_quiet(harness)

    assert len(desk.chooser.saw) == 2


@pytest.mark.spec("pipelines:51")
async def test_a_commit_leaves_its_consumer_clean_with_the_wake_of_its_prepare(harness: Harness) -> None:
    desk = Desk(harness, everything)
    await until_quiet(harness)
    desk.chooser.choose = lambda found: windlass.Reserve(found, wake_at=HOUR)
    await desk.publish("a", "b")

    assert await dirty(harness, "desk") == set()
    assert await desk.wake() == HOUR

"""Does an event reach its run once, whenever it is sent, and does a wait end in time when none comes?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.conftest import Gate, OpenHarness, eventually, log_of, path_of, row_of
from tests.programs import receives
from windlass import AlreadyExists, Context, InvalidInput, NotFound, WaitTimeout, WrongState
from windlass.api.service import Work
from windlass.define.event import Event
from windlass.model.commands import SendEvent, Suspend, Suspended
from windlass.model.run import RunId
from windlass.testing.harness import Harness


@dataclass
class Reply:
    text: str
    stars: int = 5


def declare_asking(harness: Harness, **options: Any) -> tuple[Any, Event[str]]:
    replied = harness.app.event("replied", str)
    asking = harness.app.workflow(name="asking")(receives(replied, **options))
    return asking, replied


async def test_a_run_parks_until_its_event_comes(harness: Harness) -> None:
    asking, replied = declare_asking(harness)
    handle = await harness.start(asking)
    await harness.idle()
    run = await row_of(harness, handle)
    assert (run.status, run.available_at, run.worker) == ("waiting", None, None)
    await harness.advance("520w")
    assert await handle.status() == "waiting"

    assert await handle.send(replied, "yes") is True

    assert await handle.result() == "yes"
    assert (await path_of(harness, handle))[-5:] == ["running", "waiting", "pending", "running", "completed"]


async def test_an_event_is_kept_until_somebody_waits_for_it(harness: Harness) -> None:
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> list[str]:
        await ctx.sleep("1h")
        return [await ctx.receive(replied), await ctx.receive(replied), await ctx.receive(replied)]

    handle = await harness.start(asking)
    await harness.idle()
    await handle.send(replied, "one")
    await handle.send(replied, "two")
    assert await handle.status() == "sleeping"  # an event for which nobody waits wakes nobody
    await harness.advance("1h")
    assert await handle.status() == "waiting"
    await handle.send(replied, "three")

    assert await handle.result() == ["one", "two", "three"]


async def test_events_of_another_name_stay_where_they_are(harness: Harness) -> None:
    asking, replied = declare_asking(harness)
    other = harness.app.event("other", int)
    handle = await harness.start(asking)
    await harness.idle()
    await handle.send(other, 7)
    await harness.idle()
    assert (await path_of(harness, handle))[-2:] == ["running", "waiting"]
    await handle.send(replied, "yes")

    assert await handle.result() == "yes"
    messages = await harness.opened.runs.list_messages("default", RunId(handle.id))
    assert [(message.name, message.taken_by) for message in messages] == [
        ("other", None),
        ("replied", "receive/replied"),
    ]


@pytest.mark.spec("security:44", "invariants:I-57")
async def test_the_same_id_is_the_same_event(harness: Harness) -> None:
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> list[str]:
        return [await ctx.receive(replied), await ctx.receive(replied, timeout="1h", default="nothing")]

    handle = await harness.start(asking)
    assert await handle.send(replied, "yes", id="m1") is True
    assert await handle.send(replied, "yes", id="m1") is False
    with pytest.raises(AlreadyExists, match="Id 'm1' was used for another message"):
        await handle.send(replied, "no", id="m1")
    await harness.idle()
    assert await handle.send(replied, "yes", id="m1") is False  # received by now, and still known
    await harness.advance("1h")

    assert await handle.result() == ["yes", "nothing"]
    assert await handle.send(replied, "yes", id="m1") is False  # also when the run is over


async def test_after_the_time_out_the_default_is_the_answer(harness: Harness) -> None:
    asking, replied = declare_asking(harness, timeout="3d", default="silence")
    handle = await harness.start(asking)
    await harness.idle()
    await harness.advance("2d")
    assert await handle.status() == "waiting"
    await harness.advance("1d")

    assert await handle.result() == "silence"
    with pytest.raises(WrongState, match="is completed; one that can still receive an event was expected"):
        await handle.send(replied, "late")


async def test_without_a_default_the_time_out_raises_the_same_at_every_replay(harness: Harness) -> None:
    replied, seen = harness.app.event("replied", str), list[str]()

    @harness.app.workflow
    async def asking(ctx: Context) -> str:
        try:
            await ctx.receive(replied, timeout="1h")
        except TimeoutError as error:
            assert isinstance(error, WaitTimeout)
            seen.append(str(error))
        await ctx.sleep("1h")
        return "over"

    assert await harness.run(asking) == "over"
    assert seen == ["Event 'replied' did not come in time."] * 2


@pytest.mark.spec("invariants:I-08")
async def test_an_event_that_is_here_wins_over_a_deadline_that_has_passed(idle_harness: Harness) -> None:
    harness = idle_harness
    asking, replied = declare_asking(harness, timeout="1h", default="silence")
    handle = await harness.start(asking)
    async with harness.app.worker():
        await harness.until(handle, "waiting")
    harness.clock.advance("2h")  # nobody was there when the hour was over
    await handle.send(replied, "in the end")
    async with harness.app.worker():
        assert await handle.result() == "in the end"


async def test_a_time_out_of_nothing_takes_what_is_here(harness: Harness) -> None:
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> list[str | None]:
        await ctx.sleep("1s")
        return [await ctx.receive(replied, timeout=0, default=None) for _ in range(2)]

    handle = await harness.start(asking)
    await harness.idle()
    await handle.send(replied, "yes")
    await harness.advance("1s")

    assert await handle.result() == ["yes", None]


async def test_an_event_reaches_a_run_whose_body_is_at_work(harness: Harness, gate: Gate) -> None:
    replied, seen = harness.app.event("replied", str), list[str]()

    @harness.app.workflow
    async def asking(ctx: Context) -> str:
        async def listen() -> None:
            seen.append(await ctx.receive(replied))

        await asyncio.gather(ctx.step(gate.wait), listen())
        return "both"

    handle = await harness.start(asking)
    await gate.reached()
    await handle.send(replied, "now")
    await eventually(lambda: seen == ["now"], what="the event is received while the body is at work")
    gate.open()

    assert await handle.result() == "both"
    assert gate.entries == 1


async def test_a_deadline_ends_a_wait_while_another_body_is_at_work(harness: Harness, gate: Gate) -> None:
    replied, seen = harness.app.event("replied", str), list[str]()

    @harness.app.workflow
    async def asking(ctx: Context) -> str:
        async def listen() -> None:
            seen.append(await ctx.receive(replied, timeout="1m", default="silence"))

        await asyncio.gather(ctx.step(gate.wait), listen())
        return "both"

    handle = await harness.start(asking)
    await gate.reached()

    async def passes() -> bool:
        harness.clock.advance("1s")
        return seen == ["silence"]

    await eventually(passes, what="the wait ends")
    gate.open()

    assert await handle.result() == "both"


async def test_two_waits_for_one_event_get_one_each_in_the_order_they_began(harness: Harness) -> None:
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> list[str]:
        return list(await asyncio.gather(ctx.receive(replied), ctx.receive(replied)))

    handle = await harness.start(asking)
    await harness.until(handle, "waiting")
    await handle.send(replied, "one")
    await harness.idle()
    assert await handle.status() == "waiting"
    await handle.send(replied, "two")

    assert await handle.result() == ["one", "two"]


async def test_a_typed_event_arrives_as_what_it_was(harness: Harness) -> None:
    rated = harness.app.event("rated", Reply)

    @harness.app.workflow
    async def asking(ctx: Context) -> Reply:
        return await ctx.receive(rated)

    handle = await harness.start(asking)
    with pytest.raises(InvalidInput, match="Event 'rated'"):
        await handle.send(rated, "five stars")  # type: ignore[arg-type]
    await handle.send(rated, Reply("good", 4))

    assert await handle.result() == Reply("good", 4)


async def test_an_event_can_be_named_and_a_wrong_name_gets_a_hint(harness: Harness) -> None:
    asking, _ = declare_asking(harness)
    handle = await harness.start(asking)
    with pytest.raises(NotFound, match=r"Event 'repleid' does not exist. Did you mean 'replied'\?"):
        await handle.send("repleid", "yes")
    await handle.send("replied", "yes")

    assert await handle.result() == "yes"


async def test_what_somebody_sent_without_knowing_its_type_is_an_error_the_code_can_handle(harness: Harness) -> None:
    replied = harness.app.event("replied", str)

    @harness.app.workflow
    async def asking(ctx: Context) -> str:
        try:
            return await ctx.receive(replied)
        except InvalidInput as error:
            await ctx.sleep("1s")  # the same at a replay
            return f"refused: {error.reason}"

    handle = await harness.start(asking)
    payload, hashed = harness.app._codec.encode_hashed({"not": "text"})
    command = SendEvent(
        namespace="default", run_id=RunId(handle.id), event="replied", id="x", payload=payload, payload_hash=hashed
    )
    await harness.opened.control.send_event(command)
    await harness.idle()
    await harness.advance("1s")

    assert await handle.result() == "refused: wrong_event"


async def test_an_unknown_run_takes_no_event(harness: Harness) -> None:
    _, replied = declare_asking(harness)
    with pytest.raises(NotFound):
        await harness.app.handle("run_" + "0" * 26).send(replied, "yes")


async def test_receive_takes_an_event_and_not_its_name(harness: Harness) -> None:
    @harness.app.workflow
    async def asking(ctx: Context) -> str:
        return await ctx.receive("replied")  # type: ignore[call-overload, no-any-return]

    with pytest.raises(Exception, match=r"receive\(\) takes an event, not str"):
        await harness.run(asking)


async def test_events_of_one_name_have_one_type(harness: Harness) -> None:
    harness.app.event("replied", str)
    assert harness.app.event("replied", str).type is str
    with pytest.raises(AlreadyExists, match="Event 'replied' is declared twice"):
        harness.app.event("replied", int)


async def test_a_thousand_events_wake_a_run_no_more_often_than_it_waits(harness: Harness) -> None:
    counted = harness.app.event("counted", int)

    @harness.app.workflow
    async def counting(ctx: Context) -> int:
        return sum([await ctx.receive(counted) for _ in range(200)])

    handle = await harness.start(counting)
    await harness.until(handle, "waiting")
    for number in range(200):
        await handle.send(counted, number)

    assert await handle.result() == sum(range(200))


async def test_a_run_is_woken_in_another_process(open_shared: OpenHarness) -> None:
    serving, sending = await open_shared(), await open_shared(has_worker=False)
    asking, _ = declare_asking(serving)
    handle = await serving.start(asking)
    await serving.until(handle, "waiting")

    other = sending.app.handle(handle.id)
    await other.send(sending.app.event("replied", str), "from elsewhere")

    assert await handle.result() == "from elsewhere"
    assert [entry.cause for entry in await log_of(serving, handle.id)][-3:] == ["event", "claim", "finish"]


class SlowAnswers:
    """A worker's door whose answer to a suspension is held back for as long as the test wants."""

    def __init__(self, work: Work, gate: Gate) -> None:
        self._work, self._gate = work, gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    async def suspend_run(self, command: Suspend) -> Suspended:
        answer = await self._work.suspend_run(command)
        await self._gate.wait()
        return answer


async def test_an_event_that_comes_while_its_wait_is_being_written_is_heard_of_at_once(
    harness: Harness, gate: Gate
) -> None:
    replied, seen, written = harness.app.event("replied", str), list[str](), Gate()

    @harness.app.workflow
    async def asking(ctx: Context) -> None:
        async def listen() -> None:
            seen.append(await ctx.receive(replied))

        await asyncio.gather(ctx.step(gate.wait), listen())

    (worker,) = harness.app._workers
    worker._host.work = SlowAnswers(worker._host.work, written)  # type: ignore[assignment]
    handle = await harness.start(asking)
    await written.reached()
    await handle.send(replied, "now")
    await eventually(lambda: any(e.waits.is_undecided for e in worker.executions), what="the worker hears of it")
    written.open()
    await eventually(lambda: seen == ["now"], what="the event is received, and no time has passed")
    gate.open()
    await handle.result()

"""Is a call that cannot have been meant answered with what to write, before anything has happened?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.programs import receives
from windlass import App, Context, InvalidInput, NotFound, RunFailed, WrongState
from windlass.testing.harness import Harness

pytestmark = pytest.mark.parametrize("url", ["memory", "postgres"], indirect=True)


async def waiting_for_payment(harness: Harness) -> Any:
    paid = harness.app.event("paid", int)
    order = harness.app.workflow(receives(paid))
    handle = await harness.start(order)
    await harness.until(handle, "waiting")
    return handle


async def test_an_event_of_another_app_with_another_type_is_not_sent(harness: Harness) -> None:
    handle = await waiting_for_payment(harness)
    other = App("sqlite:///:memory:")

    with pytest.raises(InvalidInput) as refused:
        await handle.send(other.event("paid", str), "twelve")
    with pytest.raises(NotFound) as unknown:
        await handle.send(other.event("piad", int), 12)

    assert str(refused.value) == (
        "send() got Event('paid', str), and this App declares Event('paid', int). Use the one that app.event() gave."
    )
    assert str(unknown.value) == ("Event 'piad' does not exist. Did you mean 'paid'? Declare it with app.event().")
    assert await handle.status() == "waiting"
    await handle.send("paid", 12)
    assert await handle.result() == 12


async def test_an_event_of_another_app_that_is_declared_alike_is_sent(harness: Harness) -> None:
    handle = await waiting_for_payment(harness)

    await handle.send(App("sqlite:///:memory:").event("paid", int), 12)

    assert await handle.result() == 12


@pytest.mark.parametrize("wrong", [None, 7, int])
async def test_send_takes_an_event(harness: Harness, wrong: Any) -> None:
    handle = await waiting_for_payment(harness)

    with pytest.raises(InvalidInput, match=r"send\(\) takes an event, not \w+: replied = app.event\('replied', str\)"):
        await handle.send(wrong, 12)


async def test_a_child_is_sent_events_of_this_app(harness: Harness) -> None:
    paid = harness.app.event("paid", int)
    foreign = App("sqlite:///:memory:").event("paid", str)

    @harness.app.workflow
    async def child(ctx: Context) -> int:
        return await ctx.receive(paid)

    @harness.app.workflow
    async def parent(ctx: Context) -> list[str]:
        started, said = await ctx.start(child), list[str]()
        for wrong in ("paid", None, foreign):
            try:
                await started.send(wrong, "12")  # type: ignore[arg-type]
            except InvalidInput as refused:
                said.append(str(refused))
        await started.send(paid, 12)
        return [*said, str(await started.result())]

    declared = "this App declares Event('paid', int). Use the one that app.event() gave."
    assert await harness.run(parent) == [
        "child.send() takes an event, not str: replied = app.event('replied', str).",
        "child.send() takes an event, not NoneType: replied = app.event('replied', str).",
        f"child.send() got Event('paid', str), and {declared}",
        "12",
    ]


async def test_the_result_of_a_paused_run_says_how_it_goes_on(harness: Harness) -> None:
    handle = await waiting_for_payment(harness)
    await handle.pause()

    with pytest.raises(WrongState) as paused:
        await handle.result()

    assert str(paused.value) == (
        f"Run {handle.id} is paused; completed was expected. Let it go on: windlass resume {handle.id}"
    )


async def said_by(harness: Harness, call: Callable[[Context], Any]) -> str:
    """What a workflow fails with that calls this."""

    @harness.app.workflow
    async def asking(ctx: Context) -> None:
        await call(ctx)

    with pytest.raises(RunFailed) as failed:
        await harness.run(asking)
    return failed.value.message


def resize(image: str) -> str:
    return image


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ctx: ctx.race(a=3), "race() takes what can be awaited, and 'a' is of type int."),
        (lambda ctx: ctx.race(nap=ctx.sleep("1s"), a=""), "race() takes what can be awaited, and 'a' is of type str."),
        (
            lambda ctx: ctx.race(ctx.sleep("1s"), ctx.sleep("2s")),
            "race() takes its runners by name: name, value = await ctx.race(reply=ctx.receive(…), late=ctx.sleep(…)).",
        ),
        (lambda ctx: ctx.map(resize, None), "map() takes a list of items, not NoneType: ctx.map(resize, images)."),
        (
            lambda ctx: ctx.step(resize, ctx),
            "ctx.step(resize, …): a step gets no ctx. Leave it out, or call resize from the workflow.",
        ),
        (lambda ctx: ctx.step(resize, object()), "ctx.step(resize, …): $[0] is an object"),
        (lambda ctx: ctx.map(resize, [object()]), "ctx.step(resize, …): $[0] is an object"),
        (lambda ctx: ctx.approval("Ship?", data=object()), "approval(data=…): "),
    ],
)
async def test_what_ctx_cannot_do_is_said_with_the_name_of_the_call(
    harness: Harness, call: Callable[[Any], Any], said: str
) -> None:
    assert (await said_by(harness, call)).startswith(said)


async def test_a_default_without_a_time_out_would_never_be_the_answer(harness: Harness) -> None:
    paid = harness.app.event("paid", int)

    said = await said_by(harness, lambda ctx: ctx.receive(paid, default=0))  # type: ignore[call-overload]

    assert said == (
        "receive() answers with a default after a timeout= only: receive(replied, timeout='1d', default=None)."
    )

"""Without a crash, is any attempt of any body entered twice?"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from windlass import Context, Retry, StepFailed, current_step
from windlass.model.time import SECOND
from windlass.testing.clock import START_AT
from windlass.testing.harness import Harness

RUNS = 40
LONGEST = START_AT + 300 * SECOND
entered: Counter[tuple[str, str, int]] = Counter()


def roll(*seed: object) -> float:
    """The same number whenever the same question is asked, so a replay takes the same way."""
    return Random(repr(seed)).random()


def note(run: str, name: str, failures: int) -> None:
    attempt = current_step().attempt
    entered[run, name, attempt] += 1
    if attempt <= failures:
        raise ValueError(name)


async def quick(run: str, name: str, failures: int) -> None:
    note(run, name, failures)


async def slow(run: str, name: str, failures: int) -> None:
    for _ in range(int(roll(run, name, "turns") * 40)):
        await asyncio.sleep(0)
    note(run, name, failures)


def threaded(run: str, name: str, failures: int) -> None:
    note(run, name, failures)


async def step(ctx: Context, run: str, name: str) -> None:
    body = (quick, slow, threaded)[int(roll(run, name, "body") * 3)]
    initial = 0.0 if roll(run, name, "at once") < 0.5 else roll(run, name, "initial")
    try:
        await ctx.step(body, run, name, int(roll(run, name, "failures") * 4), key=name, retry=Retry(3, initial=initial))
    except StepFailed:
        return  # all three attempts failed, as they were to


async def branch(ctx: Context, run: str, path: str, depth: int) -> None:
    for number in range(1 + int(roll(run, path, "length") * 4)):
        name = f"{path}/{number}"
        what = roll(run, name)
        if what < 0.5:
            await step(ctx, run, name)
        elif what < 0.65:
            await ctx.sleep(roll(run, name, "sleep"))
        elif what < 0.8 or not depth:
            wide = int(roll(run, name, "wide") * 9)
            await asyncio.gather(*(step(ctx, run, f"{name}.{item}") for item in range(wide)))
        else:
            await asyncio.gather(*(branch(ctx, run, f"{name}-{item}", depth - 1) for item in range(3)))


async def chaos(ctx: Context, run: str) -> str:
    await branch(ctx, run, "root", 2)
    return run


async def test_no_attempt_of_a_body_is_entered_twice_without_a_crash(url: str) -> None:
    entered.clear()
    async with Harness(url, slots=40) as harness:
        harness.app.workflow(chaos)
        handles = [await harness.start(chaos, str(number)) for number in range(RUNS)]

        await harness.idle()
        while not all([(await handle.status()).is_terminal for handle in handles]):
            # Half a second at a time, so that back-offs and sleeps of many runs end together.
            assert harness.clock.now() < LONGEST, [await handle.status() for handle in handles]
            await harness.advance("500ms")

        assert [await handle.result() for handle in handles] == [str(number) for number in range(RUNS)]
    assert len(entered) > 10 * RUNS
    assert {what: times for what, times in entered.items() if times > 1} == {}

"""Test a workflow that takes a week, in milliseconds: the Harness has a clock that the test moves.

With pytest, these would take the fixture `windlass_harness`. Run as a program, the file runs them itself.
"""

from __future__ import annotations

import asyncio

import windlass
from windlass.testing import Harness

app = windlass.App()
sent: list[str] = []


def send(text: str) -> None:
    sent.append(text)


def is_paid(invoice: str) -> bool:
    return len(sent) >= 2  # the second reminder helps


@app.workflow
async def remind(ctx: windlass.Context, invoice: str) -> str:
    for number in range(1, 4):
        await ctx.step(send, f"{invoice}: reminder {number}")
        await ctx.sleep("2d")
        if await ctx.step(is_paid, invoice):
            return f"paid after {number}"
    return "lawyers"


def open_harness() -> Harness:
    sent.clear()
    return Harness(app=app)  # SQLite in memory, a worker, and a clock that stands still


async def test_the_second_reminder_helps() -> None:
    async with open_harness() as harness:
        answer = await harness.run(remind, "invoice 7")  # every sleep is skipped

        assert answer == "paid after 2"
        assert sent == ["invoice 7: reminder 1", "invoice 7: reminder 2"]


async def test_nothing_is_sent_before_its_time() -> None:
    async with open_harness() as harness:
        handle = await harness.start(remind, "invoice 7")
        await harness.idle()  # the first reminder is sent, and the first sleep has begun

        await harness.advance("47h")
        assert (await handle.status(), len(sent)) == ("sleeping", 1)

        await harness.advance("1h")
        assert (await handle.status(), len(sent)) == ("sleeping", 2)


async def test_every_step_is_on_record() -> None:
    async with open_harness() as harness:
        handle = await harness.start(remind, "invoice 7")
        await harness.idle()
        await harness.advance("2d")

        statuses = {step.key: step.status.value for step in await harness.steps(handle)}
        assert statuses == {
            "send": "completed",
            "sleep": "completed",
            "is_paid": "completed",
            "send#2": "completed",
            "sleep#2": "waiting",
        }


if __name__ == "__main__":
    for test in (test_the_second_reminder_helps, test_nothing_is_sent_before_its_time, test_every_step_is_on_record):
        asyncio.run(test())
        print("passed:", test.__name__.removeprefix("test_").replace("_", " "))

"""Test a workflow that takes a week, in milliseconds: the Harness has a clock that the test moves.

These are plain async tests: pytest with pytest-asyncio finds them. Run as a program, the file runs them itself.
"""

from __future__ import annotations

import asyncio

import windlass
from windlass.testing.harness import Harness

sent: list[str] = []


def send(text: str) -> None:
    sent.append(text)


def is_paid(invoice: str) -> bool:
    return len(sent) >= 2  # the second reminder helps


async def remind(ctx: windlass.Context, invoice: str) -> str:
    """Declared below, on the app of the harness; a program would write @app.workflow here."""
    for number in range(1, 4):
        await ctx.step(send, f"{invoice}: reminder {number}")
        await ctx.sleep("2d")
        if await ctx.step(is_paid, invoice):
            return f"paid after {number}"
    return "lawyers"


async def test_the_second_reminder_helps() -> None:
    sent.clear()
    async with Harness() as harness:
        harness.app.workflow(remind)

        answer = await harness.run(remind, "invoice 7")  # every sleep is skipped

        assert answer == "paid after 2"
        assert sent == ["invoice 7: reminder 1", "invoice 7: reminder 2"]


async def test_nothing_is_sent_before_its_time() -> None:
    sent.clear()
    async with Harness() as harness:
        harness.app.workflow(remind)

        handle = await harness.start(remind, "invoice 7")
        await harness.advance("47h")

        assert (await handle.status(), len(sent)) == ("sleeping", 1)

        await harness.advance("1h")
        assert len(sent) == 2


async def test_every_step_is_on_record() -> None:
    sent.clear()
    async with Harness() as harness:
        harness.app.workflow(remind)
        handle = await harness.start(remind, "invoice 7")
        await harness.advance("4d")

        assert [step.key for step in await harness.steps(handle)] == [
            "send",
            "sleep",
            "is_paid",
            "send#2",
            "sleep#2",
        ]


if __name__ == "__main__":
    for test in (test_the_second_reminder_helps, test_nothing_is_sent_before_its_time, test_every_step_is_on_record):
        asyncio.run(test())
        print("passed:", test.__name__.removeprefix("test_").replace("_", " "))

"""A report at nine every morning, on the clocks of Rome. `windlass worker nightly_report:app` starts it, for ever.

Run as a program it lets a week pass in a moment, on a database of its own, and prints what would be sent.
"""

from __future__ import annotations

import asyncio
from zoneinfo import ZoneInfo

import windlass
from windlass.testing import Harness

app = windlass.App()
ROME = ZoneInfo("Europe/Rome")


def count_orders(day: str) -> int:
    return sum(map(ord, day)) % 50  # from a database, in earnest


def send(text: str) -> None:
    print(text)


@app.schedule(cron="0 9 * * MON-FRI", tz="Europe/Rome", args=("orders",), catch_up="all", overlap="skip")
async def report(ctx: windlass.Context, topic: str) -> None:
    # The time meant, not the time it is: a report that is made late is still about its day.
    assert ctx.scheduled_at is not None
    day = ctx.scheduled_at.astimezone(ROME)
    count = await ctx.step(count_orders, f"{day:%Y-%m-%d}")
    await ctx.step(send, f"{day:%a %d %b %H:%M}: {count} {topic}")


async def main() -> None:
    async with Harness(app=app) as harness:  # begins on Thursday the first of January 2026, at midnight UTC
        await harness.advance("7d")
        (schedule,) = await harness.app.schedules.list()
        print(
            f"{schedule.times}: fired {schedule.fired} times, next {schedule.next[0].astimezone(ROME):%a %d %b %H:%M}"
        )


if __name__ == "__main__":
    asyncio.run(main())

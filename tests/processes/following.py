"""Two workers of which one follows up on what fails in the other.

    take_orders    executes orders, which fail when they are told to; looks after nothing
    page           executes what follows, and is the only one that looks after signals

A wake-up is a hint: silent ones hear none and give none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import windlass
from tests.lives.faults import suppress_wakeups
from tests.processes.beside import told_to_leave
from windlass.app import App
from windlass.embedded import in_process
from windlass.model.time import HOUR, SECOND, Duration
from windlass.settings import Settings

LONGEST = Duration(HOUR)  # that one may say for an interval: no test waits for its end
OFTEN = Duration(SECOND // 10)

Told = dict[str, Any]  # how a failure was told: the firing


class Program:
    """What both workers, and who asks for orders, agree on."""

    def __init__(self, app: App) -> None:
        self.broken = app.event("broken", str)

        @app.workflow(name="order", queue="orders")
        async def order(ctx: windlass.Context, number: int) -> int:
            raise ValueError(await ctx.receive(self.broken))

        @app.workflow(name="page", queue="pages")
        async def page(ctx: windlass.Context, firing: windlass.Firing) -> Told:
            return {"subject": firing.subject_id, "to": firing.to_status, "payload": firing.payload}

        @app.workflow(name="hello", queue="pages")
        async def hello(ctx: windlass.Context) -> str:
            return "hello"

        self.order, self.page, self.hello = order, page, hello


def settings(*, is_silent: bool, coordinates: bool) -> Settings:
    every = OFTEN if is_silent else LONGEST
    return Settings(coordinates=coordinates, coordinate_for=every, poll_for=every)


async def opened(app: App, *, is_silent: bool) -> App:
    """Its hub gives no hints, and hears none, if it is silent."""
    engine = in_process(await app._opening.get()).engine
    if is_silent:
        suppress_wakeups(engine)
    return app


def _serve(url: str, *, queue: str, coordinates: bool, is_silent: bool, declares: bool) -> None:
    async def main() -> None:
        leave = told_to_leave()
        async with App(url, settings=settings(is_silent=is_silent, coordinates=coordinates)) as app:
            program = Program(await opened(app, is_silent=is_silent))
            if declares:  # in both: they are workers of one program
                app.on(program.order, enters="failed")(program.page)
            async with app.worker(queues=[queue]):
                await leave.wait()

    asyncio.run(main())


def take_orders(*, url: str, is_silent: bool, declares: bool, number: int) -> None:
    _serve(url, queue="orders", coordinates=False, is_silent=is_silent, declares=declares)


def page(*, url: str, is_silent: bool, declares: bool, number: int) -> None:
    _serve(url, queue="pages", coordinates=True, is_silent=is_silent, declares=declares)


ENTRIES: dict[str, Callable[..., int | None]] = {"take_orders": take_orders, "page": page}

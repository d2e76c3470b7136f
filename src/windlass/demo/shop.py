"""What the demo executes: an order that waits for a person, twenty parcels, a sleeping reminder, a failing refund.

The order is hit in the middle of `charge` and again in the middle of `ship`: there the first attempt waits for as long
as it takes to be killed, so that the story is the same on a slow machine.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from msgspec import Struct

from windlass.app import App
from windlass.define.context import Context
from windlass.define.current import current_step
from windlass.define.retry import Retry
from windlass.demo.journal import Journal
from windlass.model.run import RunStatus
from windlass.model.time import SECOND
from windlass.runtime import Clock

CHARGES = "charges"  # the folder in which the payment provider keeps what it has been asked for, by key
UNTIL_KILLED = 600.0  # seconds; nobody waits for their end
PARCELS = tuple(f"{number:02}" for number in range(1, 21))
TASKS = ("pick", "weigh", "wrap", "label", "load", "drive")
ORDER, REMINDER, REFUND = "order-7", "reminder-7", "refund-7"  # start keys

Workflow = Callable[[Context, str], Coroutine[Any, Any, str]]


class Plan(Struct, frozen=True):
    """How a run of a workflow has to end, and with which steps."""

    status: RunStatus
    steps: tuple[str, ...]


PLANS = {
    "order": Plan(RunStatus.COMPLETED, ("reserve", "charge", "ship")),
    "parcel": Plan(RunStatus.COMPLETED, TASKS),
    "reminder": Plan(RunStatus.COMPLETED, ("write", "send")),
    "refund": Plan(RunStatus.FAILED, ("transfer",)),
}


class Call(Struct, frozen=True):
    """A run to be started."""

    workflow: Workflow
    argument: str
    key: str


class Provider:
    """The outside world: a payment provider that charges once for a key, however often it is asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / CHARGES

    def charge(self, key: str) -> bool:
        """Charge the card, unless this key has done so. Returns whether the card was charged now."""
        self._folder.mkdir(exist_ok=True)
        try:
            (self._folder / key.replace("/", "-")).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def charges(self) -> int:
        return len(list(self._folder.iterdir())) if self._folder.exists() else 0


class Bodies:
    """What the steps do. Every body keeps the journal; at pace 0.5 it takes half the time."""

    def __init__(self, folder: Path, *, journal: Journal, clock: Clock, pace: float) -> None:
        self._provider, self._journal, self._clock, self._pace = Provider(folder), journal, clock, pace

    async def reserve(self, id: str) -> str:
        with self._journal.body():
            await self._work_for(0.8)
            return f"shelf 4 for order {id}"

    async def charge(self, id: str) -> str:
        with self._journal.body():
            is_new = self._provider.charge(current_step().idempotency_key)
            await self._work_for(UNTIL_KILLED / self._pace if is_new else 1.0)
            return f"charge for order {id}"

    async def ship(self, id: str) -> str:
        with self._journal.body():
            await self._work_for(UNTIL_KILLED / self._pace if current_step().attempt == 1 else 1.0)
            return f"tracking number of order {id}"

    async def handle(self, task: str, parcel: str) -> str:
        with self._journal.body():
            await self._work_for(0.4 + int(parcel) % 5 * 0.15)
            return f"{task}: done"

    async def write(self, id: str) -> str:
        with self._journal.body():
            await self._work_for(0.3)
            return f"Was all well with order {id}?"

    async def send(self, text: str) -> str:
        with self._journal.body():
            await self._work_for(0.3)
            return f"sent: {text}"

    async def transfer(self, id: str) -> str:
        with self._journal.body():
            await self._work_for(0.2)
            raise ConnectionError(f"the bank does not answer (refund {id})")

    async def _work_for(self, seconds: float) -> None:
        await self._clock.sleep(round(seconds * self._pace * SECOND))


def open_shop(app: App, *, bodies: Bodies, pace: float) -> tuple[Call, ...]:
    """Declare the workflows, and say which runs the demo consists of."""

    @app.workflow
    async def order(ctx: Context, id: str) -> str:
        shelf = await ctx.step(bodies.reserve, id)
        paid = await ctx.step(bodies.charge, id)
        await ctx.approval(f"Ship order {id}?", data={"shelf": shelf, "paid": paid})
        shipped = await ctx.step(bodies.ship, id)
        return f"{shelf}, {paid}, {shipped}"

    @app.workflow
    async def parcel(ctx: Context, number: str) -> str:
        for task in TASKS:
            await ctx.sleep((0.6 + int(number) % 4 * 0.2) * pace)
            await ctx.step(bodies.handle, task, number, name=task)
        return f"parcel {number} is on its way"

    @app.workflow
    async def reminder(ctx: Context, id: str) -> str:
        text = await ctx.step(bodies.write, id)
        await ctx.sleep(12.0 * pace)
        return await ctx.step(bodies.send, text)

    @app.workflow
    async def refund(ctx: Context, id: str) -> str:
        return await ctx.step(bodies.transfer, id, retry=Retry(3, initial=1.0 * pace))

    parcels = tuple(Call(parcel, number, f"parcel-{number}") for number in PARCELS)
    return (Call(order, "7", ORDER), Call(reminder, "7", REMINDER), Call(refund, "7", REFUND), *parcels)

"""A pipeline that charges orders, in which every phase, the effect and `reconcile` do what the test says."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

import windlass
from tests.integration.conftest import Gate, OpenHarness, eventually
from tests.integration.wires import at_rest
from windlass.model.pipeline import HandlerRun, Pipeline
from windlass.model.pipeline_commands import HandlerRunView, ListEvents, ListHandlerRuns
from windlass.model.time import SECOND
from windlass.testing.harness import Harness

NAME, ORDERS, DONE = "payments", "order.paid", "payment.done"


class Order(Struct, frozen=True):
    id: str
    amount: int = 7


class Receipt(Struct, frozen=True):
    order: str
    key: str = ""


@dataclass
class World:
    """What happened outside of the engine, and what is to happen there: it outlives every process."""

    journal: list[str] = field(default_factory=list)  # which code was called, in order
    plans: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))  # by code: what to do, then nothing
    keys: list[str] = field(default_factory=list)  # with which the effect was called
    asked: list[str] = field(default_factory=list)  # with which `reconcile` was
    handed: list[tuple[Any, Any, Any]] = field(default_factory=list)  # data, outcome and result, as `next` got them
    states: list[Any] = field(default_factory=list)  # as `prepare` got them
    noted: list[str] = field(default_factory=list)  # receipts that came through
    told: list[windlass.Problem] = field(default_factory=list)  # by hooks

    def plan(self, **plans: Any) -> None:
        """An exception is raised, a gate awaited, anything else returned: one of them at each call."""
        for code, items in plans.items():
            self.plans[code] += items if isinstance(items, list) else [items]

    async def act(self, code: str) -> Any:
        self.journal.append(code)
        planned = self.plans[code].pop(0) if self.plans[code] else None
        if isinstance(planned, BaseException):
            raise planned
        if isinstance(planned, Gate):
            return await planned.wait()
        return planned

    def count(self, code: str) -> int:
        return self.journal.count(code)


class Till:
    """The program: beside a worker that is at work already, or on an app that is opened later."""

    harness: Harness

    def __init__(
        self,
        place: Harness | windlass.App,
        world: World | None = None,
        *,
        has_reconcile: bool = True,
        batch: int = 1,
        approval: bool = False,
        timeout: str | None = None,
        **options: Any,
    ) -> None:
        self.app, self.world = place if isinstance(place, windlass.App) else place.app, world or World()
        if isinstance(place, Harness):
            self.harness = place
        self.batch = batch
        self._before = 0  # attempts that are of no interest
        self.orders, self.done = self.app.topic(ORDERS, Order), self.app.topic(DONE, Receipt)
        self.pipeline = self.app.pipeline(NAME, **options)
        self._declare_effect(has_reconcile=has_reconcile)
        self._declare_charge(approval=approval, timeout=timeout)
        self._declare_notes()

    def _declare_effect(self, *, has_reconcile: bool) -> None:
        world = self.world

        async def charge(order: Order) -> Receipt:
            world.keys.append(windlass.current_step().idempotency_key)
            found: Any = await world.act("charge")
            return Receipt(order.id, world.keys[-1]) if found is None else found

        async def find_charge(order: Order) -> Any:
            world.asked.append(windlass.current_step().idempotency_key)
            return await world.act("reconcile")

        if has_reconcile:
            self.charge = self.app.effect(reconcile=find_charge, timeout="60s")(charge)
        else:
            self.charge = self.app.effect(timeout="60s")(charge)

    def _declare_charge(self, *, approval: bool, timeout: str | None) -> None:
        till, world = self, self.world

        @self.pipeline.consumer(self.orders, publishes=[self.done], approval=approval, timeout=timeout)
        class Charge(windlass.Consumer[Order, Receipt]):
            async def prepare(
                self, ctx: windlass.PrepareContext, state: int | None
            ) -> windlass.Reserve | windlass.Idle:
                world.states.append(state)
                answer: Any = await world.act("prepare")
                if answer is not None:
                    chosen: Any = await answer(ctx) if callable(answer) else answer
                    return chosen  # type: ignore[no-any-return]
                found = await ctx.peek(till.orders, limit=till.batch)
                if not found:
                    return windlass.Idle()
                return windlass.Reserve(found, data=found[0].payload, title=f"Charge {found[0].id}")

            async def mutate(
                self, ctx: windlass.MutateContext, prepared: windlass.Prepared[Order]
            ) -> windlass.Effect[Receipt] | None:
                answer: Any = await world.act("mutate")
                return windlass.Effect(till.charge, prepared.data) if answer is None else answer

            async def next(
                self, ctx: windlass.NextContext, prepared: windlass.Prepared[Order], result: Receipt | None
            ) -> int | None:
                world.handed.append((prepared.data, prepared.outcome, result))
                if prepared.events:
                    ctx.publish(till.done, result or Receipt(prepared.events[0].id), id=prepared.events[0].id)
                answer: Any = await world.act("next")
                if not prepared.events:
                    return None
                if answer is None:
                    return (world.states[-1] or 0) + 1
                returned: Any = answer(ctx) if callable(answer) else answer
                return returned  # type: ignore[no-any-return]

    def _declare_notes(self) -> None:
        world = self.world
        notes = self.app.pipeline("notes")

        @notes.consumer(self.done)
        async def note(ctx: windlass.NextContext, events: list[windlass.TopicEvent[Receipt]]) -> None:
            world.noted.extend(event.id for event in events)

    @staticmethod
    async def restarted(open_shared: OpenHarness, world: World, *, is_beside: bool = False, **options: Any) -> Till:
        """The same program once more, in a process of its own; beside another one, which is at work still."""
        till = Till(windlass.App("sqlite:///:memory:"), world, **options)
        till.harness = await open_shared(app=till.app)
        till.app = till.harness.app
        if not is_beside:
            await till.harness.idle()
        return till

    async def deployed(self) -> Till:
        """This one, once its consumer has looked for the first time: a new one does so at once, and finds nothing."""

        await until_declared(self.harness, NAME)
        return await self.again()

    async def again(self) -> Till:
        """This one, with nothing in sight of what it did up to now."""
        self._before += len(await self.runs())
        for seen in (self.world.journal, self.world.handed, self.world.states, self.world.keys):
            seen.clear()
        return self

    async def publish(self, *ids: str) -> None:
        for id in ids:
            await self.app.publish(self.orders, Order(id), id=id)

    async def settle(self, *ids: str) -> None:
        """Publish these, and wait until everything is done or held."""
        await self.publish(*ids)
        await self.harness.idle()

    async def advance(self, duration: str) -> None:
        await self.harness.advance(duration)

    # What there is to see

    async def runs(self, name: str = NAME) -> list[HandlerRun]:
        """The attempts, the oldest first."""
        query = ListHandlerRuns(namespace="default", pipeline=name)
        found = [*(await self.harness.opened.pipelines.list_handler_runs(query)).runs][::-1]
        return found[self._before :] if name == NAME else found

    async def path(self) -> list[tuple[str, str]]:
        """Phase and status of each attempt, the oldest first."""
        return [(run.phase.value, run.status.value) for run in await self.runs()]

    async def view(self, run: HandlerRun) -> HandlerRunView:
        return await self.harness.opened.pipelines.get_handler_run("default", run.id)

    async def row(self) -> Pipeline:
        return (await self.harness.opened.pipelines.get_pipeline("default", NAME)).view.pipeline

    async def standing(self) -> tuple[str, str | None]:
        row = await self.row()
        return row.status.value, None if row.issue is None else row.issue.value

    async def due_in(self) -> float | None:
        """Seconds until somebody looks at it."""
        due = (await self.row()).available_at
        return None if due is None else (due - self.harness.clock.now()) / SECOND

    async def events(self, *, pipeline: str = NAME) -> dict[str, tuple[str, int]]:
        """Status and attempt of each event, by its id."""
        query = ListEvents(namespace="default", pipeline=pipeline)
        page = await self.harness.opened.pipelines.list_events(query)
        return {event.id: (event.status.value, event.attempt) for event in page.events}

    async def until_active(self, phase: str) -> HandlerRun:
        """Wait until the newest attempt is at work in this phase."""
        return await self._until_newest("active", phase)

    async def until_stopped(self, status: str) -> HandlerRun:
        """Wait until the newest attempt has this status, where nobody tells when all is idle."""
        return await self._until_newest(status)

    async def _until_newest(self, status: str, phase: str | None = None) -> HandlerRun:
        found: list[HandlerRun] = []

        async def is_there() -> bool:
            found[:] = (await self.runs())[-1:]
            return bool(found) and found[0].status == status and phase in (None, found[0].phase)

        await eventually(is_there, what=f"the newest attempt is {status} in {phase or 'any phase'}")
        return found[0]

    def tell(self, problem: windlass.Problem) -> None:
        """As a hook."""
        self.world.told.append(problem)


async def until_declared(harness: Harness, name: str) -> None:
    """Wait until a pipeline that was declared beside a worker is known, and has begun what it begins with."""

    async def is_known() -> bool:
        served = {item.revision for item in harness.app._registry.handlers.served_pipelines(("default",))}
        details = await harness.opened.pipelines.list_pipelines("default")
        return any(item.view.pipeline.name == name and item.view.pipeline.revision in served for item in details)

    await eventually(is_known, what=f"pipeline {name} is declared")
    await harness.idle()


async def pass_time(harness: Harness, duration: str) -> None:
    """Let time pass while code stands still, so that nobody is idle."""
    await at_rest()
    harness.clock.advance(duration)


def refusal(kind: str, text: str = "no", **options: Any) -> windlass.StepError:
    return windlass.StepError(text, kind=kind, **options)

"""How a story of tests/crash is told: a drive becomes a scenario, and workflows write down what reaches them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

import windlass
from tests.crash.places import Places
from tests.lives.crashes import SETTINGS, Case, Scenario, play
from tests.lives.journal import Event, read_journal
from tests.lives.life import Drive, Life
from windlass.errors import RunFailed, StepFailed
from windlass.model.page import ListRuns

REGISTERED: list[Scenario] = []
TOLD: dict[tuple[str, str], Case] = {}
Declare = Callable[[Life], None]
ROUNDS = 100  # of letting time pass, before a run that does not come there is given up


def scenario(
    declare: Declare, *, max_recoveries: int = 10, settings: Mapping[str, Any] | None = None, **options: Any
) -> Callable[[Drive], Drive]:
    """Make a scenario of a drive, under the drive's name."""
    given = {"max_recoveries": max_recoveries, **(settings or {})}

    def add(drive: Drive) -> Drive:
        REGISTERED.append(
            Scenario(
                name=drive.__name__.replace("_", " "),
                declare=declare,
                drive=drive,
                settings=msgspec.structs.replace(SETTINGS, **given),
                **options,
            )
        )
        return drive

    return add


def story(declare: Declare, **endings: str) -> Callable[[Drive], Drive]:
    """A scenario whose clients are started anew after a crash: `endings` says how the runs of each workflow end."""
    return scenario(declare, is_told_again=True, endings=endings)


def told(scenario: Scenario, places: Places) -> Case:
    """The story without a crash. It is the same each time, so it is told once on each database."""
    name = (places.name, scenario.name)
    if name not in TOLD:
        TOLD[name] = play(scenario, places.fresh())
    return TOLD[name]


async def seen(life: Life, ctx: windlass.Context, key: str, result: Awaitable[Any]) -> Any:
    """Await a step and write down what reached the code of the workflow."""
    try:
        value = await result
    except (StepFailed, RunFailed) as error:
        life.journal.write(Event.RAISED, run_id=ctx.run_id, key=key, value=[error.type, error.message, error.data])
        raise
    life.journal.write(Event.DELIVERED, run_id=ctx.run_id, key=key, value=value)
    return value


async def slept(life: Life, ctx: windlass.Context, key: str, duration: str) -> None:
    await ctx.sleep(duration)
    life.journal.write(Event.WOKE, run_id=ctx.run_id, key=key)


def noted(life: Life, ctx: windlass.Context, what: str, value: Any) -> Any:
    """Write down what the code goes by: it must be the same at every replay."""
    life.journal.write(Event.VALUE, run_id=ctx.run_id, what=what, value=value)
    return value


async def until(life: Life, handle: windlass.Handle[Any], *wanted: str) -> None:
    """Let time pass until the run stands there, or is over. A client that goes on after a crash may have to wait."""
    for _ in range(ROUNDS):
        await life.settle()
        status = await handle.status()
        if status in wanted or status.is_terminal:
            return
        await life.advance(life._until_next(await life.open_runs()))
    raise AssertionError(f"{handle.id} is {status}, and does not come to {wanted}")


async def the_run_of(life: Life, name: str) -> windlass.Handle[Any]:
    """The only run of a workflow that nobody outside has started."""
    runs = await life._opened.runs.list_runs(ListRuns(namespace="default"))
    (run,) = [run for run in runs.runs if run.name == name]
    return life.app.handle(run.id)


def has_told(life: Life, what: str) -> bool:
    """Has a client, in a life before this one, been about to do that?"""
    return any(line.event is Event.TOLD and line.what == what for line in read_journal(life.journal.path))

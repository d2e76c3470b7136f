"""Does a workflow survive the death of its worker, wherever it strikes? Every place is tried, one by one.

First undisturbed, which notes the places: before and after each write of the worker. Then for each of them:

    an empty database ─► the same story, the worker killed there ─► another one takes over
                      ─► same result, same steps, same number of runs?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windlass.client.handle import Handle
from windlass.errors import RunCancelled, RunFailed, WindlassError
from windlass.model.page import ListRuns
from windlass.model.step import StepStatus
from windlass.testing.mortal import CrashPoint, Fate

if TYPE_CHECKING:
    from windlass.testing.harness import Harness

Script = Callable[["Harness", Handle[Any]], Awaitable[object]]

MOST_RUNS = 1_000  # that are counted


class NotCrashSafe(AssertionError):
    """A crash made a difference. `point` is where the worker died, `difference` what came out otherwise."""

    def __init__(self, workflow: str, point: CrashPoint, difference: str) -> None:
        super().__init__(f"{workflow} does not survive a crash {point}: {difference}")
        self.workflow, self.point, self.difference = workflow, point, difference


@dataclass(frozen=True, kw_only=True)
class CrashReport:
    """What was tried. `points` are the places where the worker died, each in a run of its own.

    `repeated` says of every step whose body was entered again after a crash how often it was entered at most: these are
    the ones that need their idempotency key. `unreached` holds places that did not come up again, as may happen where
    branches finish in another order.
    """

    points: tuple[CrashPoint, ...]
    repeated: Mapping[str, int]
    unreached: tuple[CrashPoint, ...] = ()

    def __str__(self) -> str:
        bodies = ", ".join(f"{key} ({count} times)" for key, count in sorted(self.repeated.items()))
        return f"Survived {len(self.points)} crashes. Bodies that were entered again: {bodies or 'none'}."


@dataclass(frozen=True, kw_only=True)
class _Ending:
    """What a crash must not change."""

    outcome: str  # "returned", or what it failed with
    result: Any
    steps: Mapping[str, str]
    runs: Mapping[str, int]


async def crash_everywhere(
    make_harness: Callable[[Fate], Harness],
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    options: Mapping[str, Any],
    *,
    script: Script | None,
    check: Script | None,
) -> CrashReport:
    async def play(fate: Fate) -> tuple[_Ending, Mapping[str, int]]:
        async with make_harness(fate) as harness:
            handle = await harness.start(fn, *args, **options)
            if script is not None:
                await script(harness, handle)
            ending = await _end(harness, handle)
            if check is not None:
                await check(harness, handle)
            return ending, harness._cast.times_entered()

    calm = Fate()
    expected, times = await play(calm)
    points = tuple(calm.points)
    unreached: list[CrashPoint] = []
    repeated: Counter[str] = Counter()
    for point in points:
        fate = Fate(crash_at=point)
        try:
            found, entered = await play(fate)
        except WindlassError as error:
            raise NotCrashSafe(fn.__name__, point, f"{type(error).__name__}: {error}") from error
        except Exception as error:
            error.add_note(f"This was with a crash {point}.")
            raise
        difference = _difference(expected, found)
        if difference:
            raise NotCrashSafe(fn.__name__, point, difference)
        if not fate.has_crashed:
            unreached.append(point)
        repeated |= Counter({key: count for key, count in entered.items() if count > times.get(key, 0)})
    tried = tuple(point for point in points if point not in unreached)
    return CrashReport(points=tried, repeated=dict(repeated), unreached=tuple(unreached))


async def _end(harness: Harness, handle: Handle[Any]) -> _Ending:
    outcome, result = "returned", None
    try:
        result = await harness._finish(handle)
    except RunFailed as error:
        outcome = f"failed with {error.type}: {error.message}"
    except RunCancelled:
        outcome = "was cancelled"
    await harness.idle()  # children that nobody waits for
    steps = await harness.steps(handle)
    page = await harness.opened.runs.list_runs(ListRuns(namespace=harness.app._namespace, limit=MOST_RUNS))
    return _Ending(
        outcome=outcome,
        result=result,
        steps={step.key: step.status for step in steps if step.status is not StepStatus.RUNNING},
        runs=Counter(run.name for run in page.runs),
    )


def _difference(expected: _Ending, found: _Ending) -> str:
    """What came out otherwise, in one sentence; empty if nothing did."""
    if found.outcome != expected.outcome:
        return f"it {found.outcome}, and undisturbed it {expected.outcome}."
    if found.result != expected.result:
        return f"the result is {found.result!r}, and undisturbed it is {expected.result!r}."
    if found.steps != expected.steps:
        more = sorted(set(found.steps.items()) - set(expected.steps.items()))
        less = sorted(set(expected.steps.items()) - set(found.steps.items()))
        return f"its steps are others: {_listed(more)} instead of {_listed(less)}."
    if found.runs != expected.runs:
        return f"there are other runs: {dict(found.runs)}, and undisturbed {dict(expected.runs)}."
    return ""


def _listed(steps: list[tuple[str, str]]) -> str:
    return ", ".join(f"{key} {status}" for key, status in steps) or "none"

"""Makes up stories. What happens next is a matter of chance, and likelier if it can do something as things stand.

Every story has a mood of its own: some things happen often in it and some never, because what is rare everywhere is
never met three times in a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple, TypeVar

from tests.model import operations as do
from tests.model.operations import LANES, SLEEPS, STEPS, VISIBLE_FOR, Context
from windlass.model.time import HOUR, MINUTE, SECOND
from windlass.testing.faults import Moment

T = TypeVar("T")

SPANS = (0, SECOND, 2 * SECOND, VISIBLE_FOR, MINUTE)
JUMPS = (-SECOND, -MINUTE, -2 * HOUR, SECOND, VISIBLE_FOR, 2 * HOUR)
NEEDED = ("start", "claim", "advance")  # without these a story goes nowhere
MOODS = (0.0, 0.5, 1.0, 1.0, 3.0)


class Scene(NamedTuple):
    """How things stand, as far as chance cares."""

    open: int  # runs that are not over
    due: int
    held: int
    paused: int
    is_new: bool


class Author:
    def __init__(self, seed: str) -> None:
        self._chance = Random(seed)
        makers = [kind for kind, _, _ in self._kinds(Scene(0, 0, 0, 0, True))]
        self._mood = {kind: 1.0 if kind in NEEDED else self._one_of(MOODS) for kind in makers}

    def next(self, context: Context) -> Any:
        scene = _scene(context)
        kinds = self._kinds(scene)
        weights = [weight * self._mood[kind] for kind, weight, _ in kinds]
        (_, _, make), *_ = self._chance.choices(kinds, weights)
        return make(context)

    def _kinds(self, scene: Scene) -> list[tuple[str, float, Callable[[Context], Any]]]:
        """What may happen, how likely it is now, and who makes it up."""
        holder = 1.0 if scene.held else 0.1
        return [
            ("start", 8 if scene.open < 3 else 1, self._start),
            ("claim", 10 if scene.due else 1, self._claim),
            ("begin", 3 * holder, lambda _: do.Begin(**self._held(), key=self._one_of(STEPS))),
            ("complete", 4 * holder, self._complete),
            ("wake", 1 * holder, lambda _: do.Wake(**self._held(), key=self._one_of(SLEEPS))),
            ("wait", 4 * holder, self._wait),
            ("finish", 1.5 * holder, lambda _: do.Finish(**self._held(), is_failure=self._is(0.3))),
            ("hold", 1 * holder, lambda _: do.Hold(**self._held())),
            ("resume", 3 if scene.paused else 0.1, lambda _: do.Resume(run=self._one_of((0, 0, 1, -1)))),
            ("release", 2 * holder, lambda _: do.Release(**self._held(), delay_for=self._one_of(SPANS))),
            ("renew", 2 * holder, lambda _: do.Renew(**self._held(), visibility_for=self._one_of(SPANS))),
            ("repeat", 0 if scene.is_new else 3, lambda _: do.Repeat(back=self._one_of((0, 0, 1, 2, 3, 5, 8)))),
            ("register", 1, lambda _: do.Register(worker=self._worker())),
            ("beat", 1, lambda _: do.Beat(worker=self._worker())),
            ("leave", 1, lambda _: do.Leave(worker=self._worker())),
            ("probe", 3, self._probe),
            ("browse", 0.5, self._browse),
            ("advance", 2 if scene.due else 5, self._advance),
            ("jump", 1.5, lambda _: do.Jump(span=self._one_of(JUMPS))),
            ("crash", 2, self._crash),
        ]

    # How each is made up

    def _start(self, _: Context) -> do.Start:
        return do.Start(
            lane=self._chance.randrange(len(LANES)),
            key=self._one_of((None, None, "a", "b")),
            value=self._one_of((1, 1, 2)),
            priority=self._one_of((0, 0, -1, 1)),
            delay_for=self._one_of((None, None, None, SECOND, MINUTE)),
            at_in=self._one_of((None, None, None, None, -MINUTE, SECOND)),
        )

    def _claim(self, _: Context) -> do.ClaimDue:
        every = tuple(range(len(LANES)))
        some = tuple(sorted(self._chance.sample(every, self._chance.randint(1, len(every)))))
        return do.ClaimDue(
            worker=self._worker(), lanes=every if self._is(0.7) else some, limit=self._chance.randint(1, 3)
        )

    def _complete(self, _: Context) -> do.Complete:
        return do.Complete(
            **self._held(),
            key=self._one_of(STEPS),
            ran_for=self._one_of(SPANS),
            renew_for=self._one_of((None, None, *SPANS)),
        )

    def _wait(self, _: Context) -> do.Wait:
        failed = self._chance.sample(STEPS, self._one_of((0, 1, 1, 2)))
        sleeping = self._chance.sample(SLEEPS, self._one_of((0, 1, 1, 2)))
        return do.Wait(
            **self._held(),
            failed=tuple(failed),
            is_final=self._is(0.15),
            retry_after=self._one_of((None, None, None, 5 * SECOND)),
            sleeps=tuple((key, self._one_of(SPANS)) for key in sleeping),
            has_instants=self._is(0.3),
            dropped=self._one_of(((), (), (), ("nap",), ("pack", "rest"))),
            park=self._is(0.6),
            jitter=self._one_of((0.0, 0.5, 1.0)),
        )

    def _browse(self, _: Context) -> do.Browse:
        return do.Browse(
            status=self._one_of((None, None, "pending", "running", "completed")),
            name=self._one_of((None, "order")),
            queue=self._one_of((None, "default")),
            limit=self._chance.randint(1, 3),
        )

    def _advance(self, context: Context) -> do.Advance:
        """Often to the very moment when something becomes due, or to the last one before it."""
        now = context.model.now
        ahead = [run.available_at - now for run in context.model.runs.values() if run.available_at is not None]
        ends = sorted(span for span in ahead if span > 0)
        if ends and self._is(0.7):
            return do.Advance(span=self._one_of(ends[:2]) - self._one_of((0, 0, 0, 1)))
        return do.Advance(span=self._one_of(SPANS))

    def _probe(self, _: Context) -> do.Probe:
        lanes = self._one_of(((0,), (0, 1), (1, 2), (3,)))
        return do.Probe(worker=self._worker(), lanes=lanes, everyone=self._is(0.3))

    def _crash(self, context: Context) -> do.Crash:
        while True:
            during = self.next(context)
            if not isinstance(during, (do.Crash, do.Advance, do.Jump, do.Browse, do.Probe)):
                return do.Crash(moment=self._one_of(tuple(Moment)), during=during)

    def _held(self) -> dict[str, int]:
        return {
            "run": self._one_of((0, 0, 0, 1, 1, 2, -1, -2)),
            "behind": self._one_of((0, 0, 0, 0, 0, 0, 0, 1, -1)),
        }

    def _worker(self) -> int:
        return self._one_of((0, 0, 0, 1, 2))

    def _is(self, share: float) -> bool:
        return self._chance.random() < share

    def _one_of(self, values: Sequence[T]) -> T:
        return self._chance.choice(values)


def _scene(context: Context) -> Scene:
    model = context.model
    statuses = Counter(run.status for run in model.runs.values())
    return Scene(
        open=len(model.runs) - statuses["completed"] - statuses["failed"],
        due=sum(run.available_at is not None and run.available_at <= model.now for run in model.runs.values()),
        held=statuses["running"],
        paused=statuses["paused"],
        is_new=not context.asked,
    )

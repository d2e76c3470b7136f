"""Makes up stories. What happens next is a matter of chance, and likelier if it can do something as things stand.

Every story has a mood of its own: some things happen often in it and some never, because what is rare everywhere is
never met three times in a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple, TypeVar

from tests.lives.faults import Moment
from tests.model import operations as do
from tests.model.context import AWAITED, CHILDREN, EVENTS, LANES, NAMESPACE, SLEEPS, STEPS, VISIBLE_FOR, Context
from tests.model.state import TERMINAL
from windlass.model.time import HOUR, MINUTE, SECOND

T = TypeVar("T")

SPANS = (0, SECOND, 2 * SECOND, VISIBLE_FOR, MINUTE)
JUMPS = (-SECOND, -MINUTE, -2 * HOUR, SECOND, VISIBLE_FOR, 2 * HOUR)
NEEDED = ("start", "claim", "advance")  # without these a story goes nowhere
ANYWHERE = ("repeat", "jump", "crash")  # happen to everything alike
DEATHLESS = ("crash", "advance", "jump", "browse", "probe", "look")  # what nobody dies of
MOODS = (0.0, 0.5, 1.0, 1.0, 3.0)
# What a story is mostly about, if it is about anything: what takes several steps to come about is never met by chance.
SUBJECTS = (
    (),
    ("begin", "complete", "wake", "wait", "hold", "resume", "release", "renew", "probe"),
    ("register", "beat", "leave", "probe", "drain", "expire", "crash"),
    ("await", "send", "decide", "look", "complete"),
    ("await", "gather", "finish", "cancel"),
    ("await", "send", "pause", "resume", "hold", "gate"),
    ("complete", "await", "send", "decide", "finish", "cancel", "retry"),
    ("plan", "fire", "trigger", "finish", "cancel", "retry", "pause", "resume"),
    ("plan", "fire", "halt", "go_on", "drop", "finish"),
)


class Scene(NamedTuple):
    """How things stand, as far as chance cares."""

    open: int  # runs that are not over
    due: int
    held: int
    listening: int  # waits for events
    asking: int  # waits for approvals
    paused: int
    ended: int  # badly
    closed: int  # gates
    planned: int  # schedules
    slots: int  # of them are due
    is_new: bool


class Author:
    def __init__(self, seed: str, *, about: tuple[str, ...] | None = None) -> None:
        self._chance = Random(seed)
        makers = [kind for kind, _, _ in self._kinds(Scene(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, True))]
        about = self._one_of(SUBJECTS) if about is None else about
        self._mood = {kind: 1.0 if kind in NEEDED else self._one_of(MOODS) for kind in makers}
        if about:
            beside = {kind: 0.3 * mood for kind, mood in self._mood.items() if kind not in (*NEEDED, *ANYWHERE)}
            self._mood |= beside | {kind: 2.0 for kind in about}
        self._awaited = self._chance.sample(tuple(AWAITED), 4)  # what this story's code waits for

    def next(self, context: Context, *, without: tuple[str, ...] = ()) -> Any:
        kinds = [item for item in self._kinds(_scene(context)) if item[0] not in without]
        weights = [weight * self._mood[kind] for kind, weight, _ in kinds]
        (_, _, make), *_ = self._chance.choices(kinds, weights)
        return make(context)

    def _kinds(self, scene: Scene) -> list[tuple[str, float, Callable[[Context], Any]]]:
        """What may happen, how likely it is now, and who makes it up."""
        holder = 1.0 if scene.held else 0.05
        return [
            ("start", 8 if scene.open < 3 else 1, self._start),
            ("claim", 12 if scene.due else 0.5, self._claim),
            ("begin", 3 * holder, lambda _: do.Begin(**self._held(), key=self._one_of(STEPS))),
            ("complete", 4 * holder, self._complete),
            ("wake", 1 * holder, lambda _: do.Wake(**self._held(), key=self._one_of(SLEEPS))),
            ("wait", 4 * holder, self._wait),
            ("finish", 1.5 * holder, lambda _: do.Finish(**self._held(), is_failure=self._is(0.4))),
            ("hold", 1 * holder, lambda _: do.Hold(**self._held())),
            ("await", 5 * holder, self._await),
            ("gather", 2 * holder, self._gather),
            ("look", 0.5 * holder, lambda _: do.Look(**self._held())),
            ("send", 4 if scene.listening else 0.3, self._send),
            ("decide", 4 if scene.asking else 0.1, self._decide),
            ("pause", 0.5 if scene.open else 0.1, self._pause),
            ("resume", 3 if scene.paused else 0.1, lambda _: do.Resume(run=self._run(), by=self._person())),
            ("cancel", 0.3 if scene.open else 0.05, self._cancel),
            ("retry", 2 if scene.ended else 0.1, self._retry),
            ("gate", 2 if scene.closed else 0.3, self._gate),
            ("release", 2 * holder, lambda _: do.Release(**self._held(), delay_for=self._one_of(SPANS))),
            ("renew", 2 * holder, lambda _: do.Renew(**self._held(), visibility_for=self._one_of(SPANS))),
            ("repeat", 0 if scene.is_new else 3, lambda _: do.Repeat(back=self._one_of((0, 0, 1, 2, 3, 5, 8)))),
            ("register", 1, lambda _: do.Register(worker=self._worker(), is_return=self._is(0.5))),
            ("beat", 1, lambda _: do.Beat(worker=self._worker(), is_draining=self._is(0.1))),
            ("leave", 1, lambda _: do.Leave(worker=self._worker())),
            ("probe", 3, self._probe),
            ("browse", 0.5, self._browse),
            ("advance", 2 if scene.due else 5, self._advance),
            ("jump", 1.5, lambda _: do.Jump(span=self._one_of(JUMPS))),
            ("crash", 2, self._crash),
            ("plan", 0.4 if scene.planned else 1, self._plan),
            ("fire", 6 if scene.slots else 0.2, lambda _: do.Fire()),
            ("trigger", 1 if scene.planned else 0.1, lambda _: do.TriggerPlan(by=self._person())),
            ("halt", 0.5 if scene.planned else 0.1, self._halt),
            ("go_on", 1 if scene.planned else 0.1, self._go_on),
            ("drop", 0.2 if scene.planned else 0.05, lambda _: do.DropPlan(by=self._person())),
            ("drain", 0.5, lambda _: do.Drain(worker=self._worker(), by=self._person())),
            ("expire", 1, lambda _: do.Expire(silent_for=self._one_of(SPANS[1:]), batch=self._one_of((1, 2, 10)))),
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
            timeout_for=self._one_of((*[None] * 6, SECOND, VISIBLE_FOR, MINUTE)),
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
            dropped=self._dropped(*failed, *sleeping),
            park=self._is(0.6),
            jitter=self._one_of((0.0, 0.5, 1.0)),
        )

    def _await(self, _: Context) -> do.Wait:
        awaited = self._chance.sample(self._awaited, self._one_of((1, 1, 1, 2, 3)))
        sleeping = self._chance.sample(SLEEPS, self._one_of((0, 0, 0, 1)))
        return do.Wait(
            **self._held(),
            sleeps=tuple((key, self._one_of(SPANS)) for key in sleeping),
            awaits=tuple(awaited),
            dropped=self._dropped(*awaited, *sleeping),
            returns=self._is(0.1),
            only_notes=self._is(0.15),
            park=self._is(0.75),
        )

    def _gather(self, _: Context) -> do.Wait:
        """The children of a map."""
        children = self._chance.sample(CHILDREN, self._one_of((0, 1, 2, 2, 3)))
        return do.Wait(
            **self._held(),
            awaits=tuple(children),
            park=True,
            together=True,
        )

    def _dropped(self, *used: str) -> tuple[str, ...]:
        """Branches that are given up, and not in the moment in which they begin."""
        keys = self._chance.sample((*STEPS, *SLEEPS, *AWAITED), self._one_of((0, 0, 0, 0, 1, 2)))
        return tuple(key for key in keys if key not in used)

    def _send(self, _: Context) -> do.Send:
        return do.Send(
            run=self._run(),
            event=self._one_of(EVENTS),
            id=self._one_of((None, None, None, "a", "b", "ok")),
            value=self._one_of((1, 1, 1, 2)),
        )

    def _decide(self, _: Context) -> do.DecideOn:
        return do.DecideOn(
            run=self._run(),
            is_approved=self._is(0.7),
            by=self._person(),
            note=self._one_of((None, "fine")),
            step=self._one_of((None, None, None, None, 0, 1, -1)),
        )

    def _pause(self, _: Context) -> do.Pause:
        return do.Pause(run=self._run(), by=self._person(), note=self._one_of((None, "wait")))

    def _cancel(self, _: Context) -> do.Cancel:
        return do.Cancel(run=self._run(), by=self._person(), note=self._one_of((None, "no")))

    def _retry(self, _: Context) -> do.Retry:
        return do.Retry(run=self._run(), from_step=self._one_of((None, None, None, 0, 1, 2, -1)), by=self._person())

    def _gate(self, context: Context) -> do.TurnGate:
        closed = [gate for gate in context.model.gates.values() if gate.is_paused]
        if closed and self._is(0.7):
            gate = self._one_of(closed)
            return do.TurnGate(kind=str(gate.kind), name=gate.name, is_paused=False, by=self._person())
        kind, name = self._one_of(
            (("namespace", NAMESPACE), ("queue", "default"), ("queue", "mail"), ("workflow", "order"))
        )
        return do.TurnGate(
            kind=kind, name=name, is_paused=self._is(0.8), by=self._person(), note=self._one_of((None, "stop"))
        )

    def _plan(self, _: Context) -> do.Plan:
        return do.Plan(
            lane=self._chance.randrange(len(LANES)),
            every=self._one_of((5 * SECOND, MINUTE, MINUTE)),
            catch_up=self._one_of(("none", "latest", "all")),
            max_catch_up=self._one_of((1, 2, 4)),
            overlap=self._one_of(("allow", "skip", "queue", "queue")),
            timeout_for=self._one_of((None, None, VISIBLE_FOR, MINUTE)),
            value=self._one_of((1, 1, 2)),
            may_replace=self._is(0.8),
        )

    def _halt(self, _: Context) -> do.HaltPlan:
        return do.HaltPlan(by=self._person(), note=self._one_of((None, "not now")))

    def _go_on(self, _: Context) -> do.ResumePlan:
        return do.ResumePlan(backfill=self._is(0.5), by=self._person())

    def _browse(self, _: Context) -> do.Browse:
        return do.Browse(
            status=self._one_of((None, None, "pending", "running", "completed")),
            name=self._one_of((None, "order")),
            queue=self._one_of((None, "default")),
            parent=self._one_of((None, None, 0)),
            within=self._one_of((None, None, 0, SECOND)),
            limit=self._chance.randint(1, 3),
        )

    def _advance(self, context: Context) -> do.Advance:
        """Often to the very moment when something becomes due, or to the last one before it."""
        now = context.model.now
        ahead = [run.available_at - now for run in context.model.runs.values() if run.available_at is not None]
        ahead += [plan.available_at - now for plan in context.model.schedules.values() if plan.available_at is not None]
        ends = sorted(span for span in ahead if span > 0)
        if ends and self._is(0.7):
            return do.Advance(span=self._one_of(ends[:2]) - self._one_of((0, 0, 0, 1)))
        return do.Advance(span=self._one_of(SPANS))

    def _probe(self, _: Context) -> do.Probe:
        lanes = self._one_of(((0,), (0, 1), (1, 2), (3,)))
        return do.Probe(worker=self._worker(), lanes=lanes, everyone=self._is(0.3))

    def _crash(self, context: Context) -> do.Crash:
        during = self.next(context, without=DEATHLESS)
        return do.Crash(moment=self._one_of(tuple(Moment)), during=during)

    def _held(self) -> dict[str, Any]:
        return {
            "run": self._run(),
            "behind": self._one_of((0, 0, 0, 0, 0, 0, 0, 1, -1)),
        }

    def _run(self) -> int:
        return self._one_of((0, 0, 0, 1, 1, 2, -1, -2))

    def _person(self) -> str | None:
        return self._one_of((None, "eva", "tom"))

    def _worker(self) -> int:
        return self._one_of((0, 0, 0, 1, 2))

    def _is(self, share: float) -> bool:
        return self._chance.random() < share

    def _one_of(self, values: Sequence[T]) -> T:
        return self._chance.choice(values)


def _scene(context: Context) -> Scene:
    model = context.model
    statuses = Counter(run.status for run in model.runs.values())
    open_waits = Counter(str(step.kind) for step in model.steps.values() if step.status == "waiting")
    return Scene(
        open=sum(run.status not in TERMINAL for run in model.runs.values()),
        due=sum(run.available_at is not None and run.available_at <= model.now for run in model.runs.values()),
        held=statuses["running"],
        listening=open_waits["event"],
        asking=open_waits["approval"],
        paused=statuses["paused"],
        ended=statuses["failed"] + statuses["cancelled"],
        closed=sum(gate.is_paused for gate in model.gates.values()),
        planned=len(model.schedules),
        slots=sum(
            plan.available_at is not None and plan.available_at <= model.now for plan in model.schedules.values()
        ),
        is_new=not context.asked,
    )

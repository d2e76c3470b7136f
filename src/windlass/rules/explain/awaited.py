"""What a run waits for, thing by thing: events, approvals, children, and the times that are set beside them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from windlass.model.duration import moment
from windlass.model.explanation import Situation
from windlass.model.run import RunId
from windlass.model.step import Step, StepKind
from windlass.model.time import Instant
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.words import Advice, until

ORDER = (StepKind.EVENT, StepKind.APPROVAL, StepKind.CHILD, StepKind.SLEEP, StepKind.STEP)


class Awaited(Struct, frozen=True, kw_only=True):
    """One thing a run waits for: all children of one map are one thing, and so are all waits for one event."""

    kind: StepKind
    code: Situation
    name: str  # of an event, the title of an approval, the name of children or of a step
    what: str  # in a sentence: "event 'replied' until 12:00:00 UTC"
    brief: str  # in a cell of a table
    steps: tuple[Step, ...]
    advice: tuple[Advice, ...] = ()

    @property
    def since(self) -> Instant | None:
        return min((step.started_at for step in self.steps if step.started_at is not None), default=None)

    @property
    def until(self) -> Instant | None:
        return min((step.due_at for step in self.steps if step.due_at is not None), default=None)


def awaited(facts: Facts) -> list[Awaited]:
    """Everything at which the code stands. What somebody has to do comes first."""
    groups: dict[tuple[StepKind, str], list[Step]] = {}
    for step in facts.waits:
        if step.kind.is_wait or _wakes(facts, step):
            groups.setdefault((step.kind, _group(step)), []).append(step)
    found: list[Awaited] = []
    for kind in ORDER:
        of_kind = [steps for (other, _), steps in groups.items() if other is kind]
        found.extend(_described(facts, kind, of_kind))
    return found


def _wakes(facts: Facts, step: Step) -> bool:
    """An attempt whose branch was given up keeps its due time, but the run was not parked for it."""
    available_at = facts.run.available_at
    return available_at is not None and step.due_at is not None and step.due_at >= available_at


def _group(step: Step) -> str:
    if step.kind is StepKind.EVENT:
        return step.awaits or ""
    return stem(step.key) if step.kind is StepKind.CHILD else step.key


def stem(key: str) -> str:
    """The name in a key: "resize" in "resize:eu", in "resize#2" and in "resize/result"."""
    return key.partition("#")[0].partition(":")[0].partition("/")[0]


def _described(facts: Facts, kind: StepKind, groups: Sequence[Sequence[Step]]) -> Iterator[Awaited]:
    for steps in groups:
        if kind is StepKind.EVENT:
            yield _event(facts, steps)
        elif kind is StepKind.APPROVAL:
            # Of several it must be named, also if the others are decided: a second click is not meant for the next.
            asked = {step.key for step in facts.steps if step.kind is StepKind.APPROVAL}
            yield _approval(facts, steps[0], is_only=len(asked) == 1)
        elif kind is StepKind.CHILD:
            yield _children(facts, steps)
        else:
            yield _timed(facts, steps[0])


def _event(facts: Facts, steps: Sequence[Step]) -> Awaited:
    name = steps[0].awaits or ""
    due_at = min((step.due_at for step in steps if step.due_at is not None), default=None)
    what = f"event {name!r}{until(due_at, now=facts.now)}"
    command = f"windlass send {facts.run.id} {shlex.quote(name)} PAYLOAD"
    return Awaited(
        kind=StepKind.EVENT,
        code=Situation.WAITING_FOR_EVENT,
        name=name,
        what=what,
        brief=what,
        steps=tuple(steps),
        advice=((f"send {name!r}, with its payload or null", command),),
    )


def _approval(facts: Facts, step: Step, *, is_only: bool) -> Awaited:
    title, run_id = step.awaits or step.key, facts.run.id
    deadline = until(step.due_at, now=facts.now)
    if is_only:
        advice = ("decide", f"windlass approve {run_id}, or windlass reject {run_id}")
    else:
        advice = (f"decide on {title!r}", f"windlass approve {run_id} --step {shlex.quote(step.key)}")
    return Awaited(
        kind=StepKind.APPROVAL,
        code=Situation.WAITING_FOR_APPROVAL,
        name=title,
        what=f"the approval {title!r}{deadline}",
        brief=f"approval {title!r}{deadline}",
        steps=(step,),
        advice=(advice,),
    )


def _children(facts: Facts, steps: Sequence[Step]) -> Awaited:
    """Those that have ended since it was parked are not counted: it is woken by the last of a map."""
    left = [step for step in steps if not _has_ended(facts, step)] or list(steps)
    first = min(left, key=lambda step: step.awaits or "")
    name, id = _name_of_child(facts, first), first.awaits or ""
    siblings = [
        step
        for step in facts.steps
        if step.kind is StepKind.CHILD and not step.is_dropped and stem(step.key) == stem(first.key)
    ]
    if len(siblings) == 1:
        what = f"its child {id} ({name!r})"
        brief = f"child {name!r}"
    else:
        of_all = f"{len(left):,} of {len(siblings):,}" if len(left) < len(siblings) else f"{len(left):,}"
        what = f"{of_all} children of {name!r}"
        brief = f"{len(left):,} children" if len(left) > 1 else "1 child"
    return Awaited(
        kind=StepKind.CHILD,
        code=Situation.WAITING_FOR_CHILD,
        name=name,
        what=what,
        brief=brief,
        steps=(first, *(step for step in left if step is not first)),
        advice=((f"more about {name!r}", f"windlass explain {id}"),),
    )


def _has_ended(facts: Facts, step: Step) -> bool:
    status = facts.children.get(RunId(step.awaits or ""))
    return status is not None and status.is_terminal


def _name_of_child(facts: Facts, step: Step) -> str:
    child = facts.child
    return child.run.name if child is not None and child.run.id == step.awaits else stem(step.key)


def _timed(facts: Facts, step: Step) -> Awaited:
    is_sleep = step.kind is StepKind.SLEEP
    due_at = step.due_at or facts.now
    when = moment(due_at, now=facts.now)
    what = f"a sleep until {when}" if is_sleep else f"another attempt of step {step.key!r} at {when}"
    return Awaited(
        kind=step.kind,
        code=Situation.SLEEPING if is_sleep else Situation.BACKING_OFF,
        name=step.key,
        what=what,
        brief=what.removeprefix("a "),
        steps=(step,),
    )

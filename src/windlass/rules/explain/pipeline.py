"""Why a pipeline does nothing, or who executes it: what it waits for, since when, and what it would take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from windlass.model.duration import between, moment
from windlass.model.explanation import Explanation, Situation
from windlass.model.failure import in_one_line
from windlass.model.gate import Gate, GateKind
from windlass.model.pipeline import Handler, HandlerKind, Issue, Pipeline, PipelineStatus
from windlass.model.pipeline_commands import HandlerView, PipelineView
from windlass.model.run import RunId, RunStatus
from windlass.model.time import Instant
from windlass.rules import phases
from windlass.rules import pipeline_words as words
from windlass.rules.explain.gates import opened_by, told_closed
from windlass.rules.explain.words import Advice, advised, ago, at, by, capital, count, quoted, sentence, since
from windlass.rules.pipelines import CLAMPED

MOST_TOLD = 3  # handlers of each kind
SITUATIONS = {
    Issue.APPROVAL: Situation.WAITING_FOR_APPROVAL,
    Issue.INDETERMINATE: Situation.INDETERMINATE,
    Issue.CRASH_LOOP: Situation.CRASH_LOOP,
}


def explain(view: PipelineView, *, gates: Sequence[Gate]) -> Explanation:
    """Say where a pipeline stands, in sentences that a person can act on. `gates`: those that are closed."""
    pipeline = view.pipeline
    closed = [gate for gate in gates if gate.is_paused and _is_before(gate, pipeline)]
    if pipeline.status is PipelineStatus.RUNNING:
        return _held(view, closed)
    if not pipeline.is_declared:
        return _undeclared(view, closed)
    return _paused(view, closed) if pipeline.is_paused else EXPLAINED[pipeline.status](view, closed)


def _is_before(gate: Gate, pipeline: Pipeline) -> bool:
    """Whether nothing of the pipeline is taken while this is closed."""
    if gate.namespace != pipeline.namespace:
        return False
    return gate.kind is GateKind.NAMESPACE or (gate.kind is GateKind.QUEUE and gate.name == pipeline.queue)


# -- it is at work ---------------------------------------------------------------------------


def _held(view: PipelineView, closed: Sequence[Gate]) -> Explanation:
    pipeline, now, ends_at = view.pipeline, view.now, view.pipeline.available_at
    who, at_work = f"worker {pipeline.worker}", _at_work(view)
    if ends_at is None or ends_at <= now:
        ended = ago(now if ends_at is None else ends_at, now=now)
        told = f"{capital(who)} held it; its claim ended {ended}, and it has not given it back. {at_work}"
        code, then, until = Situation.CLAIM_ENDED, _then(view, closed), None
    else:
        claim = f"its claim lasts until {moment(ends_at, now=now)} ({between(now, ends_at)} left)"
        told = f"It is at work: {who} has held it {since(pipeline.changed_at, now=now)}; {claim}. {at_work}"
        code, then, until = Situation.HELD, "", ends_at
    advice: list[Advice] = []
    if stop := words.stopped(view):
        told = f"{told} It stops when this is done: {stop}."
        code = Situation.PAUSING if code is Situation.HELD else code
        advice = [("take that back", words.commanded("resume", pipeline.name))] if pipeline.is_declared else []
    return _answer(view, code, told, then, advice=advice, until=until, worker=pipeline.worker)


def _at_work(view: PipelineView) -> str:
    run = view.run
    if run is None:
        return "It has not begun anything yet."
    title = f" ({run.title!r})" if run.title else ""
    effect = "" if view.effect is None else f", at effect {view.effect.name!r} ({view.effect.status.value})"
    again = "" if run.attempt == 1 else f", attempt {run.attempt}"
    return (
        f"It executes {run.handler!r}{title}{again}, {run.phase.value}{effect}, {since(run.created_at, now=view.now)}."
    )


# -- it is stopped by a person, or its code is gone ------------------------------------------


def _undeclared(view: PipelineView, closed: Sequence[Gate]) -> Explanation:
    pipeline = view.pipeline
    told = (
        f"Program {pipeline.declared_in!r} has started without declaring it, so nothing of it is begun "
        f"{since(pipeline.paused_at or pipeline.changed_at, now=view.now)}. Its events and states are kept. "
        "Declare it there again, and it goes on."
    )
    return _answer(view, Situation.UNDECLARED, told, _left(view), told_closed(closed, now=view.now))


def _paused(view: PipelineView, closed: Sequence[Gate]) -> Explanation:
    pipeline = view.pipeline
    when = since(pipeline.paused_at or pipeline.changed_at, now=view.now)
    told = f"It has been paused{by(pipeline.paused_by)} {when}{quoted(pipeline.note)}, and begins nothing."
    besides, advice = "", [("let it go on", words.commanded("resume", pipeline.name))]
    if pipeline.status is PipelineStatus.ATTENTION:
        needed, more = words.needed_from_person(view)
        besides, advice = f"Besides: {needed}", [*advice, *(item for item in more if item[1] != advice[0][1])]
    elif view.run is not None:
        besides = f"{view.run.handler!r} has stopped, and is first when it goes on."
    advice += opened_by(closed)
    closings = told_closed(closed, now=view.now)
    return _answer(view, Situation.PAUSED, told, besides, _left(view), closings, advice=advice)


def _left(view: PipelineView) -> str:
    left = words.pending(view)
    return f"Meanwhile: {left}." if left else ""


# -- something has stopped -------------------------------------------------------------------


def _needs_person(view: PipelineView, closed: Sequence[Gate]) -> Explanation:
    told, advice = words.needed_from_person(view)
    when = f"So it has been {since(view.pipeline.changed_at, now=view.now)}, and nothing else of it begins meanwhile"
    code = SITUATIONS.get(view.pipeline.issue or Issue.INTERNAL, Situation.NEEDS_PERSON)
    closings = told_closed(closed, now=view.now)
    sentences = (told, f"{when}{_stopped_at(view)}.", _left(view), closings)
    return _answer(view, code, *sentences, advice=[*advice, *opened_by(closed)])


def _stopped_at(view: PipelineView) -> str:
    """Where, for whoever wrote it: the attempt, how far it came, and what it holds."""
    run = view.run
    if run is None:
        return ""
    is_held = phases.holds_events(run, view.effect)
    holds = f" and holds {count(len(run.reserved), 'event', 'events')}" if is_held else ""
    return f": {run.id} ({run.handler!r}, attempt {run.attempt}) stopped at {run.phase.value!r}{holds}"


def _backs_off(view: PipelineView, closed: Sequence[Gate]) -> Explanation:
    pipeline = view.pipeline
    failures = f"{pipeline.failures} of at most {pipeline.retry.max_attempts} in a row"
    told = (
        f"{words.where(view)!r} failed {ago(pipeline.changed_at, now=view.now)}, with {words.failed_with(view)} "
        f"It is tried again {_when(view)}; that was failure {failures}. Nothing else of it begins before."
    )
    again = ("sooner", words.commanded("retry", pipeline.name))
    return _resting(view, closed, Situation.BACKING_OFF, told, advice=[again])


def _reconciles(view: PipelineView, closed: Sequence[Gate]) -> Explanation:
    effect = view.effect
    called = "" if effect is None else f" It was called {ago(effect.created_at, now=view.now)}."
    asked = (
        "" if effect is None or not effect.asked else f" It was asked {count(effect.asked, 'time', 'times')} before."
    )
    if asked and effect is not None and effect.failure is not None:
        asked += f" Known so far: {sentence(in_one_line(effect.failure))}"
    can_ask = effect is None or effect.has_reconcile
    who = "Its `reconcile` is asked" if can_ask else "It has no `reconcile`: a person is asked for"
    told = (
        f"Nobody knows yet whether effect {words.what(view)!r} happened: whoever called it was not told.{called} "
        f"{who} {_when(view)}.{asked} Nothing else of it begins before that is known."
    )
    return _resting(view, closed, Situation.RECONCILING, told)


def _repairs(view: PipelineView, closed: Sequence[Gate]) -> Explanation:
    told = (
        f"{words.where(view)!r} failed {ago(view.pipeline.changed_at, now=view.now)}, with {words.failed_with(view)} "
        f"Its `on_logic_error` is asked {_when(view)}. Nothing else of it begins before."
    )
    return _resting(view, closed, Situation.REPAIRING, told)


def _when(view: PipelineView) -> str:
    due_at = view.pipeline.available_at
    return "by the next worker" if due_at is None or due_at <= view.now else at(due_at, now=view.now)


def _resting(
    view: PipelineView, closed: Sequence[Gate], code: Situation, *told: str, advice: Sequence[Advice] = ()
) -> Explanation:
    """It goes on by itself at a time, if somebody is there to take it then."""
    then = _then(view, closed)
    return _answer(view, code, *told, then, advice=[*advice, *opened_by(closed)], until=view.pipeline.available_at)


def _then(view: PipelineView, closed: Sequence[Gate]) -> str:
    """What would keep it from being taken then."""
    served = "" if view.workers else _unserved(view)
    return " ".join(part for part in (told_closed(closed, now=view.now), served) if part)


def _unserved(view: PipelineView) -> str:
    """Somebody who sees a live worker of it needs to know why that one leaves it alone."""
    if not view.outdated:
        return f"No live worker serves this revision of it: {words.WORKER_COMMAND}."
    others = count(view.outdated, "live worker leaves", "live workers leave")
    return (
        f"{others} it alone, because other code of it was declared since. Start the one whose code is meant once more: "
        f"{words.WORKER_COMMAND}."
    )


# -- it is idle ------------------------------------------------------------------------------


def _idle(view: PipelineView, closed: Sequence[Gate]) -> Explanation:
    due_at = view.pipeline.available_at
    if due_at is None or due_at > view.now:
        told = f"Nothing has been due {since(view.pipeline.changed_at, now=view.now)}."
        code = Situation.IDLE
        return _resting(view, closed, code, told, *_producers(view), *_consumers(view))
    due = [item.handler.name for item in view.handlers if _is_due(item.handler, now=view.now)][:MOST_TOLD]
    names = f" for {', '.join(map(repr, due))}" if due else ""
    if view.run is not None:  # a person has let it go on
        names = f" for {view.run.handler!r}, which stopped and is tried again"
    told = f"It has been due since {moment(due_at, now=view.now)} ({between(due_at, view.now)}){names}."
    code = Situation.GATE_CLOSED if closed else Situation.DUE if view.workers else Situation.NO_WORKER
    served = f"{count(view.workers, 'worker', 'workers')} could take it." if view.workers and not closed else ""
    return _resting(view, closed, code, told, served)


def _is_due(handler: Handler, *, now: Instant) -> bool:
    if not handler.is_declared:
        return False
    times = (handler.next_at, handler.wake_at)
    return handler.is_queued or handler.is_dirty or any(time is not None and time <= now for time in times)


def _producers(view: PipelineView) -> list[str]:
    found = [item.handler for item in words.declared(view, HandlerKind.PRODUCER) if item.handler.next_at is not None]
    found.sort(key=lambda handler: handler.next_at or 0)
    return [f"{item.name!r} begins {at(item.next_at, now=view.now)}." for item in found[:MOST_TOLD] if item.next_at]


def _consumers(view: PipelineView) -> list[str]:
    """Those first that have events before them and do not begin: that is what people ask about."""
    found = sorted(words.declared(view, HandlerKind.CONSUMER), key=lambda item: -item.pending)
    return [_consumer(item, now=view.now) for item in found[:MOST_TOLD]]


def _consumer(item: HandlerView, *, now: Instant) -> str:
    handler = item.handler
    wake = "" if handler.wake_at is None else f", or {at(handler.wake_at, now=now)}"
    topics = ", ".join(map(repr, handler.spec.topics))
    if not item.pending:
        return f"{handler.name!r} begins at the next event in {topics}{wake}."
    waiting = count(item.pending, "event that waits", "events that wait")
    oldest = "" if item.oldest_at is None else f" (the oldest for {between(item.oldest_at, now)})"
    return (
        f"{handler.name!r} looked at the {waiting} in {topics}{oldest} and took none; it begins at a newer event{wake}."
        f"{_warning(item)}"
    )


def _warning(item: HandlerView) -> str:
    """What its code may have meant otherwise. That a wake was moved into its bounds is as it should be."""
    warning = None if item.last_run is None else item.last_run.warning
    return "" if warning in (None, CLAMPED) else f" It was warned: {warning}"


EXPLAINED: dict[PipelineStatus, Callable[[PipelineView, Sequence[Gate]], Explanation]] = {
    PipelineStatus.IDLE: _idle,
    PipelineStatus.BACKOFF: _backs_off,
    PipelineStatus.RECONCILING: _reconciles,
    PipelineStatus.FIXING: _repairs,
    PipelineStatus.ATTENTION: _needs_person,
}
STATUSES = {
    PipelineStatus.IDLE: RunStatus.WAITING,
    PipelineStatus.RUNNING: RunStatus.RUNNING,
    PipelineStatus.BACKOFF: RunStatus.SLEEPING,
    PipelineStatus.RECONCILING: RunStatus.SLEEPING,
    PipelineStatus.FIXING: RunStatus.PENDING,
    PipelineStatus.ATTENTION: RunStatus.PAUSED,
}


def _answer(
    view: PipelineView, code: Situation, *sentences: str, advice: Sequence[Advice] = (), **more: Any
) -> Explanation:
    """Put sentences, and then what may be typed, into one paragraph."""
    is_stopped = words.status_word(view.pipeline) is words.Word.STOPPED
    return Explanation(
        run_id=RunId(""),
        name=view.pipeline.name,
        status=RunStatus.PAUSED if is_stopped else STATUSES[view.pipeline.status],
        code=code,
        text=" ".join(part for part in (*sentences, advised(advice)) if part),
        at=view.now,
        since=view.pipeline.changed_at,
        step=None if view.run is None else view.run.handler,
        **more,
    )

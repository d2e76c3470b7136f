"""How does a pipeline stand, in the words of a person who has not written it?

Four words say it: Running, Idle, Needs attention, Stopped. Whatever passes by itself is Idle, with what is going on
beside it; "Needs attention" is kept for what nobody but a person can end. Messages and titles come from users and go
into the text as they are; whoever shows it escapes it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from enum import StrEnum

from windlass.model.duration import between, describe
from windlass.model.effect import Effect
from windlass.model.failure import Failure, in_one_line
from windlass.model.pipeline import (
    EffectOutcome,
    HandlerKind,
    HandlerRun,
    Issue,
    Pipeline,
    PipelineStatus,
)
from windlass.model.pipeline_commands import HandlerView, PipelineSummary, PipelineView
from windlass.model.time import Instant
from windlass.rules.explain.words import Advice, advised, by, capital, count, joined, quoted, sentence
from windlass.rules.inputs import STALE_AFTER
from windlass.rules.schedule_words import times

LONGEST_MESSAGE = 200  # characters; `show` has all of it
STALE = describe(STALE_AFTER)
WORKER_COMMAND = "windlass worker MODULE:APP"
RIGHT = "once that is put right"
# What passes by itself, and lets nothing else begin before.
WAITING = (PipelineStatus.BACKOFF, PipelineStatus.RECONCILING, PipelineStatus.FIXING)

Needed = tuple[str, list[Advice]]  # a sentence, and what may be typed


class Word(StrEnum):
    """The status of a pipeline, as people see it."""

    RUNNING = "Running"
    IDLE = "Idle"
    ATTENTION = "Needs attention"
    STOPPED = "Stopped"


def summary(view: PipelineView) -> PipelineSummary:
    """A pipeline in the words of a person: nothing of how it is made inside."""
    return PipelineSummary(
        name=view.pipeline.name,
        status=status_word(view.pipeline).value,
        issue=issue(view),
        schedule=schedule(view),
        next_check=next_check(view),
        activity=tuple(activity(run, now=view.now) for run in view.activity),
        pending=pending(view),
    )


def status_word(pipeline: Pipeline) -> Word:
    if pipeline.status is PipelineStatus.RUNNING:
        return Word.RUNNING
    if pipeline.is_paused or not pipeline.is_declared:
        return Word.STOPPED
    return Word.ATTENTION if pipeline.status is PipelineStatus.ATTENTION else Word.IDLE


def issue(view: PipelineView) -> str:
    """What keeps it from going on, or what somebody should know; "" if there is nothing."""
    word, needed = status_word(view.pipeline), _needed(view)
    stop = stopped(view)
    if word is Word.RUNNING:
        return f"stops when this is done: {stop}" if stop else ""
    if word is Word.STOPPED:
        return f"{stop}. {capital(needed)}" if needed else stop
    if word is Word.ATTENTION:
        return needed
    notes = [needed] if needed else [_stale(view)] if _stale(view) else []
    if view.workers == 0:
        notes.append(f"no worker is there for it: {WORKER_COMMAND}")
    return "; ".join(notes)


def stopped(view: PipelineView) -> str:
    """Who stopped it, or that its code is gone; "" if neither."""
    pipeline = view.pipeline
    if not pipeline.is_declared:
        return f"No longer declared in {pipeline.declared_in}: declare it there again"
    if not pipeline.is_paused:
        return ""
    ago = "" if pipeline.paused_at is None else f", {between(pipeline.paused_at, view.now)} ago"
    return f"Paused{by(pipeline.paused_by)}{ago}{quoted(pipeline.note)}"


def schedule(view: PipelineView) -> str:
    """When it looks for something to do."""
    producers = declared(view, HandlerKind.PRODUCER)
    timings = [item.handler.spec.timing for item in producers]
    told = list(dict.fromkeys(times(timing) for timing in timings if timing is not None))
    if told:
        return f"Checks {joined(told)}"
    return "When events arrive" if declared(view, HandlerKind.CONSUMER) else "Not scheduled"


def next_check(view: PipelineView) -> Instant | None:
    """None while it does not look by itself: a time that will not be kept is none."""
    if status_word(view.pipeline) in (Word.ATTENTION, Word.STOPPED):
        return None
    producers = [item.handler for item in declared(view, HandlerKind.PRODUCER)]
    found = [view.now if handler.is_queued else handler.next_at for handler in producers]
    due_at = min((at for at in found if at is not None), default=None)
    if due_at is None or view.pipeline.status not in WAITING:
        return due_at
    # What stopped comes first, whatever is due meanwhile.
    free_at = view.pipeline.available_at
    return None if free_at is None else max(due_at, free_at)


def activity(run: HandlerRun, *, now: Instant) -> str:
    """What was done, as its code has called it, and when."""
    skipped = "Skipped: " if run.outcome is EffectOutcome.SKIPPED else ""
    return f"{skipped}{' '.join(run.title.split()) or run.handler} · {between(run.ended_at or run.updated_at, now)} ago"


def pending(view: PipelineView) -> str:
    """What there is left to do; "" if there is nothing."""
    stale = f" ({view.inputs_stale:,} for more than {STALE})" if view.inputs_stale else ""
    inputs = f"{count(view.inputs_pending, 'input', 'inputs')} pending{stale}" if view.inputs_pending else ""
    waiting = events_waiting(view)
    events = f"{count(waiting, 'event', 'events')} waiting" if waiting else ""
    return ", ".join(part for part in (inputs, events) if part)


def events_waiting(view: PipelineView) -> int:
    """Those who share their topics have the same events before them, which count once."""
    counts = {frozenset(item.handler.spec.topics): item.pending for item in declared(view, HandlerKind.CONSUMER)}
    return sum(counts.values())


def declared(view: PipelineView, kind: HandlerKind) -> list[HandlerView]:
    return [item for item in view.handlers if item.handler.is_declared and item.handler.spec.kind is kind]


def commanded(verb: str, pipeline: str, *options: str) -> str:
    """A command about a pipeline, as it is typed."""
    return " ".join(["windlass", verb, shlex.quote(pipeline), *options])


# -- what somebody waits for -----------------------------------------------------------------


def _needed(view: PipelineView) -> str:
    """What it waits for, if that is more than news or a time."""
    status = view.pipeline.status
    if status is PipelineStatus.ATTENTION:
        told, advice = needed_from_person(view)
        return f"{told} {advised(advice)}"
    if status is PipelineStatus.BACKOFF:
        return f"retrying {_in(view)}: {kind_of(view)} in {where(view)!r}"
    if status is PipelineStatus.RECONCILING:
        return f"finding out whether {what(view)!r} happened; next look {_in(view)}"
    return "repair in progress" if status is PipelineStatus.FIXING else ""


def _in(view: PipelineView) -> str:
    at = view.pipeline.available_at
    return "now" if at is None or at <= view.now else f"in {between(view.now, at)}"


def _stale(view: PipelineView) -> str:
    if not view.inputs_stale:
        return ""
    said = count(view.inputs_stale, "input has", "inputs have")
    command = commanded("inputs", view.pipeline.name)
    return f"{said} been pending for more than {STALE}: {command}"


def needed_from_person(view: PipelineView) -> Needed:
    """What a person is needed for, as a sentence, and what they may type."""
    return ISSUES[view.pipeline.issue or Issue.INTERNAL](view)


def _approval(view: PipelineView) -> Needed:
    name = view.pipeline.name
    decide = ("decide", f"{commanded('approve', name)}, or {commanded('reject', name)}")
    return f"Waiting for you to approve: {sentence(title_of(view))}", [decide]


def _auth(view: PipelineView) -> Needed:
    return f"Waiting for you to sign in again: {_said(view)}", [("then", commanded("resume", view.pipeline.name))]


def _permission(view: PipelineView) -> Needed:
    return f"Waiting for you to grant a permission: {_said(view)}", [("then", commanded("resume", view.pipeline.name))]


def _logic(view: PipelineView) -> Needed:
    again = ("deploy a fix, or try it again", commanded("retry", view.pipeline.name))
    return f"{where(view)!r} failed: {failed_with(view)}", [again]


def _exhausted(view: PipelineView) -> Needed:
    many = count(max(view.pipeline.failures, 1), "time", "times in a row")
    again = (RIGHT, commanded("retry", view.pipeline.name))
    return f"{where(view)!r} failed {many}, at last with {failed_with(view)}", [again]


def _indeterminate(view: PipelineView) -> Needed:
    choices = "(--happened | --did-not-happen | --skip)"
    command = commanded("resolve", view.pipeline.name, choices)
    ends_at = view.now if view.effect is None else view.effect.reconcile_after
    if ends_at > view.now:  # what is said before is refused: it could be true now, and wrong a moment later
        left = between(view.now, ends_at)
        told = f"Nobody knows whether {what(view)!r} happened, and whoever called it may be at it for {left} more."
        return told, [("after that find out, and say so", command)]
    return f"Nobody knows whether {what(view)!r} happened.", [("find out, and say so", command)]


def _internal(view: PipelineView) -> Needed:
    again = (RIGHT, commanded("retry", view.pipeline.name))
    return f"A fault outside of its code stopped {where(view)!r}: {failed_with(view)}", [again]


def _crash_loop(view: PipelineView) -> Needed:
    many = count(max(view.pipeline.recoveries, 1), "worker", "workers in a row")
    again = ("look at their memory and their logs, then", commanded("retry", view.pipeline.name))
    return f"{many} disappeared while at {where(view)!r}.", [again]


ISSUES: dict[Issue, Callable[[PipelineView], Needed]] = {
    Issue.APPROVAL: _approval,
    Issue.AUTH: _auth,
    Issue.PERMISSION: _permission,
    Issue.LOGIC: _logic,
    Issue.EXHAUSTED: _exhausted,
    Issue.INDETERMINATE: _indeterminate,
    Issue.INTERNAL: _internal,
    Issue.CRASH_LOOP: _crash_loop,
}


# -- names and failures ----------------------------------------------------------------------


def title_of(view: PipelineView) -> str:
    """What it is about to do: as its code has called it, else the name of the effect."""
    titles: Iterable[str] = (view.run.title if view.run else "", view.effect.title if view.effect else "")
    return next((" ".join(title.split()) for title in titles if title.strip()), what(view))


def what(view: PipelineView) -> str:
    """The effect, by its name."""
    effect: Effect | None = view.effect
    return effect.name if effect is not None else where(view)


def where(view: PipelineView) -> str:
    """The code that stopped, or is at work, by its name."""
    return view.run.handler if view.run is not None else view.pipeline.name


def failure_of(view: PipelineView) -> Failure | None:
    return view.run.failure if view.run is not None else None


def kind_of(view: PipelineView) -> str:
    failure = failure_of(view)
    return "a failure" if failure is None else failure.type.rpartition(".")[2]


def failed_with(view: PipelineView) -> str:
    """As a sentence: how it failed, in one line."""
    failure = failure_of(view)
    return "no reason was kept." if failure is None else sentence(_short(in_one_line(failure)))


def _said(view: PipelineView) -> str:
    """As a sentence: what the failure says, without its type, which tells a person nothing."""
    failure = failure_of(view)
    message = "" if failure is None else " ".join(failure.message.split())
    return sentence(_short(message)) if message else failed_with(view)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + "…"

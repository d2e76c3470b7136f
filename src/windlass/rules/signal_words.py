"""What a signal watches, what it does then and how often, in words that a person reads.

Names in them come from users: whoever writes them to a terminal escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.model.duration import describe, from_instant
from windlass.model.signal import ANY, Action, ActionKind, Signal, Trigger, TriggerKind
from windlass.model.time import Duration

NOUNS = {TriggerKind.RUN: "run", TriggerKind.JOB: "job", TriggerKind.GRAPH: "graph", TriggerKind.ITEM: "item"}


def watched(signal: Signal) -> str:
    """ "when run run_… enters failed", "at 2026-12-01 09:00 UTC", "every 1 h", "after 1 h"."""
    trigger = signal.trigger
    if trigger.kind is TriggerKind.TIME:
        return _time(trigger, repeats=signal.repeats)
    return f"when {subject(trigger)} enters {any_of(trigger.to)}"


def does(signal: Signal) -> str:
    """ "start 'page_on_call'", "send 'paid' to run_…", "add the task 'Unblock it'", "only say so"."""
    return _deed(signal.action)


def how_often(signal: Signal) -> str:
    """ "once", "each time", or what once means of a signal that watches many."""
    if signal.repeats:
        return "each time"
    if signal.trigger.kind is TriggerKind.WORKFLOW:
        return "once for each run"
    return "once for each item" if signal.trigger.subject == ANY else "once"


def in_words(signal: Signal) -> str:
    """All of it in a line: "when run run_… enters failed, start 'page_on_call', once"."""
    said = f"{watched(signal)}, {does(signal)}"
    if signal.trigger.kind is TriggerKind.TIME:  # which says itself how often it comes
        return said
    return f"{said}, {how_often(signal)}"


def subject(trigger: Trigger) -> str:
    """ "run run_…", "pipeline 'payments'", "a run of 'order'"; of a time nothing."""
    match trigger.kind:
        case TriggerKind.TIME:
            return ""
        case TriggerKind.WORKFLOW:
            return f"a run of {trigger.subject!r}"
        case TriggerKind.PIPELINE:
            return f"pipeline {trigger.subject!r}"
        case TriggerKind.ITEM if trigger.subject == ANY:
            return "any item"
        case kind:
            return f"{NOUNS[kind]} {trigger.subject}"


def any_of(states: Sequence[str]) -> str:
    """ "done, failed or cancelled"."""
    *most, last = states or ("nothing",)
    return f"{', '.join(most)} or {last}" if most else last


def _time(trigger: Trigger, *, repeats: bool) -> str:
    if trigger.at is None:
        return f"{'every' if repeats else 'after'} {describe(trigger.every or Duration(0))}"
    moment = from_instant(trigger.at)
    return f"at {moment:%Y-%m-%d %H:%M:%S} UTC" if moment.second else f"at {moment:%Y-%m-%d %H:%M} UTC"


def _deed(action: Action) -> str:
    match action.kind:
        case ActionKind.START:
            queue = f" in queue {action.queue!r}" if action.queue not in ("", "default") else ""
            return f"start {action.workflow!r}{queue}"
        case ActionKind.SEND:
            return f"send {action.event!r} to {action.run_id}"
        case ActionKind.TASK:
            return f"add the task {action.title!r}"
        case ActionKind.NONE:
            return "only say so"

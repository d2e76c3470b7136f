"""How a replay disagrees with history, in one sentence for the person who must decide."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from types import FrameType

from windlass.errors import InvalidInput, ReplayMismatch
from windlass.model.step import StepKind, StepRecord

_PACKAGE = str(Path(__file__).resolve().parent.parent)
_WORD = {
    StepKind.STEP: "a step",
    StepKind.SLEEP: "a sleep",
    StepKind.EVENT: "a wait for an event",
    StepKind.APPROVAL: "an approval",
    StepKind.CHILD: "a run to wait for",
    StepKind.START: "a run that is started",
}


def other_kind(run_id: str, record: StepRecord, kind: StepKind) -> ReplayMismatch:
    recorded, found = _WORD[record.kind], _WORD[kind]
    text = f"history has {record.key!r} as {recorded}, the code{_where()} now asks for it as {found}."
    return _mismatch(run_id, text, step=record.key, recorded=recorded, found=found)


def other_input(run_id: str, record: StepRecord) -> ReplayMismatch:
    text = f"history has {record.key!r} with other input than the code{_where()} now gives it."
    return _mismatch(run_id, text, step=record.key, recorded="other input", found="this input")


def other_arguments(run_id: str, workflow: str, refused: InvalidInput) -> ReplayMismatch:
    text = f"its stored input does not fit workflow {workflow!r} as it is declared now ({refused})."
    return _mismatch(run_id, text, step="", recorded="other arguments", found="these arguments")


def other_result(run_id: str, key: str, refused: InvalidInput) -> ReplayMismatch:
    text = f"the result that history has for {key!r} does not fit what the code now declares ({refused})."
    return _mismatch(run_id, text, step=key, recorded="another type", found="this type")


def renamed(run_id: str, unread: list[str], asked: list[str]) -> ReplayMismatch:
    instead = f"; it asks for {_listed(asked)} instead" if asked else ""
    text = f"history has {_listed(unread)}, which the code does not ask for{instead}."
    named = asked[0] if asked else unread[0]
    return _mismatch(run_id, text, step=named, recorded=_listed(unread), found=_listed(asked), from_step=unread[0])


def left_unread(run_id: str, unread: list[str]) -> ReplayMismatch:
    text = f"history has {_listed(unread)}, and the code ended without asking for it."
    return _mismatch(run_id, text, step=unread[0], recorded=_listed(unread), found="the end")


def _mismatch(
    run_id: str, text: str, *, step: str, recorded: str, found: str, from_step: str | None = None
) -> ReplayMismatch:
    """`from_step`: where a retry may begin; the step itself, unless history does not know it."""
    return ReplayMismatch(
        f"Run {run_id} is paused: {text} The code changed under a running run: "
        f'restore it and "windlass resume {run_id}"{_or_from(run_id, from_step or step)}.',
        step=step,
        recorded=recorded,
        found=found,
    )


def _or_from(run_id: str, step: str) -> str:
    return f', or "windlass retry {run_id} --from {shlex.quote(step)}"' if step else ""


def _listed(keys: list[str]) -> str:
    shown = ", ".join(repr(key) for key in keys[:3])
    return shown if len(keys) <= 3 else f"{shown} and {len(keys) - 3} more"


def _where() -> str:
    """ " (shop.py:18)": the nearest line that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f" ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"

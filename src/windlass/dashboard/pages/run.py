"""One run: why it stands where it stands, its timeline, its payloads, its steps and its log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from windlass.dashboard import timeline
from windlass.dashboard.asking import Ask, File, Page, View
from windlass.dashboard.attention import about
from windlass.dashboard.payloads import payload
from windlass.errors import InvalidInput, NotFound
from windlass.model.effect import SubjectKind
from windlass.model.overview import ListSteps, RunPreview, StepPreview
from windlass.model.page import ListRuns
from windlass.model.run import Deed, LogEntry, Run, RunId, RunKind, RunStatus
from windlass.model.step import Step, StepKind
from windlass.rules.lanes import lanes_of, span
from windlass.rules.limits import check_step_reference

MOST_STEPS = 200
MOST_CHILDREN = 50
MOST_MESSAGES = 50
QUESTIONS = {
    RunStatus.FAILED: "Why did it fail?",
    RunStatus.COMPLETED: "What became of it?",
    RunStatus.CANCELLED: "What became of it?",
    RunStatus.SKIPPED: "Why was it skipped?",
    RunStatus.RUNNING: "What is it doing?",
}


async def show(ask: Ask) -> Page:
    preview = await ask.pages.preview_run(ask.namespace, ask.run_id)
    run = preview.run
    skipped = _skipped(ask.query.get("skipped", ""))
    steps = await ask.pages.list_steps(
        ListSteps(namespace=ask.namespace, run_id=run.id, skipped=skipped, limit=MOST_STEPS)
    )
    entries = await ask.pages.list_entries(ask.namespace, "run", run.id)
    children = await ask.service.runs.list_runs(ListRuns(namespace=ask.namespace, parent=run.id, limit=MOST_CHILDREN))
    lanes = lanes_of(run, steps=[item.step for item in steps.steps], log=entries.entries, now=ask.now)
    extent = span(run, now=ask.now)
    asked = None if run.status.is_terminal else await ask.pages.find_asked(ask.namespace, run.id)
    hidden = len(lanes) - timeline.MOST_LANES
    values = {
        "title": f"{run.name} {run.id}",
        "place": "runs",
        "every": 0 if run.status.is_terminal else 2_000,
        "run": run,
        "preview": preview,
        "question": QUESTIONS.get(run.status, "Why is it not running?"),
        "explanation": await ask.service.runs.explain_run(ask.namespace, run.id),
        "approval": None if asked is None else {"key": asked.key, "title": asked.awaits or asked.key},
        "approval_data": None if asked is None else payload(asked.detail),
        "effects": await _open_effects(ask, run),
        "lanes": timeline.drawn(lanes, extent),
        "ticks": timeline.ticks(extent),
        "legend": timeline.legend(lanes),
        "hidden_steps": _hidden(hidden, skipped=skipped, is_more=steps.is_more),
        "earlier": ask.to("runs", run.id, skipped=str(skipped + MOST_STEPS)) if steps.is_more else "",
        "latest": ask.to("runs", run.id) if skipped else "",
        **await asyncio.to_thread(_laid_out, preview, steps.steps, ask, run.id),
        "children": () if run.kind is RunKind.GRAPH else children.runs,
        "has_more_children": children.next is not None,
        "schedule_link": _to_schedule(ask, run),
        "messages": await ask.pages.list_messages(ask.namespace, run.id, MOST_MESSAGES),
        "entries": [_entry(entry) for entry in entries.entries],
        "has_more_entries": entries.is_more,
    }
    return Page("run.html", values)


def _skipped(text: str) -> int:
    """How many of the latest attempts are not shown. Raises InvalidInput."""
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 8):
        raise InvalidInput(f"skipped={text[:20]!r} is no number of attempts.", reason="invalid_filter", path="skipped")
    return int(text)


def _hidden(lanes: int, *, skipped: int, is_more: bool) -> str:
    if skipped:
        return f"The latest {skipped:,} attempts are not shown here."
    if is_more:
        return f"Only the latest {MOST_STEPS:,} attempts are shown."
    return f"{lanes:,} more steps stand in the list below." if lanes > 0 else ""


def _laid_out(preview: RunPreview, steps: Sequence[StepPreview], ask: Ask, run_id: RunId) -> dict[str, Any]:
    """What takes time to lay out, in a thread of its own."""
    return {
        "input": payload(preview.input, size=preview.input_size, is_call=True),
        "output": payload(preview.output, size=preview.output_size),
        "steps": [_row(item, ask, run_id) for item in steps],
    }


def _to_schedule(ask: Ask, run: Run) -> Markup | str:
    if run.schedule is None:
        return ""
    return Markup('<a href="{}">{}</a>').format(ask.to("schedules", run.schedule), run.schedule)


async def _open_effects(ask: Ask, run: Run) -> list[Any]:
    if run.status is not RunStatus.PAUSED:
        return []
    found = await ask.service.pipelines.list_open_effects(ask.namespace)
    return [
        {"effect": item, "about": about(item)}
        for item in found
        if item.subject_kind is SubjectKind.RUN and item.subject == run.id
    ]


def _row(item: StepPreview, ask: Ask, run_id: RunId) -> dict[str, Any]:
    step: Step = item.step
    is_over = step.started_at is not None and step.finished_at is not None
    is_child = step.kind in (StepKind.CHILD, StepKind.START) and (step.awaits or "").startswith("run_")
    return {
        "key": step.key,
        "kind": step.kind.value,
        "awaits": step.awaits,
        "child": step.awaits if is_child else None,
        "status": step.status.value,
        "attempt": step.attempt,
        "started_at": step.started_at,
        "took": (step.finished_at or 0) - (step.started_at or 0) if is_over else None,
        "failure": step.failure,
        "output": payload(step.output, size=item.output_size),
        "whole": ask.to("runs", run_id, "step.json", key=step.key, attempt=str(step.attempt)),
    }


def _entry(entry: LogEntry) -> dict[str, Any]:
    deed = Deed.from_log(entry.data)
    said = " ".join(part for part in (f"by {deed.by}" if deed.by else "", deed.note or "") if part)
    return {"at": entry.at, "to_status": entry.to_status, "cause": entry.cause, "said": said}


async def read_input(ask: Ask) -> File:
    view = await ask.service.runs.get_run(ask.namespace, ask.run_id)
    return File(f"{view.run.id}-input.json", view.input)


async def read_output(ask: Ask) -> File:
    view = await ask.service.runs.get_run(ask.namespace, ask.run_id)
    if view.output is None:
        raise NotFound("Output", view.run.id)
    return File(f"{view.run.id}-output.json", view.output)


async def read_step(ask: Ask) -> File:
    attempt = ask.query.get("attempt", "")
    key = check_step_reference(ask.query.get("key", ""))
    number = int(attempt) if attempt.isascii() and attempt.isdecimal() and len(attempt) < 8 else 0
    content = await ask.pages.read_output(ask.namespace, ask.run_id, step_key=key, attempt=number)
    return File(f"{ask.run_id}-step.json", content)


VIEWS = (
    View(path="/runs/{run_id}/step.json", operation="get_run", handler=read_step),
    View(path="/runs/{run_id}", operation="get_run", handler=show),
    View(path="/runs/{run_id}/input.json", operation="get_run", handler=read_input),
    View(path="/runs/{run_id}/output.json", operation="get_run", handler=read_output),
)

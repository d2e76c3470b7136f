"""One run: why it stands where it stands, its timeline, its payloads, its steps and its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windlass.dashboard import timeline
from windlass.dashboard.asking import Ask, File, Page, View
from windlass.dashboard.payloads import payload
from windlass.errors import NotFound
from windlass.model.effect import SubjectKind
from windlass.model.overview import ListSteps, StepPreview
from windlass.model.page import ListRuns
from windlass.model.run import Deed, LogEntry, Run, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.rules.lanes import lanes_of, span

MOST_STEPS = 300
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
    steps = await ask.pages.list_steps(ListSteps(namespace=ask.namespace, run_id=run.id, limit=MOST_STEPS))
    entries = await ask.pages.list_entries(ask.namespace, "run", run.id)
    children = await ask.service.runs.list_runs(ListRuns(namespace=ask.namespace, parent=run.id, limit=MOST_CHILDREN))
    lanes = lanes_of(run, steps=[item.step for item in steps.steps], log=entries.entries, now=ask.now)
    extent = span(run, now=ask.now)
    hidden = len(lanes) - timeline.MOST_LANES
    values = {
        "title": f"{run.name} {run.id}",
        "place": "runs",
        "every": 0 if run.status.is_terminal else 2_000,
        "run": run,
        "preview": preview,
        "question": QUESTIONS.get(run.status, "Why is it not running?"),
        "explanation": await ask.service.runs.explain_run(ask.namespace, run.id),
        "approval": _open_approval(run, steps.steps),
        "effects": await _open_effects(ask, run),
        "lanes": timeline.drawn(lanes, extent),
        "ticks": timeline.ticks(extent),
        "legend": timeline.legend(lanes),
        "hidden_steps": _hidden(hidden, is_more=steps.is_more),
        "input": payload(preview.input, size=preview.input_size, is_call=True),
        "output": payload(preview.output, size=preview.output_size),
        "steps": [_row(item) for item in steps.steps],
        "children": [] if run.kind.value == "graph" else children.runs,
        "messages": (await ask.service.runs.list_messages(ask.namespace, run.id))[-MOST_MESSAGES:],
        "entries": [_entry(entry) for entry in entries.entries],
        "has_more_entries": entries.is_more,
    }
    return Page("run.html", values)


def _hidden(lanes: int, *, is_more: bool) -> str:
    if is_more:
        return f"Only the first {MOST_STEPS} attempts are shown."
    return f"{lanes:,} more steps stand in the list below." if lanes > 0 else ""


def _open_approval(run: Run, steps: Sequence[StepPreview]) -> dict[str, str] | None:
    """What somebody is asked, if anything."""
    if run.status.is_terminal:
        return None
    for item in steps:
        step = item.step
        if step.kind is StepKind.APPROVAL and step.status is StepStatus.WAITING and not step.is_dropped:
            return {"key": step.key, "title": step.awaits or step.key}
    return None


async def _open_effects(ask: Ask, run: Run) -> list[Any]:
    if run.status is not RunStatus.PAUSED:
        return []
    found = await ask.service.pipelines.list_open_effects(ask.namespace)
    return [item for item in found if item.subject_kind is SubjectKind.RUN and item.subject == run.id]


def _row(item: StepPreview) -> dict[str, Any]:
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


VIEWS = (
    View(path="/runs/{run_id}", operation="get_run", handler=show),
    View(path="/runs/{run_id}/input.json", operation="get_run", handler=read_input),
    View(path="/runs/{run_id}/output.json", operation="get_run", handler=read_output),
)

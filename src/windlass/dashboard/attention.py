"""What needs a person, the worst first: from what the doors tell to one list, each with what can be done about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from windlass.model.duration import between
from windlass.model.effect import Effect, EffectStatus, SubjectKind
from windlass.model.failure import Failure, FailureKind, in_one_line
from windlass.model.overview import Attention, FoundRun, OpenApproval
from windlass.model.pipeline import Issue, PipelineStatus
from windlass.model.pipeline_commands import PipelineDetail
from windlass.model.queue import QueueView
from windlass.model.run import Run
from windlass.model.schedule import ScheduleView
from windlass.model.time import MINUTE, Duration, Instant
from windlass.model.worker import Standing, Worker
from windlass.rules import queues as queue_rules
from windlass.rules.schedule_words import Standing as ScheduleStanding
from windlass.rules.schedule_words import standing as schedule_standing
from windlass.rules.schedule_words import why_late, why_not
from windlass.rules.workers import LIVE_FOR, standing

GROWING = Duration(5 * MINUTE)  # the oldest of a queue is due for longer: it is taken slower than it fills
LATE = Duration(10_000_000)

To = Callable[..., str]


class Act(Struct, frozen=True, kw_only=True):
    operation: str
    url: str
    label: str
    text: str
    is_danger: bool = False
    is_noted: bool = False


class Need(Struct, frozen=True, kw_only=True):
    """One thing that waits for somebody."""

    label: str
    title: str
    text: str
    url: str
    since: Instant | None = None
    is_bad: bool = True
    is_error: bool = False  # the text is that of an error
    run: Run | None = None
    approval: dict[str, str] | None = None
    effect: dict[str, str] | None = None
    act: tuple[Act, ...] = ()


class Situation(Struct, frozen=True, kw_only=True):
    """All that is looked at."""

    attention: Attention
    workers: Sequence[Worker]
    queues: Sequence[QueueView]
    schedules: Sequence[ScheduleView]
    pipelines: Sequence[PipelineDetail]
    effects: Sequence[Effect]
    now: Instant


def needs(seen: Situation, to: To) -> list[Need]:
    open_effects = [effect for effect in seen.effects if effect.status is EffectStatus.INDETERMINATE]
    in_doubt = {effect.subject for effect in open_effects if effect.subject_kind is SubjectKind.RUN}
    return [
        *(_of_effect(effect, to) for effect in open_effects if effect.subject_kind is SubjectKind.RUN),
        *(_of_pipeline(item, to) for item in seen.pipelines if item.view.pipeline.status is PipelineStatus.ATTENTION),
        *(_of_failed(found, to) for found in seen.attention.failed),
        *(_of_approval(item, to) for item in seen.attention.approvals),
        *(_of_paused(found, to) for found in seen.attention.paused if found.run.id not in in_doubt),
        *_of_workers(seen, to),
        *_of_schedules(seen, to),
        *_of_queues(seen, to),
    ]


def _of_failed(found: FoundRun, to: To) -> Need:
    run, failure = found.run, found.failure
    is_loop = failure is not None and failure.kind is FailureKind.CRASH_LOOP
    text = "It failed, and no reason was kept." if failure is None else in_one_line(failure)
    if is_loop:
        text = f"Crash loop: every worker that executed it disappeared. {text}"
    return Need(
        label="failed",
        title=_named(found),
        text=text[:400],
        url=to("runs", run.id),
        since=run.finished_at,
        is_error=not is_loop,
        run=run,
    )


def _named(found: FoundRun) -> str:
    return f"{found.run.name} · {found.key}" if found.key else found.run.name


def _of_approval(item: OpenApproval, to: To) -> Need:
    return Need(
        label="waiting",
        title=item.run.name,
        text=f"Waits for somebody to decide: {item.title}",
        url=to("runs", item.run.id),
        since=item.since,
        is_bad=False,
        run=item.run,
        approval={"key": item.key, "title": item.title},
    )


def _of_paused(found: FoundRun, to: To) -> Need:
    return Need(
        label="paused",
        title=_named(found),
        text=_why_paused(found.failure)[:400],
        url=to("runs", found.run.id),
        is_bad=found.failure is not None,
        run=found.run,
    )


def _why_paused(failure: Failure | None) -> str:
    return "Somebody paused it. It goes on when it is resumed." if failure is None else in_one_line(failure)


def _of_effect(effect: Effect, to: To) -> Need:
    return Need(
        label="indeterminate",
        title=effect.title or effect.name,
        text=f"Nobody knows whether {effect.name!r} happened. Find out, and say so.",
        url=to("runs", effect.subject),
        since=effect.updated_at,
        effect={"step": effect.step_key},
    )


def _of_pipeline(item: PipelineDetail, to: To) -> Need:
    view, name = item.view, item.summary.name
    base = to("pipelines", name)
    acts: tuple[Act, ...] = (
        Act(operation="retry_pipeline", url=f"{base}/retry", label="Try again", text="Try what stopped again, now."),
    )
    if view.pipeline.issue is Issue.APPROVAL:
        acts = (
            Act(
                operation="decide_handler", url=f"{base}/approve", label="Approve", text="It goes on with that.",
                is_noted=True,
            ),
            Act(
                operation="decide_handler", url=f"{base}/reject", label="Reject", text="Its events are skipped.",
                is_danger=True, is_noted=True,
            ),
        )  # fmt: skip
    is_open = view.pipeline.issue is Issue.INDETERMINATE
    return Need(
        label="Needs attention",
        title=name,
        text=item.summary.issue,
        url=base,
        since=view.run.updated_at if view.run else None,
        act=() if is_open else acts,
        effect={} if is_open else None,
    )


def _of_workers(seen: Situation, to: To) -> list[Need]:
    silent = [item for item in seen.workers if standing(item, now=seen.now, silent_for=LIVE_FOR) is Standing.SILENT]
    return [
        Need(
            label="silent",
            title=f"Worker on {worker.host}, process {worker.pid}",
            text="It says nothing any more: dead, stuck or cut off. What it held is taken over by others by itself.",
            url=to("workers"),
            since=worker.seen_at,
            is_bad=False,
        )
        for worker in silent
    ]


def _of_schedules(seen: Situation, to: To) -> list[Need]:
    found = []
    for view in seen.schedules:
        schedule = view.schedule
        stands = schedule_standing(schedule, now=seen.now, grace=LATE)
        if stands in (ScheduleStanding.ACTIVE, ScheduleStanding.PAUSED):
            continue
        why = why_not(view)
        if stands is ScheduleStanding.LATE:
            why = why_late(schedule, now=seen.now, has_workers=bool(seen.workers))
        text = (why or "")[:1].upper() + (why or "")[1:]
        url = to("schedules", schedule.name)
        found.append(
            Need(
                label=stands.value, title=f"Schedule {schedule.name}", text=text, url=url,
                since=schedule.available_at, is_bad=False,
            )
        )  # fmt: skip
    return found


def _of_queues(seen: Situation, to: To) -> list[Need]:
    found = []
    for queue in seen.queues:
        unserved = queue_rules.warning(queue)
        oldest = queue.oldest_due_at
        if unserved is not None:
            text: str | None = unserved
        elif queue.gate is None and oldest is not None and seen.now - oldest > GROWING:
            many = f"{queue.due:,} {'run is' if queue.due == 1 else 'runs are'} due"
            text = f"{many}, the oldest for {between(oldest, seen.now)}: its {queue.slots:,} slots do not keep up."
        else:
            text = None
        if text is not None:
            found.append(
                Need(label="late", title=f"Queue {queue.name}", text=text, url=to("queues"), since=oldest, is_bad=False)
            )
    return found


def tiles(seen: Situation, to: To) -> list[dict[str, Any]]:
    """How things stand now, in numbers."""
    live = sum(standing(item, now=seen.now, silent_for=LIVE_FOR) is Standing.ONLINE for item in seen.workers)
    queues = seen.queues
    return [
        {"label": "running", "value": f"{sum(item.running for item in queues):,}", "url": to("runs", status="running")},
        {"label": "due, for a worker", "value": f"{sum(item.due for item in queues):,}", "url": to("queues")},
        {"label": "due later", "value": f"{sum(item.later for item in queues):,}", "url": to("queues")},
        {"label": "waiting", "value": f"{sum(item.waiting for item in queues):,}", "url": to("runs", status="waiting")},
        {
            "label": "ended per minute",
            "value": f"{sum(item.ended_per_minute for item in queues):,.0f}",
            "url": to("runs"),
        },
        {"label": "workers", "value": f"{live:,}", "url": to("workers")},
    ]

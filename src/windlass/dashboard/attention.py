"""What needs a person, the worst first: from what the doors tell to one list, each with what can be done about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from windlass.model.duration import between
from windlass.model.effect import Effect, EffectStatus, SubjectKind
from windlass.model.failure import FailureKind, in_one_line
from windlass.model.overview import Attention, FoundRun, LongStep, OpenApproval
from windlass.model.pipeline import PipelineStatus
from windlass.model.pipeline_commands import PipelineDetail, PipelineView
from windlass.model.queue import QueueView
from windlass.model.run import Run, RunKind
from windlass.model.schedule import Schedule, ScheduleView
from windlass.model.signal import Signal
from windlass.model.time import MINUTE, Duration, Instant
from windlass.model.worker import Standing, Worker
from windlass.rules import queues as queue_rules
from windlass.rules.explain.held import takes_long
from windlass.rules.explain.words import capital, joined
from windlass.rules.pipeline_words import needed_from_person
from windlass.rules.schedule_words import ON_TIME, why_late, why_not
from windlass.rules.schedule_words import Standing as ScheduleStanding
from windlass.rules.schedule_words import standing as schedule_standing
from windlass.rules.signal_words import in_words
from windlass.rules.workers import LIVE_FOR, is_live, said_goodbye, standing

LOST_FOR = Duration(15 * MINUTE)  # it is shown, whether or not another has taken its place
SILENT = "It says nothing any more: dead, stuck or cut off. What it held is taken over by others by itself."
LOST = "It ended without a word: killed, crashed or cut off. What it held was given to others."
MOST = 20  # of each kind: whoever has more to do begins with these
LONGEST = 400  # characters of what went wrong; its own page has all of it

To = Callable[..., str]


class Need(Struct, frozen=True, kw_only=True):
    """One thing that waits for somebody. What can be done about it follows from what it is about."""

    id: str
    label: str
    title: str
    text: str
    url: str
    since: Instant | None = None
    is_bad: bool = True
    is_error: bool = False  # the text is that of an error
    run: Run | None = None
    approval: dict[str, str] | None = None  # that the run waits for
    effect: dict[str, str] | None = None  # of the run
    pipeline: PipelineView | None = None
    schedule: Schedule | None = None
    signal: Signal | None = None
    look: str = ""  # where nothing can be done from here: what is to be looked at


class Situation(Struct, frozen=True, kw_only=True):
    """All that is looked at."""

    attention: Attention
    workers: Sequence[Worker]
    queues: Sequence[QueueView]
    schedules: Sequence[ScheduleView]
    pipelines: Sequence[PipelineDetail]
    effects: Sequence[Effect]
    is_enabled: bool  # the namespace
    now: Instant


def needs(seen: Situation, to: To) -> list[Need]:
    found = seen.attention
    effects = _open_effects(seen)
    told = {*(effect.subject for effect in effects), *(item.run.id for item in found.approvals)}
    return [
        *(_of_effect(effect, to) for effect in effects[:MOST]),
        *(_of_pipeline(item, to) for item in _stopped(seen)[:MOST]),
        *(_of_failed(item, to) for item in found.failed),
        *(_of_signal(signal, to) for signal in found.signals),
        *(_of_long_step(item, to) for item in found.long_steps),
        *(_of_approval(item, to) for item in found.approvals),
        *(_of_paused(item, to) for item in found.paused if item.run.id not in told),
        *_of_workers(seen, to)[:MOST],
        *_of_schedules(seen, to)[:MOST],
        *_of_queues(seen, to)[:MOST],
    ]


def left_out(seen: Situation, to: To) -> list[tuple[str, str]]:
    """Of which kinds there are more than are shown, and where all of them are."""
    found = seen.attention
    kinds = (
        ("failed runs", to("runs", status="failed"), found.failed_more),
        ("runs that wait", to("runs", status="waiting"), found.approvals_more),
        ("runs at work", to("runs", status="running"), found.long_steps_more),
        ("paused runs", to("runs", status="paused"), found.paused_more or len(_open_effects(seen)) > MOST),
        ("signals", to("signals", status="paused"), found.signals_more),
        ("pipelines", to("pipelines"), len(_stopped(seen)) > MOST),
        ("workers", to("workers"), len(_of_workers(seen, to)) > MOST),
        ("schedules", to("schedules"), len(_of_schedules(seen, to)) > MOST),
        ("queues", to("queues"), len(_of_queues(seen, to)) > MOST),
    )
    return [(name, url) for name, url, is_cut in kinds if is_cut]


def _open_effects(seen: Situation) -> list[Effect]:
    """Of runs: what a pipeline does not know stops the pipeline."""
    return [
        effect
        for effect in seen.effects
        if effect.status is EffectStatus.INDETERMINATE and effect.subject_kind is SubjectKind.RUN
    ]


def _stopped(seen: Situation) -> list[PipelineDetail]:
    return [item for item in seen.pipelines if item.view.pipeline.status is PipelineStatus.ATTENTION]


def _of_effect(effect: Effect, to: To) -> Need:
    return Need(
        id=f"effect-{effect.subject}-{effect.step_key}",
        label="indeterminate",
        title=effect.title or effect.name,
        text=f"Nobody knows whether {effect.name!r} happened. Find out, and say so.",
        url=to("runs", effect.subject),
        since=effect.updated_at,
        effect=about(effect),
    )


def about(effect: Effect) -> dict[str, str]:
    """Which call a person has looked into: what they say is of no other."""
    return {"step": effect.step_key, "owner": effect.owner, "attempt": str(effect.attempt)}


def _of_pipeline(item: PipelineDetail, to: To) -> Need:
    view = item.view
    told, _ = needed_from_person(view)  # what to type is left out: the buttons stand beside it
    return Need(
        id=f"pipeline-{view.pipeline.name}",
        label=item.summary.status,
        title=view.pipeline.name,
        text=f"{told} {held(view)}".strip(),
        url=to("pipelines", view.pipeline.name),
        since=None if view.run is None else view.run.updated_at,
        pipeline=view,
    )


def held(view: PipelineView) -> str:
    """Which events it is about."""
    events = () if view.run is None else view.run.reserved
    return f"About {joined([f'{event.topic} {event.id}' for event in events])}." if events else ""


def _of_failed(found: FoundRun, to: To) -> Need:
    run, failure = found.run, found.failure
    is_loop = failure is not None and failure.kind is FailureKind.CRASH_LOOP
    text = "It failed, and no reason was kept." if failure is None else in_one_line(failure)
    if is_loop:
        text = f"Crash loop: every worker that executed it disappeared. {text}"
    return Need(
        id=run.id,
        label="failed",
        title=_named(found),
        text=text[:LONGEST],
        url=to("graphs" if run.kind is RunKind.GRAPH else "runs", run.id),
        since=run.finished_at,
        is_error=not is_loop,
        run=run,
    )


def _named(found: FoundRun) -> str:
    return f"{found.run.name} · {found.key}" if found.key else found.run.name


def _of_signal(signal: Signal, to: To) -> Need:
    return Need(
        id=signal.id,
        label="paused",
        title=capital(in_words(signal)),
        text=f"It is paused, because this failed: {signal.reason}"[:LONGEST],
        url=to("signals", signal.id),
        since=signal.changed_at,
        signal=signal,
    )


def _of_long_step(item: LongStep, to: To) -> Need:
    return Need(
        id=f"long-{item.run.id}-{item.step}",
        label="takes long",
        title=item.run.name,
        text=f"Step {item.step!r} is at work for much longer than usual. {takes_long(item.typical_for)}",
        url=to("runs", item.run.id),
        since=item.since,
        is_bad=False,
        run=item.run,
    )


def _of_approval(item: OpenApproval, to: To) -> Need:
    return Need(
        id=f"approval-{item.run.id}-{item.key}",
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
    failure = found.failure
    why = "Somebody paused it. It goes on when it is resumed." if failure is None else in_one_line(failure)
    return Need(
        id=found.run.id,
        label="paused",
        title=_named(found),
        text=why[:LONGEST],
        url=to("graphs" if found.run.kind is RunKind.GRAPH else "runs", found.run.id),
        is_bad=failure is not None,
        run=found.run,
    )


def _of_workers(seen: Situation, to: To) -> list[Need]:
    """Those that say nothing any more, and for a while those that were found to be gone."""
    return [
        Need(
            id=worker.id,
            label="silent" if worker.stopped_at is None else "lost",
            title=f"Worker on {worker.host}, process {worker.pid}",
            text=SILENT if worker.stopped_at is None else LOST,
            url=to("workers"),
            since=worker.seen_at,
            is_bad=False,
            look="See workers",
        )
        for worker in seen.workers
        if standing(worker, now=seen.now, silent_for=LIVE_FOR) is Standing.SILENT
        or (worker.stopped_at is not None and not said_goodbye(worker))
    ]


def _of_schedules(seen: Situation, to: To) -> list[Need]:
    found, has_workers = [], any(is_live(worker, now=seen.now) for worker in seen.workers)
    for view in seen.schedules:
        schedule = view.schedule
        stands = schedule_standing(schedule, now=seen.now, grace=ON_TIME)
        if stands in (ScheduleStanding.ACTIVE, ScheduleStanding.PAUSED):
            continue
        why = why_not(view) or ""
        if stands is ScheduleStanding.LATE:
            why = why_late(schedule, now=seen.now, has_workers=has_workers, is_disabled=not seen.is_enabled)
        found.append(
            Need(
                id=f"schedule-{schedule.name}",
                label=stands.value,
                title=f"Schedule {schedule.name}",
                text=capital(why),
                url=to("schedules", schedule.name),
                since=schedule.available_at,
                is_bad=False,
                schedule=schedule,
            )
        )
    return found


def _of_queues(seen: Situation, to: To) -> list[Need]:
    return [
        Need(
            id=f"queue-{queue.name}",
            label="late",
            title=f"Queue {queue.name}",
            text=text,
            url=to("queues"),
            since=queue.oldest_due_at,
            is_bad=False,
            look="See queues",
        )
        for queue in seen.queues
        if (text := queue_rules.warning(queue) or queue_rules.falls_behind(queue, now=seen.now))
    ]


def tiles(seen: Situation, to: To) -> list[dict[str, str]]:
    """How things stand now, in numbers."""
    queues = seen.queues
    live = sum(standing(item, now=seen.now, silent_for=LIVE_FOR) is Standing.ONLINE for item in seen.workers)
    oldest = min((queue.oldest_due_at for queue in queues if queue.oldest_due_at is not None), default=None)
    ended, is_estimate = sum(item.ended_per_minute for item in queues), any(item.ended_is_estimate for item in queues)
    told = (
        ("running", f"{sum(item.running for item in queues):,}", to("runs", status="running")),
        ("due", f"{sum(item.due for item in queues):,}", to("queues")),
        ("oldest due", "–" if oldest is None else between(oldest, seen.now), to("queues")),
        ("waiting, or due later", f"{sum(item.waiting + item.later for item in queues):,}", to("queues")),
        ("ended per minute", queue_rules.about(f"{ended:,.0f}", is_estimate=is_estimate), to("runs")),
        ("worker" if live == 1 else "workers", f"{live:,}", to("workers")),
    )
    return [{"label": label, "value": value, "url": url} for label, value, url in told]

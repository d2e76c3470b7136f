"""How large what is told about pipelines is, about; and what is left out of it where it would be too large."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.model.effect import Effect
from windlass.model.failure import Failure
from windlass.model.pipeline import EventRow, HandlerRun
from windlass.model.pipeline_commands import PipelineDetail, TopicView
from windlass.model.pipeline_work import Task
from windlass.rules.reservations import weight_of

LEAST_SIZE = 1_000  # of what stands around payloads
LEAST_PART = 100  # of a reservation, a use
LONGEST_MESSAGE = 2_000  # of a failure that is told in short


def size_of_failure(failure: Failure | None) -> int:
    if failure is None:
        return 0
    return len(failure.message) + len(failure.traceback) + len(failure.data or b"")


def size_of_run(run: HandlerRun | None) -> int:
    if run is None:
        return 0
    reserved = sum(LEAST_PART + len(item.topic) + len(item.id) for item in run.reserved)
    return LEAST_SIZE + reserved + size_of_failure(run.failure)


def size_of_event(event: EventRow) -> int:
    return LEAST_SIZE + weight_of(event)


def size_of_effect(effect: Effect | None) -> int:
    if effect is None:
        return 0
    return LEAST_SIZE + len(effect.params) + len(effect.result or b"") + size_of_failure(effect.failure)


def size_of_topic(topic: TopicView) -> int:
    return LEAST_SIZE + LEAST_PART * (len(topic.uses) + len(topic.pending) + len(topic.reserved))


def size_of_task(task: Task) -> int:
    payloads = (task.state, task.data, task.result)
    parts = sum(len(part or b"") for part in payloads) + sum(map(size_of_event, task.events))
    return LEAST_SIZE + parts + size_of_effect(task.effect) + size_of_failure(task.failure)


def size_of_detail(detail: PipelineDetail) -> int:
    view = detail.view
    handlers = sum(LEAST_SIZE + size_of_run(handler.last_run) for handler in view.handlers)
    attempts = sum(map(size_of_run, (view.run, *view.activity)))
    return LEAST_SIZE + handlers + attempts + size_of_effect(view.effect)


def within(detail: PipelineDetail, room: int) -> PipelineDetail:
    """As it is, or with its attempts told in short: a pipeline of many handlers has as many failures to tell of."""
    if size_of_detail(detail) <= room:
        return detail
    view = detail.view
    handlers = tuple([replace(handler, last_run=_short(handler.last_run)) for handler in view.handlers])
    activity = tuple([run for run in map(_short, view.activity) if run is not None])
    return replace(detail, view=replace(view, handlers=handlers, run=_short(view.run), activity=activity))


def _short(run: HandlerRun | None) -> HandlerRun | None:
    if run is None:
        return None
    failure = run.failure
    if failure is not None:
        failure = replace(failure, message=failure.message[:LONGEST_MESSAGE], traceback="", data=None)
    return replace(run, reserved=(), failure=failure)

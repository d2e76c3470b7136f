"""What people and programs ask about pipelines: the same question as in `checks`.

Here is decided whether each value can be at all. Whether an event is pending, or an effect open, the engine decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.fields import check_duration, check_version, refused
from windlass.errors import InvalidInput
from windlass.model.duration import shown
from windlass.model.effect import Resolution
from windlass.model.pipeline import HandlerKind, HandlerSpec, NewInput, PipelineSpec
from windlass.model.pipeline_commands import (
    DecideHandler,
    DeclarePipelines,
    ListEvents,
    ListHandlerRuns,
    ListInputs,
    Publish,
    ResolveEffect,
    SkipInput,
    SteerPipeline,
)
from windlass.rules.inputs import new_input
from windlass.rules.limits import (
    check_handler_run_id,
    check_input_id,
    check_key,
    check_limit,
    check_name,
    check_namespace,
    check_note,
    check_payload,
    check_person,
    check_queue,
    check_retry,
    check_step_reference,
    check_visibility,
)
from windlass.rules.reservations import MOST_RESERVED
from windlass.rules.schedule_limits import check_timing

S = TypeVar("S", bound=Struct)

PAGE_LIMIT = 500
LAST_SEQ = 2**63 - 1
MOST_PIPELINES = 1_000  # of one program
MOST_HANDLERS = 1_000  # of one pipeline
MOST_TOPICS = 1_000  # of one handler


def check_pipeline(name: str, *, what: str = "pipeline") -> str:
    return check_name(name, what=what)


def check_topic(name: str, *, what: str = "topic") -> str:
    return check_name(name, what=what)


def check_event_id(id: str, *, what: str = "event id") -> str:
    """Any text of 1 to 255 characters, as it is."""
    return check_key(id, what=what)


def check_input(given: NewInput) -> NewInput:
    """With the id that follows from what it names. Raises InvalidInput if it came with another one."""
    made = new_input(given.source, given.type, given.external_id, title=given.title)
    if given.id not in ("", made.id):
        raise refused(given.id, "input id", f"source, type and id there make it {made.id}", reason="invalid_id")
    return given if given == made else made


def changed(value: S, **given: Any) -> S:
    """The value with these fields, and itself where it has them already."""
    new = {field: item for field, item in given.items() if getattr(value, field) != item}
    return replace(value, **new) if new else value


def _publish(command: Publish) -> dict[str, Any]:
    check_event_id(command.id)
    check_payload(command.payload, what="payload")
    return {
        "namespace": check_namespace(command.namespace),
        "topic": check_topic(command.topic),
        "input": None if command.input is None else check_input(command.input),
    }


# Looking


def _list_runs(command: ListHandlerRuns) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=PAGE_LIMIT)
    if command.before is not None:
        check_handler_run_id(command.before, what="before")
    handler = None if command.handler is None else check_name(command.handler, what="handler")
    return _of_pipeline(command) | {"handler": handler}


def _list_events(command: ListEvents) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=PAGE_LIMIT)
    check_limit(command.after, what="after", low=0, high=LAST_SEQ)
    return _of_pipeline(command) | {"topic": None if command.topic is None else check_topic(command.topic)}


def _list_inputs(command: ListInputs) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=PAGE_LIMIT)
    if command.before is not None:
        check_input_id(command.before, what="before")
    return _of_pipeline(command)


# Steering


def _declare(command: DeclarePipelines) -> dict[str, Any]:
    check_key(command.program, what="program")
    check_limit(len(command.pipelines), what="number of pipelines", low=0, high=MOST_PIPELINES)
    pipelines = tuple([_spec(spec) for spec in command.pipelines])
    _check_once([spec.name for spec in pipelines], what="pipeline")
    return {"namespace": check_namespace(command.namespace), "pipelines": pipelines}


def _spec(spec: PipelineSpec) -> PipelineSpec:
    name = check_pipeline(spec.name, what="pipeline name")
    try:
        check_limit(len(spec.handlers), what="number of handlers", low=1, high=MOST_HANDLERS)
        handlers = tuple([_handler(handler) for handler in spec.handlers])
        _check_once([handler.name for handler in handlers], what="handler")
        retry = spec.retry
        check_retry(retry.max_attempts, initial_for=retry.initial_for, factor=retry.factor, max_for=retry.max_for)
        if spec.visibility_for is not None:
            check_visibility(spec.visibility_for)
        revision = check_version(spec.revision, what="revision")
        return changed(spec, name=name, queue=check_queue(spec.queue), handlers=handlers, revision=revision)
    except InvalidInput as error:
        raise InvalidInput(f"Pipeline {shown(name)}: {error}", reason=error.reason, path=error.path) from None


def _handler(spec: HandlerSpec) -> HandlerSpec:
    name = check_name(spec.name, what="handler name")
    check_limit(spec.batch, what="batch", low=1, high=MOST_RESERVED)
    check_duration(spec.timeout_for, what="timeout", low=1)
    check_version(spec.code, what="code")
    for what, topics in (("topics", spec.topics), ("publishes", spec.publishes)):
        check_limit(len(topics), what=f"number of {what}", low=0, high=MOST_TOPICS)
    if spec.kind is HandlerKind.PRODUCER:
        if spec.topics:
            raise refused(name, "handler", "a producer subscribes to no topic", reason="invalid_pipeline")
    elif not spec.topics or spec.timing is not None:
        text = "a consumer subscribes to at least one topic, and has no times of its own"
        raise refused(name, "handler", text, reason="invalid_pipeline")
    return changed(
        spec,
        name=name,
        topics=tuple([check_topic(topic) for topic in spec.topics]),
        publishes=tuple([check_topic(topic) for topic in spec.publishes]),
        timing=None if spec.timing is None else check_timing(spec.timing),
    )


def _check_once(names: Sequence[str], *, what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise refused(name, what, "it is declared twice", reason="invalid_pipeline")


def _steer(command: SteerPipeline | DecideHandler) -> dict[str, Any]:
    _deed(command)
    return {"namespace": check_namespace(command.namespace), "name": check_pipeline(command.name)}


def _decide(command: DecideHandler) -> dict[str, Any]:
    if command.run_id is not None:
        check_handler_run_id(command.run_id)
    if command.releases and command.is_approved:
        raise refused(True, "releases", "only a rejection gives the events back", reason="invalid_option")
    return _steer(command)


def _resolve(command: ResolveEffect) -> dict[str, Any]:
    _deed(command)
    check_payload(command.result, what="result")
    if command.result is not None and command.resolution is not Resolution.HAPPENED:
        text = "only an effect that happened has a result"
        raise refused(command.resolution.value, "resolution", text, reason="invalid_option")
    if command.step is not None:
        check_step_reference(command.step)
    if command.owner is not None:
        check_key(command.owner, what="owner")
    if command.attempt is not None:
        check_limit(command.attempt, what="attempt", low=1, high=LAST_SEQ)
    subject = check_name(command.subject, what="subject")  # of a run too: its id reads like a name
    return {"namespace": check_namespace(command.namespace), "subject": subject}


def _skip(command: SkipInput) -> dict[str, Any]:
    _deed(command)
    is_event = command.topic is not None and command.event is not None
    if (command.input is None) != is_event or (command.topic is None) != (command.event is None):
        raise refused(command.input, "input", "an input is skipped, or an event by its topic and id: one of them")
    if command.input is not None:
        check_input_id(command.input)
    if command.event is not None:
        check_event_id(command.event, what="event")
    return _of_pipeline(command) | {"topic": None if command.topic is None else check_topic(command.topic)}


def _deed(command: SteerPipeline | DecideHandler | ResolveEffect | SkipInput) -> None:
    check_person(command.by)
    check_note(command.note)


def _of_pipeline(command: Any) -> dict[str, Any]:
    return {"namespace": check_namespace(command.namespace), "pipeline": check_pipeline(command.pipeline)}


PIPELINES: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    Publish: _publish,
    ListHandlerRuns: _list_runs,
    ListEvents: _list_events,
    ListInputs: _list_inputs,
    DeclarePipelines: _declare,
    SteerPipeline: _steer,
    DecideHandler: _decide,
    ResolveEffect: _resolve,
    SkipInput: _skip,
}

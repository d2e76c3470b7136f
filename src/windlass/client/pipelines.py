"""Ask about pipelines: look at them, pause and resume them, and say what a person has to say."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from windlass.api.service import PipelineControl
from windlass.api.service import Pipelines as Service
from windlass.client.handle import Door
from windlass.client.inputs import listed_inputs
from windlass.client.inside import refuse_inside_a_workflow
from windlass.client.pipeline_infos import (
    EffectInfo,
    HandlerRunInfo,
    InputInfo,
    InputTrace,
    PipelineInfo,
    TopicInfo,
    effect_info,
    input_info,
    pipeline_info,
    run_info,
    topic_info,
    trace_info,
)
from windlass.define.input import Input
from windlass.define.options import shorten
from windlass.define.pipeline import Pipeline
from windlass.define.topic import Topic
from windlass.errors import InvalidInput
from windlass.model.effect import Resolution, SubjectKind
from windlass.model.pipeline import HandlerRunId, InputId, InputStatus
from windlass.model.pipeline_commands import (
    DecideHandler,
    ListHandlerRuns,
    ListInputs,
    ResolveEffect,
    SkipInput,
    Skipped,
    SteerPipeline,
)
from windlass.rules.limits import (
    check_flag,
    check_key,
    check_limit,
    check_name,
    check_note,
    check_person,
    check_step_reference,
)

MOST_ROWS = 1_000
NOT_GIVEN: Any = object()

ResolutionLike: TypeAlias = Literal["happened", "did_not_happen", "skip", "try_again"]


class PipelineReads:
    """The part of `app.pipelines` that looks."""

    def __init__(
        self,
        door: Door,
        *,
        service: Callable[[], Awaitable[Service]],
        control: Callable[[], Awaitable[PipelineControl]],
    ) -> None:
        self._door, self._service, self._control = door, service, control

    async def list(self) -> builtins.list[PipelineInfo]:
        """All of them, by name."""
        service = await self._asked("list")
        return [pipeline_info(detail) for detail in await service.list_pipelines(self._door.namespace)]

    async def get(self, name: Pipeline | str, /) -> PipelineInfo:
        """Where it stands. Raises NotFound."""
        service = await self._asked("get")
        return pipeline_info(await service.get_pipeline(self._door.namespace, _name(name)))

    async def explain(self, name: Pipeline | str, /) -> str:
        """Why it does nothing, or who executes it, in one paragraph."""
        service = await self._asked("explain")
        return str(await service.explain_pipeline(self._door.namespace, _name(name)))

    async def runs(
        self, name: Pipeline | str, /, *, handler: str | None = None, limit: int = 50
    ) -> builtins.list[HandlerRunInfo]:
        """The attempts of its handlers, the newest first."""
        service = await self._asked("runs")
        query = ListHandlerRuns(
            namespace=self._door.namespace,
            pipeline=_name(name),
            handler=None if handler is None else check_name(handler, what="handler"),
            limit=_limit(limit),
        )
        return [run_info(run) for run in (await service.list_handler_runs(query)).runs]

    async def inputs(
        self,
        name: Pipeline | str,
        /,
        *,
        status: Literal["pending", "done", "skipped"] | None = None,
        limit: int = 50,
    ) -> builtins.list[InputInfo]:
        """What outside has caused events in it, the newest first, and what became of that."""
        service = await self._asked("inputs")
        query = ListInputs(
            namespace=self._door.namespace,
            pipeline=_name(name),
            status=None if status is None else _member(status, [*InputStatus], what="status"),
            limit=_limit(limit),
        )
        return [input_info(row) for row in await listed_inputs(service, query)]

    async def trace(self, name: Pipeline | str, input: Input | str, /) -> InputTrace:
        """What became of an input, from its first event to the effects it led to. Raises NotFound."""
        service = await self._asked("trace")
        return trace_info(await service.trace_input(self._door.namespace, _name(name), _input_id(input)))

    async def topics(self) -> builtins.list[TopicInfo]:
        """All topics: who publishes, who subscribes, and how much waits."""
        service = await self._asked("topics")
        return [topic_info(view) for view in await service.list_topics(self._door.namespace)]

    async def open_effects(self) -> builtins.list[EffectInfo]:
        """Effects, of pipelines and of runs, of which nobody knows whether they happened."""
        service = await self._asked("open_effects")
        return [effect_info(row) for row in await service.list_open_effects(self._door.namespace)]

    async def _asked(self, verb: str) -> Service:
        refuse_inside_a_workflow(verb, verb=f"app.pipelines.{verb}()")
        return await self._service()


class Pipelines(PipelineReads):
    """`app.pipelines`: what became of what was published, and what a person has to say. `app.sync.pipelines` blocks.

    Example: `await app.pipelines.approve("payments", by="ann")`
    """

    async def pause(self, name: Pipeline | str, /, *, by: str | None = None, note: str | None = None) -> PipelineInfo:
        """Begin no handler until it is resumed. One that is at work goes on to its end."""
        control, command = await self._steering("pause", name, by, note)
        return pipeline_info(await control.pause_pipeline(command))

    async def resume(self, name: Pipeline | str, /, *, by: str | None = None, note: str | None = None) -> PipelineInfo:
        """Go on: if it was paused, and if it needed a person for something that is put right now."""
        control, command = await self._steering("resume", name, by, note)
        return pipeline_info(await control.resume_pipeline(command))

    async def run_now(self, name: Pipeline | str, /, *, by: str | None = None, note: str | None = None) -> PipelineInfo:
        """Make every producer due now. Raises WrongState while a handler is at work, or it is held by anything."""
        control, command = await self._steering("run_now", name, by, note)
        return pipeline_info(await control.run_now(command))

    async def retry(self, name: Pipeline | str, /, *, by: str | None = None, note: str | None = None) -> PipelineInfo:
        """Try the handler that stopped again, now. Raises WrongState if none has, or a person has to decide."""
        control, command = await self._steering("retry", name, by, note)
        return pipeline_info(await control.retry_pipeline(command))

    async def approve(
        self, name: Pipeline | str, /, *, run_id: str | None = None, by: str | None = None, note: str | None = None
    ) -> PipelineInfo:
        """Say yes to what it is about to do; with `run_id`, only if it is still that attempt which waits."""
        return await self._decide("approve", name, run_id=run_id, by=by, note=note)

    async def reject(
        self,
        name: Pipeline | str,
        /,
        *,
        release: bool = False,
        run_id: str | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> PipelineInfo:
        """Say no: its events are skipped, or, with `release`, given back to be prepared again."""
        return await self._decide("reject", name, run_id=run_id, by=by, note=note, releases=release)

    async def resolve(
        self,
        subject: Pipeline | str,
        resolution: ResolutionLike,
        /,
        *,
        result: Any = NOT_GIVEN,
        step: str | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> EffectInfo:
        """Say whether an effect happened, of a pipeline or of a run: by its name or id. Raises WrongState if known.

        `result` goes with "happened": what the effect would have returned. `step` says which of several of a run.
        """
        control = await self._steered("resolve")
        meant = _member(resolution, [*Resolution], what="resolution")
        subject = _name(subject)
        if result is not NOT_GIVEN and meant is not Resolution.HAPPENED:
            text = 'result goes with "happened": what the effect would have returned.'
            raise InvalidInput(text, reason="invalid_option", path="result")
        command = ResolveEffect(
            namespace=self._door.namespace,
            subject=subject,
            resolution=meant,
            result=await self._result(subject, step, result) if meant is Resolution.HAPPENED else None,
            step=None if step is None else check_step_reference(step),
            by=check_person(by),
            note=check_note(note),
        )
        return effect_info(await control.resolve_effect(command))

    async def skip_input(
        self, name: Pipeline | str, input: Input | str, /, *, by: str | None = None, note: str | None = None
    ) -> Skipped:
        """Let go of everything an input has caused that is not done."""
        control = await self._steered("skip_input")
        return await control.skip_input(
            SkipInput(
                namespace=self._door.namespace,
                pipeline=_name(name),
                input=_input_id(input),
                by=check_person(by),
                note=check_note(note),
            )
        )

    async def skip_event(
        self,
        name: Pipeline | str,
        topic: Topic[Any] | str,
        id: str,
        /,
        *,
        by: str | None = None,
        note: str | None = None,
    ) -> Skipped:
        """Let go of one event that is not done."""
        control = await self._steered("skip_event")
        return await control.skip_input(
            SkipInput(
                namespace=self._door.namespace,
                pipeline=_name(name),
                topic=check_name(topic.name if isinstance(topic, Topic) else topic, what="topic name"),
                event=check_key(id, what="id"),
                by=check_person(by),
                note=check_note(note),
            )
        )

    async def _decide(
        self,
        verb: str,
        name: Pipeline | str,
        *,
        run_id: str | None,
        by: str | None,
        note: str | None,
        releases: bool = False,
    ) -> PipelineInfo:
        control = await self._steered(verb)
        command = DecideHandler(
            namespace=self._door.namespace,
            name=_name(name),
            is_approved=verb == "approve",
            releases=check_flag(releases, what="release"),
            run_id=None if run_id is None else HandlerRunId(check_key(run_id, what="run_id")),
            by=check_person(by),
            note=check_note(note),
        )
        return pipeline_info(await control.decide_handler(command))

    async def _steering(
        self, verb: str, name: Pipeline | str, by: str | None, note: str | None
    ) -> tuple[PipelineControl, SteerPipeline]:
        control = await self._steered(verb)
        namespace = self._door.namespace
        return control, SteerPipeline(namespace=namespace, name=_name(name), by=check_person(by), note=check_note(note))

    async def _steered(self, verb: str) -> PipelineControl:
        refuse_inside_a_workflow(verb, verb=f"app.pipelines.{verb}()")
        return await self._control()

    async def _result(self, subject: str, step: str | None, result: Any) -> bytes:
        """Checked against what the effect returns, if this process knows it: what follows is given it.

        `next` of a pipeline can go on without one; a step of a run cannot, unless it may return None.
        """
        value = None if result is NOT_GIVEN else result
        service = await self._service()
        for row in await service.list_open_effects(self._door.namespace):
            if row.subject == subject and step in (None, row.step_key):
                known = self._door.registry.handlers.effect_of_name(row.name)
                if known is not None and not (result is NOT_GIVEN and row.subject_kind is SubjectKind.PIPELINE):
                    what = f"Effect {row.name!r}"
                    self._door.codec.check_arguments((value,), (known.return_type,), ("result",), what=what)
                break
        return self._door.codec.encode(value)


def _name(wanted: Pipeline | str) -> str:
    return wanted.name if isinstance(wanted, Pipeline) else check_name(wanted, what="pipeline name")


def _limit(limit: int) -> int:
    return check_limit(limit, what="limit", low=1, high=MOST_ROWS)


def _input_id(wanted: Input | str) -> InputId:
    return wanted.input_id if isinstance(wanted, Input) else InputId(check_key(wanted, what="input"))


def _member(value: object, known: builtins.list[Any], *, what: str) -> Any:
    for member in known:
        if value == member.value:
            return member
    names = ", ".join(repr(member.value) for member in known)
    raise InvalidInput(f"{what} must be one of {names}, not {shorten(value)}.", reason="invalid_option", path=what)

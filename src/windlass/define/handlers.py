"""Which topics, effects and pipelines exist in this process, by name and by function."""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from windlass.define import signature
from windlass.define.handler_definition import EffectDefinition, PipelineDefinition
from windlass.define.pipeline import Pipeline
from windlass.define.topic import Topic, check_topic, check_type
from windlass.define.workflows import Identity, identity_of
from windlass.errors import AlreadyExists, InvalidInput, NotFound
from windlass.model.pipeline import PipelineSpec
from windlass.model.worker import ServedPipeline
from windlass.rules.limits import check_name


class Handlers:
    """What one App has declared about pipelines. `tell` is called when there is something else to serve."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._topics: dict[str, Topic[Any]] = {}
        self._effects: dict[Identity, EffectDefinition] = {}
        self._pipelines: dict[str, Pipeline] = {}
        self._definitions: Mapping[str, PipelineDefinition] | None = None

    def declare_topic(self, name: str, type: Any) -> Topic[Any]:
        """Declare a topic, or answer with the one declared before. Raises AlreadyExists if that is of another type."""
        name = check_name(name, what="topic name")
        topic = Topic[Any](name, check_type(type, topic=name))
        known = self._topics.setdefault(topic.name, topic)
        if signature.type_identity(known.type) != signature.type_identity(type):
            raise AlreadyExists(
                f"Topic {topic.name!r} is declared twice: as {known!r} and as {topic!r}. Rename one.",
                reason="already_registered",
                owner=topic.name,
            )
        if known.type is not type:  # a notebook cell ran again and made its class anew
            self._topics[topic.name] = topic
        return self._topics[topic.name]

    def find_topic(self, wanted: Topic[Any] | str, *, verb: str = "publish") -> Topic[Any]:
        """The topic of that name, or that topic, which another App may have made, if it is declared here alike.

        Raises NotFound with names that look alike, InvalidInput for one that has another type here.
        """
        asked = None if isinstance(wanted, str) else check_topic(wanted, verb=verb)
        name = wanted if isinstance(wanted, str) else wanted.name
        known = self._topics.get(name)
        if known is None:
            close = [item for item in difflib.get_close_matches(name, self._topics, n=3) if item != name]
            raise NotFound("Topic", name, close=close, hint="Declare it in this App with app.topic().")
        if asked is not None and signature.type_identity(known.type) != signature.type_identity(asked.type):
            raise InvalidInput(
                f"{verb}() got {asked!r}, and this App declares {known!r}. Use the one that app.topic() gave.",
                reason="invalid_argument",
                path="topic",
            )
        return known if asked is None else asked

    def enter_effect(self, definition: EffectDefinition) -> EffectDefinition:
        """Declare or replace what was read before, and is known as a step. Its name is that of no other function."""
        identity = identity_of(definition.function)
        for other, known in tuple(self._effects.items()):
            if known.name == definition.name:  # then it is the same function, which had this name: steps see to that
                del self._effects[other]
        self._effects[identity] = definition
        return definition

    def find_effect(self, function: Callable[..., Any]) -> EffectDefinition:
        """What a function was declared as. Raises NotFound, saying how to declare it."""
        found = self.effect_or_none(function)
        if found is None:
            name = getattr(function, "__name__", type(function).__name__)
            location = signature.locate(function)
            shown = f"{name} ({location})" if location else name
            raise NotFound("Effect", name, hint=f"Declare {shown} with @app.effect.")
        return found

    def effect_or_none(self, function: object) -> EffectDefinition | None:
        return self._effects.get(identity_of(function)) if isinstance(function, types.FunctionType) else None

    def effect_of_name(self, name: str) -> EffectDefinition | None:
        """What a ledger names, if this process has it."""
        return next((item for item in self._effects.values() if item.name == name), None)

    def enter(self, pipeline: Pipeline) -> Pipeline | None:
        """Declare or replace, and answer with what was replaced. Raises AlreadyExists if the name is another one's."""
        known = self._pipelines.get(pipeline.name)
        if known is not None:
            place, other = known.place, pipeline.place
            if place.identity != other.identity or place.is_apart(other):
                raise AlreadyExists(
                    f"Pipeline {pipeline.name!r} is declared twice: at {place.location} and at {other.location}. "
                    "Rename one.",
                    reason="already_registered",
                    owner=place.location,
                )
        self._pipelines[pipeline.name] = pipeline
        self._definitions = None
        return known

    def changed(self) -> None:
        """A pipeline has another handler."""
        self._definitions = None
        self._tell()

    @property
    def pipelines(self) -> Mapping[str, PipelineDefinition]:
        """All that have handlers, by name."""
        if self._definitions is None:
            self._definitions = {
                name: pipeline.definition() for name, pipeline in self._pipelines.items() if not pipeline.is_empty
            }
        return self._definitions

    @property
    def empty(self) -> tuple[str, ...]:
        """The names of pipelines without handlers, of which nothing can become."""
        return tuple(name for name, pipeline in self._pipelines.items() if pipeline.is_empty)

    def served_pipelines(self, queues: Iterable[str]) -> tuple[ServedPipeline, ...]:
        """Those of these queues, each as it is declared here: another revision is for another worker."""
        wanted, specs = set(queues), self.pipeline_commands()
        return tuple(
            sorted(ServedPipeline(spec.queue, spec.name, spec.revision) for spec in specs if spec.queue in wanted)
        )

    def pipeline_commands(self) -> tuple[PipelineSpec, ...]:
        """What the declared pipelines ask of the engine."""
        return tuple(definition.spec for definition in self.pipelines.values())

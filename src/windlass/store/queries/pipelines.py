"""Which pipelines there are, how their handlers stand, and who uses which topic."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from windlass.model.claims import Renewal
from windlass.model.pipeline import Handler, Pipeline
from windlass.model.pipeline_commands import TopicUse
from windlass.model.run import WorkerId
from windlass.model.time import Duration, Instant
from windlass.store.pipeline_rows import HandlerValues, PipelineValues, handler_from_row, pipeline_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection, Row


class DuePipeline(NamedTuple):
    available_at: Instant
    name: str
    queue: str
    revision: str
    now: Instant


class State(Struct, frozen=True, kw_only=True):
    """What a handler keeps from run to run."""

    namespace: str
    pipeline: str
    name: str
    state: bytes | None


class _Topic(NamedTuple):
    namespace: str
    name: str
    pipeline: str
    handler: str
    is_subscribed: int


class _Held(NamedTuple):
    namespace: str
    pipeline: str
    token: int
    renew_for: Duration


class PipelineQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def lock(self, namespace: str, *, names: Iterable[str]) -> tuple[dict[str, Pipeline], Instant]:
        """Load, and keep away whoever claims, publishes to or steers them. In the order of names, before any event.

        Answers with the time behind the locks, too.
        """
        rows = await self._connection.all("lock_pipelines", namespace=namespace, names=_listed(names))
        at = max((row[-1] for row in rows), default=None)
        return _by_name(rows), await self._connection.now() if at is None else at

    async def lock_due(self, namespace: str, *, names: Iterable[str]) -> builtins.list[Pipeline]:
        """Those that are due and free."""
        rows = await self._connection.all("lock_due_pipelines", namespace=namespace, names=_listed(names))
        return [pipeline_from_row(row) for row in rows]

    async def lock_held_by(self, namespace: str, *, worker: WorkerId) -> dict[str, Pipeline]:
        return _by_name(await self._connection.all("lock_held_pipelines", namespace=namespace, worker=worker))

    async def look(self, namespace: str, *, names: Iterable[str]) -> builtins.list[DuePipeline]:
        """When those of these are due that somebody is to come for."""
        rows = await self._connection.all("look_at_pipelines", namespace=namespace, names=_listed(names))
        return [DuePipeline(*row) for row in rows]

    async def load(self, namespace: str, name: str) -> Pipeline | None:
        row = await self._connection.first("load_pipeline", namespace=namespace, name=name)
        return None if row is None else pipeline_from_row(row)

    async def list(self, namespace: str) -> builtins.list[Pipeline]:
        return [pipeline_from_row(row) for row in await self._connection.all("list_pipelines", namespace=namespace)]

    async def of_program(self, namespace: str, program: str) -> builtins.list[str]:
        rows = await self._connection.all("pipelines_of_program", namespace=namespace, program=program)
        return [row[0] for row in rows]

    async def insert(self, pipeline: Pipeline) -> bool:
        """False: there is one of that name."""
        return await self._connection.run("insert_pipeline", **vars(PipelineValues(pipeline))) == 1

    async def save(self, pipelines: Sequence[Pipeline]) -> None:
        await self._connection.batch("save_pipelines", [PipelineValues(item) for item in pipelines])

    async def renew_all(self, namespace: str, renewals: Sequence[Renewal]) -> set[str]:
        """Move the ends of claims to now + visibility, never back. Answers with the names of those that are lost."""
        rows = [_Held(namespace, item.id, item.token, item.visibility_for) for item in renewals]
        renewed = await self._connection.batch("renew_pipelines", rows)
        return {row.pipeline for ordinal, row in enumerate(rows) if ordinal not in renewed}

    async def redefine(self, pipeline: Pipeline) -> None:
        """Save what the code says about it."""
        values = vars(PipelineValues(pipeline))
        names = ("namespace", "name", "queue", "revision", "retry", "visibility_for", "has_fixer", "declared_in")
        await self._connection.run("redefine_pipeline", **{name: values[name] for name in (*names, "is_declared")})


class HandlerQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def of(self, namespace: str, *, pipelines: Iterable[str]) -> dict[str, list[Handler]]:
        """In the order they were declared, by pipeline."""
        names = _listed(pipelines)
        found: dict[str, list[Handler]] = {name: [] for name in names}
        for row in await self._connection.all("handlers_of_pipelines", namespace=namespace, names=names):
            handler = handler_from_row(row)
            found[handler.pipeline].append(handler)
        return found

    async def put(self, handlers: Sequence[Handler]) -> None:
        """What the code says about them. Their states stay."""
        await self._connection.batch("put_handlers", [HandlerValues(item) for item in handlers])

    async def save(self, handlers: Sequence[Handler]) -> None:
        await self._connection.batch("save_handlers", [HandlerValues(item) for item in handlers])

    async def save_states(self, states: Sequence[State]) -> None:
        await self._connection.batch("save_states", states)

    async def state(self, handler: Handler) -> bytes | None:
        if not handler.has_state:
            return None
        row = await self._connection.first(
            "load_state", namespace=handler.namespace, pipeline=handler.pipeline, name=handler.name
        )
        return None if row is None else row[0]

    async def subscribers(self, namespace: str, *, topics: Iterable[str]) -> dict[str, set[str]]:
        """Which pipelines subscribe to each of these topics."""
        names = _listed(topics)
        found: dict[str, set[str]] = {name: set() for name in names}
        for topic, pipeline in await self._connection.all("subscribers", namespace=namespace, names=names):
            found[topic].add(pipeline)
        return found

    async def enter_topics(self, namespace: str, *, pipeline: str, handlers: Sequence[Handler]) -> None:
        """What the handlers of a pipeline publish and subscribe to, instead of what they did before."""
        await self._connection.run("forget_topics", namespace=namespace, pipeline=pipeline)
        rows = [
            _Topic(namespace, topic, pipeline, handler.name, is_subscribed)
            for handler in handlers
            if handler.is_declared
            for topics, is_subscribed in ((handler.spec.topics, 1), (handler.spec.publishes, 0))
            for topic in topics
        ]
        await self._connection.batch("enter_topics", rows)

    async def topics(self, namespace: str) -> dict[str, list[TopicUse]]:
        found: dict[str, list[TopicUse]] = {}
        for name, pipeline, handler, is_subscribed in await self._connection.all("list_topics", namespace=namespace):
            use = TopicUse(pipeline=pipeline, handler=handler, is_subscribed=bool(is_subscribed))
            found.setdefault(name, []).append(use)
        return found


def _by_name(rows: Sequence[Row]) -> dict[str, Pipeline]:
    return {pipeline.name: pipeline for pipeline in map(pipeline_from_row, rows)}


def _listed(names: Iterable[str]) -> list[str]:
    """Sorted, because rows are locked in the order they are asked for."""
    return sorted(set(names))

"""What a generator returns: jobs to be, each the name of a workflow and its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from windlass.codec import Codec
from windlass.define.options import shorten
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput
from windlass.model.graph import Need, NewJob
from windlass.model.time import Duration
from windlass.rules.graphs import MOST_JOBS


class Spawn:
    """A job that a group returns: what `graph.spawn(…)` gives. Other spawns may name it in `needs`."""

    __slots__ = ("args", "definition", "graph", "is_cleanup", "name", "needs", "priority", "queue", "timeout_for")

    def __init__(
        self,
        *,
        graph: str,
        name: str,
        definition: WorkflowDefinition,
        args: tuple[Any, ...],
        needs: tuple[Need, ...],
        queue: str,
        priority: int,
        timeout_for: Duration | None,
        is_cleanup: bool,
    ) -> None:
        self.graph, self.name, self.definition, self.args, self.needs = graph, name, definition, args, needs
        self.queue, self.priority, self.timeout_for, self.is_cleanup = queue, priority, timeout_for, is_cleanup

    def __repr__(self) -> str:
        return f"Spawn({self.name!r}, {self.definition.name})"


def check_spawns(returned: object, *, graph: str, group: str) -> Sequence[Spawn]:
    """What a group returned, if it is what a group returns. Raises InvalidInput that names what is wrong."""
    whose = f"Group {group!r} of graph {graph!r}"
    if not isinstance(returned, (list, tuple)):
        hint = {type(None): "; return [] where there are none", Spawn: "; put it into a list"}.get(type(returned), "")
        raise _refuse(f"{whose} must return a list of {graph}.spawn(…), not {shorten(returned)}{hint}.")
    spawned = cast("Sequence[object]", returned)
    if len(spawned) > MOST_JOBS:
        text = f"{whose} returned {len(spawned):,} jobs; a graph has at most {MOST_JOBS:,}. Give each of them more."
        raise InvalidInput(text, reason="too_many", path=group)
    names: set[str] = set()
    for position, item in enumerate(spawned):
        if not isinstance(item, Spawn):
            raise _refuse(f"{whose} returned {shorten(item)} at position {position}, not {graph}.spawn(…).")
        if item.graph != graph:
            raise _refuse(f"{whose} returned {item!r} at position {position}, which belongs to graph {item.graph!r}.")
        if item.name in names:
            text = f"{whose} returned two jobs named {item.name!r}. Give every one a name of its own."
            raise InvalidInput(text, reason="duplicate_job", path=item.name)
        names.add(item.name)
    return cast("Sequence[Spawn]", spawned)


def new_job(spawn: Spawn, codec: Codec) -> NewJob:
    """As it is stored. Nothing in it is evaluated again."""
    return NewJob(
        name=spawn.name,
        workflow=spawn.definition.name,
        version=spawn.definition.version,
        queue=spawn.queue,
        priority=spawn.priority,
        input=codec.encode(spawn.args),
        needs=spawn.needs,
        is_cleanup=spawn.is_cleanup,
        timeout_for=spawn.timeout_for,
    )


def _refuse(text: str) -> InvalidInput:
    return InvalidInput(text, reason="invalid_graph")

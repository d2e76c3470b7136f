"""What was declared about what happens: which subject enters which states, and which workflow is started then."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection
from typing import Any, Literal, TypeAlias

from windlass.codec_types import is_untyped
from windlass.define.options import shorten
from windlass.define.pipeline import Pipeline
from windlass.define.workflow import Openable, WorkflowDefinition
from windlass.define.workflows import Workflows, check_workflow, refuse_result
from windlass.errors import InvalidInput
from windlass.model.item import ItemStatus
from windlass.model.pipeline import PipelineStatus
from windlass.model.run import RunStatus
from windlass.model.signal import ANY, Action, ActionKind, Firing, Trigger, TriggerKind
from windlass.rules.firing_inputs import NO_ARGUMENTS
from windlass.rules.triggers import check_states

StateLike: TypeAlias = (
    Literal["waiting", "pending", "running", "sleeping", "paused", "completed", "failed", "cancelled", "skipped"]
    | Literal["backlog", "ready", "doing", "blocked", "done"]
    | Literal["idle", "backoff", "reconciling", "fixing", "attention"]
    | RunStatus
    | ItemStatus
    | PipelineStatus
)

SUBJECTS = "a workflow, a graph, a job, a pipeline, or windlass.Item for every work item"


class EveryItem:
    """What stands for work items where a signal is declared: the class of one, or what holds all of them."""

    def _item_id(self) -> str:
        return ANY


def declared_trigger(
    subject: object, enters: StateLike | Collection[StateLike] | None, *, workflows: Workflows, verb: str
) -> Trigger | None:
    """When something enters one of these states that code can name; None: this is nothing of that.

    Raises InvalidInput for states that do not exist, NotFound for a function that is not declared.
    """
    kind, name = TriggerKind.WORKFLOW, ""
    if isinstance(subject, Pipeline):
        kind, name = TriggerKind.PIPELINE, subject.name
    elif isinstance(subject, EveryItem):
        kind, name = TriggerKind.ITEM, subject._item_id()
    elif isinstance(subject, type) and issubclass(subject, EveryItem):
        kind, name = TriggerKind.ITEM, ANY
    elif isinstance(subject, (Openable, types.FunctionType)):
        name = _name_of(subject, workflows, verb=verb)
    else:
        refuse_result(subject, verb, reason="invalid_trigger")
        return None
    return Trigger(kind=kind, subject=name, to=read_states(kind, enters))


def declared_subject(subject: object, enters: StateLike | Collection[StateLike], *, workflows: Workflows) -> Trigger:
    """What `app.on` is given. Raises InvalidInput for what code cannot name, such as one run or one work item."""
    trigger = declared_trigger(subject, enters, workflows=workflows, verb="app.on")
    if trigger is None or (trigger.kind is TriggerKind.ITEM and trigger.subject != ANY):
        raise InvalidInput(
            f"app.on takes {SUBJECTS}, not {shorten(subject)}. For one run, one item or a time: await app.when(…).",
            reason="invalid_trigger",
            path="subject",
        )
    return trigger


def read_states(kind: TriggerKind, enters: StateLike | Collection[StateLike] | None) -> tuple[str, ...]:
    """One state or several, as they stand in a trigger. Raises InvalidInput with the list of those that there are."""
    given: object = () if enters is None else enters
    states = [given] if isinstance(given, str) else given
    if not isinstance(states, Collection) or not all(isinstance(state, str) for state in states):
        raise InvalidInput(
            f"enters takes a state or several, not {shorten(given)}: enters='failed', or {{'failed', 'cancelled'}}.",
            reason="invalid_trigger",
            path="enters",
        )
    return check_states(kind, [str(state) for state in states], what="enters")


def takes_firing(type: Any) -> bool:
    """May a parameter of this type be given a firing?"""
    if type is Firing or is_untyped(type):
        return True
    is_union = typing.get_origin(type) in (typing.Union, types.UnionType)
    return is_union and Firing in typing.get_args(type)


def start_action(definition: WorkflowDefinition, *, instead: str) -> Action:
    """Start it with the firing, if it takes one, or with nothing. Raises InvalidInput if it wants anything else."""
    names, kinds = definition.argument_names, definition.argument_types
    if definition.required > 1 or (names and not takes_firing(kinds[0])):
        wanted = ", ".join(names[: max(definition.required, 1)])
        raise InvalidInput(
            f"{definition.kind} {definition.name!r} ({definition.location}) takes {wanted}, and a signal hands over "
            f"the firing: async def {definition.function.__name__}(ctx, firing: windlass.Firing). {instead}",
            reason="invalid_workflow",
            path="start",
        )
    return Action(
        kind=ActionKind.START,
        workflow=definition.name,
        version=definition.version,
        queue=definition.queue,
        timeout_for=definition.timeout_for,
        input=None if names else NO_ARGUMENTS,
    )


def _name_of(subject: Openable | types.FunctionType, workflows: Workflows, *, verb: str) -> str:
    """By which name the runs of a workflow, graph or job are known."""
    function = check_workflow(subject, verb)
    as_jobs = sorted({job.name for job in workflows.jobs_of(function)})
    if not as_jobs or workflows._declared_as(function) is not None:
        return workflows.find_workflow(function, verb=verb).name
    if len(as_jobs) > 1:
        raise InvalidInput(
            f"{function.__name__} is several jobs, {', '.join(as_jobs)}, and {verb}() watches one. "
            "Give each of them a function of its own.",
            reason="invalid_trigger",
            path="subject",
        )
    return as_jobs[0]

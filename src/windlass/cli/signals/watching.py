"""What is to be watched, as it is typed: an item, a run, a workflow, a pipeline, or a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click
from msgspec import Struct

from windlass.assembly import Opened
from windlass.cli import lookup
from windlass.cli.items.names import ITEM, find_item_id
from windlass.cli.pipelines.names import check_pipeline, known
from windlass.cli.session import Session, Text
from windlass.cli.values import Moment, Span
from windlass.errors import InvalidInput
from windlass.model.duration import MAX_DURATION, to_duration, to_instant
from windlass.model.run import Run, RunKind
from windlass.model.signal import ANY, Trigger, TriggerKind
from windlass.model.time import Instant
from windlass.rules.limits import check_name
from windlass.rules.triggers import check_states

Command = TypeVar("Command", bound=Callable[..., Any])

ANY_ITEM = ("any", ANY)
SUBJECTS = ("item", "run", "workflow", "pipeline", "at", "every")
KINDS = {RunKind.GRAPH: TriggerKind.GRAPH, RunKind.JOB: TriggerKind.JOB, RunKind.GROUP: TriggerKind.JOB}


class Watched(Struct, frozen=True, kw_only=True):
    """What was typed; exactly one of these is given."""

    item: str | None
    run: str | None
    workflow: str | None
    pipeline: str | None
    at: datetime | None
    every: str | None
    enters: tuple[str, ...]

    @property
    def kind(self) -> TriggerKind:
        """What the states are checked by; a job and a graph have those of a run."""
        if self.item is not None:
            return TriggerKind.ITEM
        if self.run is not None:
            return TriggerKind.RUN
        if self.workflow is not None:
            return TriggerKind.WORKFLOW
        return TriggerKind.TIME if self.pipeline is None else TriggerKind.PIPELINE


def check_item(text: str) -> str:
    return ANY if text in ANY_ITEM else ITEM.check(text)


def check_workflow(name: str) -> str:
    return check_name(name, what="workflow")


def watched_options(command: Command) -> Command:
    """Add what may be watched, of which exactly one is to be given, and --enters."""
    for option in (
        enters_option,
        click.option("--every", type=Span(allow_zero=False), help='So often: "10m", "1h30m", "7d".'),
        click.option("--at", type=Moment(), help="Then, once: 2030-05-01T12:00:00Z."),
        click.option("--pipeline", type=Text(check_pipeline), metavar="NAME", help="This pipeline."),
        click.option("--workflow", type=Text(check_workflow), metavar="NAME", help="Every run of it."),
        click.option("--run", type=Text(lookup.check_meant), metavar="RUN", help="This run, or GRAPH/JOB."),
        click.option("--item", type=Text(check_item), metavar="ITEM", help='This work item, or "any".'),
    ):
        command = option(command)
    return command


def enters_option(command: Command) -> Command:
    return click.option(
        "--enters", type=Text(), multiple=True, metavar="STATE", help="The state it enters; several with commas."
    )(command)


def read_watched(given: dict[str, Any], *, now: Instant) -> Watched:
    """Raises UsageError."""
    watched = Watched(**{name: given[name] for name in SUBJECTS}, enters=split_states(given["enters"]))
    if sum(given[name] is not None for name in SUBJECTS) != 1:
        raise click.UsageError(
            "Say what to watch: --item ITEM, --run RUN, --workflow NAME, --pipeline NAME, --at TIME or --every "
            "DURATION, and one of them only."
        )
    if watched.kind is TriggerKind.TIME:
        if watched.enters:
            raise click.UsageError("A time enters no state: leave --enters out.")
        if watched.at is not None and to_instant(watched.at) - now > MAX_DURATION:
            raise click.UsageError(f"{watched.at.isoformat()} is more than 10 years ahead.")
        return watched
    check_typed_states(watched.kind, watched.enters)
    return watched


def split_states(typed: Sequence[str]) -> tuple[str, ...]:
    """--enters done,failed is --enters done --enters failed."""
    return tuple(state.strip().lower() for text in typed for state in text.split(",") if state.strip())


def check_typed_states(kind: TriggerKind, states: Sequence[str]) -> tuple[str, ...]:
    """Raises UsageError with the states there are."""
    try:
        return check_states(kind, states)
    except InvalidInput as refused:
        text = str(refused).removeprefix("Invalid trigger, to ")
        raise click.UsageError("Say when, with --enters: " + text.removeprefix("of type list: ")) from None


async def make_trigger(session: Session, opened: Opened, watched: Watched) -> Trigger:
    """With the beginning of an id made whole. Raises NotFound."""
    namespace, to = session.namespace, watched.enters
    if watched.item is not None:
        subject = watched.item
        if subject != ANY:
            subject = await find_item_id(opened.items, subject, namespace=namespace)
        return Trigger(kind=TriggerKind.ITEM, subject=subject, to=to)
    if watched.run is not None:
        run = (await lookup.find(opened.runs, watched.run, key=None, namespace=namespace)).run
        return Trigger(kind=kind_of(run), subject=run.id, to=to)
    if watched.pipeline is not None:
        await known(opened.pipelines, watched.pipeline, namespace=namespace)
        return Trigger(kind=TriggerKind.PIPELINE, subject=watched.pipeline, to=to)
    if watched.workflow is not None:
        return Trigger(kind=TriggerKind.WORKFLOW, subject=watched.workflow, to=to)
    if watched.at is not None:
        return Trigger(kind=TriggerKind.TIME, at=to_instant(watched.at))
    assert watched.every is not None
    return Trigger(kind=TriggerKind.TIME, every=to_duration(watched.every))


def kind_of(run: Run) -> TriggerKind:
    return KINDS.get(run.kind, TriggerKind.RUN)

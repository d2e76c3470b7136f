"""What is to be paused or resumed: one run, pipeline or signal, or everything behind a gate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from msgspec import Struct

from windlass.api.service import Runs
from windlass.cli.hints import nearest, served_now
from windlass.cli.pipelines.names import subject_arguments
from windlass.cli.session import Session, Text
from windlass.cli.terminal import escape
from windlass.model.gate import GateKind
from windlass.rules.limits import check_name, check_queue

Command = TypeVar("Command", bound=Callable[..., Any])


class Target(Struct, frozen=True, kw_only=True):
    """A run by its id or key, a pipeline by its name, a signal by its id, or a gate."""

    run: str | None = None  # or a pipeline, or a signal
    key: str | None = None
    gate: GateKind | None = None
    name: str = ""  # of the gate


def target_arguments(command: Command) -> Command:
    """Add RUN|PIPELINE|SIGNAL, --key, --workflow, --queue and --all, of which exactly one is to be given."""
    for option in (
        click.option("--all", "is_all", is_flag=True, help="Everything in the namespace."),
        click.option("--queue", type=Text(check_queue), help="All runs in this queue."),
        click.option("--workflow", type=Text(_check_workflow), help="All runs of this workflow."),
    ):
        command = option(command)
    return subject_arguments(command, metavar="[RUN|PIPELINE|SIGNAL]")


def read_target(session: Session, given: dict[str, Any]) -> Target:
    """The one target that was named. Raises UsageError for none and for several."""
    run, key, workflow, queue, is_all = (given[name] for name in ("run", "key", "workflow", "queue", "is_all"))
    if sum([run is not None, key is not None, workflow is not None, queue is not None, is_all]) != 1:
        raise click.UsageError("Name one: RUN, PIPELINE, SIGNAL, --key KEY, --workflow NAME, --queue NAME or --all.")
    if workflow is not None:
        return Target(gate=GateKind.WORKFLOW, name=workflow)
    if queue is not None:
        return Target(gate=GateKind.QUEUE, name=queue)
    if is_all:
        return Target(gate=GateKind.NAMESPACE, name=session.namespace)
    return Target(run=run, key=key)


def gate_words(kind: GateKind, name: str) -> str:
    """A gate as a sentence names it."""
    return f"{kind.value} {escape(repr(name))}"


def gate_option(kind: GateKind, name: str) -> str:
    """A gate as it is typed."""
    return "--all" if kind is GateKind.NAMESPACE else f"--{kind.value} {name}"


async def warn_if_unserved(session: Session, runs: Runs, target: Target) -> None:
    """A gate may be closed before the first worker comes; but a name that nobody serves may be a slip."""
    if target.gate is GateKind.NAMESPACE:
        return
    lanes = await served_now(runs, namespace=session.namespace, now=session.now())
    known: Iterable[str] = {lane.queue if target.gate is GateKind.QUEUE else lane.name for lane in lanes}
    if known and target.name not in known:
        verb = "serves queue" if target.gate is GateKind.QUEUE else "runs workflow"
        session.warn(f"No live worker {verb} {target.name!r}.{nearest(target.name, known)}")


def _check_workflow(name: str) -> str:
    return check_name(name, what="workflow")

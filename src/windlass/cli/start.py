"""`windlass start MODULE:APP WORKFLOW [ARGUMENT]…`: store a run, and wait for its result if asked to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import UnionType
from typing import Any, Union, get_args, get_origin

import click
from rich.text import Text as Line

from windlass.app import App
from windlass.assembly import Opened
from windlass.cli import graph_page, payloads, records
from windlass.cli.apps import check_target, door_of, take_app
from windlass.cli.hints import nearest, served_now, waits_for_now
from windlass.cli.session import OpenEngine, Session, Text, shared_options
from windlass.cli.values import Json, Moment, Span, Value
from windlass.client.client import Client
from windlass.client.graphs import GraphResult
from windlass.client.handle import Handle
from windlass.codec import Codec
from windlass.define.options import shorten
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput, NotAllowed
from windlass.model.run import HIGHEST_PRIORITY, LOWEST_PRIORITY, RunId
from windlass.rules.limits import check_key, check_queue

PRIORITIES = click.IntRange(LOWEST_PRIORITY, HIGHEST_PRIORITY)


@click.command(short_help="Start a run of a workflow.")
@click.argument("target", metavar="MODULE:APP", type=Text(check_target))
@click.argument("workflow", metavar="WORKFLOW", type=Text())
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1, type=Json())
@click.option("--key", type=Text(check_key), help="The same key with the same arguments is the same run.")
@click.option("--delay", type=Span(), help='Begin after this long: "90s", "1h30m".')
@click.option("--at", type=Moment(), help="Begin at this time: 2030-05-01T12:00:00Z.")
@click.option("--priority", type=PRIORITIES, metavar="NUMBER", help="Higher goes first.")
@click.option("--queue", type=Text(check_queue), help="Another queue than the workflow's own.")
@click.option("--timeout", type=Span(allow_zero=False), help="How long the whole run may take.")
@click.option("--wait", "is_waiting", is_flag=True, help="Wait for the result, and print it.")
@shared_options
@click.pass_obj
def start(
    session: Session, /, target: str, workflow: str, arguments: tuple[Value, ...], *, is_waiting: bool, **options: Any
) -> None:
    """Start a run of a workflow and print its id. Somebody has to serve it: windlass worker.

    MODULE is imported from the current folder. An ARGUMENT is a JSON value, such as 7 or '{"id": 7}'. A word that is
    not JSON is taken as text, and so is everything where the workflow declares str. What begins with a dash goes
    behind a "--" of its own.
    """
    if options["delay"] is not None and options["at"] is not None:
        raise click.UsageError("Give --delay or --at, not both.")
    app = take_app(session, target)
    if session.location.target == ":memory:":
        raise NotAllowed(f"{target} keeps its runs in memory: this one would be gone when the command ends.")
    definition = app._registry.find_workflow(workflow)
    given = typed(definition, arguments)

    async def begin(open: OpenEngine) -> None:
        handle = await Client(door_of(app, open, session)).start(definition, given, options)
        opened = await open()
        if options["queue"] is not None:
            await _warn_if_unknown(session, opened, app, queue=options["queue"])
        await _tell(session, opened, handle, is_waiting=is_waiting)

    session.change_later(begin)


def typed(definition: WorkflowDefinition, arguments: Sequence[Value]) -> list[Any]:
    """What was typed, as the workflow declares it."""
    types = [*definition.argument_types, *([Any] * len(arguments))]  # too many are refused by the start itself
    values = [value.typed(type) for value, type in zip(arguments, types, strict=False)]
    for name, type, value in zip(definition.argument_names, types, values, strict=False):
        if isinstance(value, str) and _wants_a_time(type):
            raise InvalidInput(
                f"Workflow {definition.name!r}: {name!r} is a date and time with its zone, such as "
                f"2030-01-01T12:00:00Z, and {shorten(value)} is none.",
                reason="invalid_argument",
                path=f"$.{name}",
            )
    return values


def _wants_a_time(type: Any) -> bool:
    """A date and time, and nothing that a text could be."""
    choices = get_args(type) if get_origin(type) in (Union, UnionType) else (type,)
    return datetime in choices and str not in choices


async def _warn_if_unknown(session: Session, opened: Opened, app: App, *, queue: str) -> None:
    """A misspelled queue is not an error, since a worker may come; but nobody should wait for ever without a word."""
    lanes = await served_now(opened.runs, namespace=session.namespace, now=session.now())
    known = {lane.queue for lane in lanes} | {definition.queue for definition in app._registry.workflows}
    if queue not in known:
        session.warn(f"No live worker serves queue {queue!r}, and no workflow declares it.{nearest(queue, known)}")


async def _tell(session: Session, opened: Opened, handle: Handle[Any], *, is_waiting: bool) -> None:
    screen = session.screen
    if not session.is_json:
        screen.write(f"{handle.id}\n")  # before the wait: whoever interrupts it has the id
    result = await handle.result() if is_waiting else None
    if session.is_json:
        view = await opened.runs.get_run(session.namespace, RunId(handle.id))
        record = records.view(view, waits_for=await waits_for_now(opened.runs, view, now=session.now()))
        if isinstance(result, GraphResult):
            jobs = await graph_page.read_jobs(opened.graphs, session.namespace, view.run.id)
            graph = await opened.graphs.get_graph(session.namespace, view.run.id)
            record |= graph_page.record(graph, jobs, {}, now=session.now())
        elif is_waiting:  # as the program reads it, also where its own codec has sealed it
            record["output"] = records.payload(Codec().encode(result))
        screen.write_json(record)
    elif isinstance(result, GraphResult):
        skipped = f", {result.skipped:,} skipped" if result.skipped else ""
        screen.write(f"{result.completed:,} of {result.jobs:,} job{'s' * (result.jobs != 1)} completed{skipped}\n")
    elif is_waiting:
        screen.write(screen.draw_whole(*(Line(line) for line in payloads.laid_out(result, width=screen.width))))

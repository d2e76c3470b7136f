"""What a signal is to do, as it is typed: start a workflow, send an event, note a task, or only say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec import Struct
from msgspec.structs import replace

from windlass.app import App
from windlass.assembly import Opened
from windlass.cli import lookup
from windlass.cli.apps import check_target
from windlass.cli.hints import served_now, unserved
from windlass.cli.session import Session, Text
from windlass.cli.signals.watching import check_workflow
from windlass.cli.start import typed
from windlass.cli.values import Json, Span, Value
from windlass.codec import Codec
from windlass.define.signal import start_action
from windlass.define.starting import check_arguments
from windlass.errors import InvalidInput
from windlass.model.duration import to_duration
from windlass.model.signal import Action, ActionKind
from windlass.rules.items import check_title
from windlass.rules.limits import check_name, check_queue

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_QUEUE = "default"
DEEDS = ("start", "send", "task")
ONLY_OF_START = ("queue", "timeout")


class Doing(Struct, frozen=True, kw_only=True):
    """What was typed; at most one of the first three is given."""

    start: str | None
    send: str | None  # RUN:EVENT
    task: str | None
    is_silent: bool  # do nothing but say so
    arguments: tuple[Value, ...]
    has_no_arguments: bool
    queue: str | None
    timeout: str | None
    payload: Value | None


def _check_task(title: str) -> str:
    return check_title(title, what="task")


def check_sending(text: str) -> str:
    run, colon, event = text.partition(":")
    if not colon:
        message = f"{text[:60]!a} is not RUN:EVENT, such as run_01J…:paid."
        raise InvalidInput(message, reason="invalid_option", path="--send")
    return f"{lookup.check_meant(run)}:{check_name(event, what='event name')}"


def doing_options(command: Command) -> Command:
    """Add what may be done, of which one is to be given, and what is handed to it."""
    for option in (
        click.option(
            "--app", "target", metavar="MODULE:APP", type=Text(check_target), help="Check and seal by this app."
        ),
        click.option("--timeout", type=Span(allow_zero=False), help="How long a run that is started may take."),
        click.option("--queue", type=Text(check_queue), help="Of runs that are started.  [default: default]"),
        click.option("--payload", type=Json(), help="Handed to what is done, in JSON."),
        click.option("--no-arguments", "has_no_arguments", is_flag=True, help="Start it without the firing."),
        click.option("--only-say", "is_silent", is_flag=True, help="Do nothing but announce it."),
        click.option("--task", type=Text(_check_task), metavar="TITLE", help="Note this task for the work item."),
        click.option("--send", type=Text(check_sending), metavar="RUN:EVENT", help="Send this event to that run."),
        click.option("--start", type=Text(check_workflow), metavar="WORKFLOW", help="Start a run of this workflow."),
    ):
        command = option(command)
    return click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1, type=Json())(command)


def read_doing(given: dict[str, Any]) -> Doing:
    """Raises UsageError for what does not go together."""
    doing = Doing(**{name: given[name] for name in Doing.__struct_fields__})
    if sum([*(given[name] is not None for name in DEEDS), doing.is_silent]) > 1:
        raise click.UsageError("Say one thing to do: --start WORKFLOW, --send RUN:EVENT, --task TITLE or --only-say.")
    if doing.task is not None and given["item"] is None:
        raise click.UsageError("--task notes a task for a work item: watch one with --item.")
    if doing.start is None:
        if doing.arguments:
            first = doing.arguments[0].text
            raise click.UsageError(f"{first[:60]!a} is an argument of a workflow, and none is started: see --start.")
        for name in ONLY_OF_START:
            if given[name] is not None:
                raise click.UsageError(f"--{name} is of runs that are started: see --start.")
        if doing.has_no_arguments:
            raise click.UsageError("--no-arguments is of runs that are started: see --start.")
    if doing.arguments and doing.has_no_arguments:
        raise click.UsageError("Give arguments or --no-arguments, not both.")
    if doing.payload is not None and (doing.arguments or doing.has_no_arguments):
        raise click.UsageError("--payload is handed over with the firing, and the workflow is started without that.")
    return doing


async def make_action(session: Session, opened: Opened, doing: Doing, *, app: App | None) -> Action | None:
    """None: what is usual for what is watched."""
    codec = Codec() if app is None else app._codec
    if doing.start is not None:
        return _starting(doing.start, doing, app=app, codec=codec)
    if doing.send is not None:
        run_text, _, event = doing.send.partition(":")
        run = (await lookup.find(opened.runs, run_text, key=None, namespace=session.namespace)).run
        hashed = b"" if doing.payload is None else codec.encode_hashed(doing.payload.value)[1]
        return Action(kind=ActionKind.SEND, run_id=run.id, event=event, payload_hash=hashed)
    if doing.task is not None:
        return Action(kind=ActionKind.TASK, title=doing.task)
    return Action() if doing.is_silent else None


async def warn_if_unserved(session: Session, opened: Opened, action: Action) -> None:
    """Runs that nobody takes may be a slip; or a worker comes later."""
    if action.kind is not ActionKind.START:
        return
    lanes = await served_now(opened.runs, namespace=session.namespace, now=session.now())
    slip = unserved(lanes, workflow=action.workflow, version=action.version, queue=action.queue)
    if slip is not None:
        session.warn(slip)


def _starting(name: str, doing: Doing, *, app: App | None, codec: Codec) -> Action:
    """With the version, queue and time-out that the app declares, if there is one."""
    definition = None if app is None else app._registry.find_workflow(name)
    action = Action(kind=ActionKind.START, workflow=name, queue=DEFAULT_QUEUE)
    has_own = bool(doing.arguments) or doing.has_no_arguments
    if definition is not None and not has_own:
        action = start_action(definition, instead="Or give it ARGUMENTs of its own.")
    elif definition is not None:
        given = typed(definition, doing.arguments)
        check_arguments(definition, given, codec=codec, call=f"windlass signals create --start {name} …")
        action = replace(
            action,
            version=definition.version,
            queue=definition.queue,
            timeout_for=definition.timeout_for,
            input=codec.encode(tuple(given)),
        )
    elif has_own:
        action = replace(action, input=codec.encode(tuple(value.value for value in doing.arguments)))
    return replace(
        action,
        queue=doing.queue or action.queue,
        timeout_for=action.timeout_for if doing.timeout is None else to_duration(doing.timeout),
    )

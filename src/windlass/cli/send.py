"""`windlass send RUN EVENT PAYLOAD`: put an event into a run's inbox."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.text import Text as Line

from windlass.api.service import Runs
from windlass.cli import lookup
from windlass.cli.apps import check_target, door_of, take_app
from windlass.cli.hints import nearest
from windlass.cli.session import OpenEngine, Session, Text, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import Json, Value
from windlass.client.handle import Door, Handle
from windlass.codec import Codec
from windlass.errors import InvalidInput
from windlass.model.commands import SendEvent
from windlass.model.run import Run
from windlass.model.step import StepKind, StepStatus
from windlass.rules.limits import check_key, check_name


def _check_id(text: str) -> str:
    return check_key(text, what="id")


@click.command(short_help="Send an event to a run.")
@click.argument("words", metavar="RUN EVENT PAYLOAD", nargs=-1, required=True, type=Text())
@click.option("--key", type=Text(check_key), help="The run that was started with this key, in place of RUN.")
@click.option("--id", "message_id", type=Text(_check_id), help="The same id again is the same event.")
@click.option("--app", "target", metavar="MODULE:APP", type=Text(check_target), help="Check name and payload by it.")
@shared_options
@click.pass_obj
def send(
    session: Session, /, words: tuple[str, ...], key: str | None, *, message_id: str | None, target: str | None
) -> None:
    """Send an event to a run, which keeps it until it is received, once.

    RUN is the id of a run or the beginning of it, or GRAPH/JOB. PAYLOAD is a JSON value, or a word that is taken as
    text; null if the event has none. Without --app it is stored as it is, whatever the program expects.
    """
    run, event, payload = _told_apart(words, key=key)
    app = None if target is None else take_app(session, target)
    session.refuse_missing_file()

    async def deliver(open: OpenEngine) -> tuple[Run, str, bool]:
        opened = await open()
        found = (await lookup.find(opened.runs, run, key=key, namespace=session.namespace)).run
        id = message_id or opened.ids.message()
        if app is not None:
            return found, id, await _send_checked(door_of(app, open, session), found, event, payload, id)
        awaited = await _awaited(opened.runs, found)
        stored, hashed = Codec().encode_hashed(payload.value)
        sent = await opened.control.send_event(
            SendEvent(
                namespace=session.namespace,
                run_id=found.id,
                event=event,
                id=id,
                payload=stored,
                payload_hash=hashed,
            )
        )
        if awaited and event not in awaited:
            session.warn(f"Run {found.id} does not wait for {event!r} now.{nearest(event, awaited)}")
        return found, id, not sent.is_repeat

    found, id, is_new = session.change_later(deliver)
    if session.is_json:
        record = {"id": found.id, "workflow": found.name, "event": event, "message": id, "is_repeat": not is_new}
        session.screen.write_json(record)
        return
    what = "sent to" if is_new else "was sent before to"
    session.screen.write(session.screen.draw_whole(Line(f"{event} {what} {found.id} ({escape(found.name)}).")))


def _told_apart(words: Sequence[str], *, key: str | None) -> tuple[str | None, str, Value]:
    """Which word is what: with --key there is no RUN in front."""
    if key is not None and lookup.RUN.is_meant(words[0]):  # it would be taken for the event
        lookup.check_one_given(words[0], key=key)
    needed = 2 if key is not None else 3
    if len(words) != needed:
        text = "EVENT PAYLOAD behind --key KEY" if key is not None else "RUN EVENT PAYLOAD, or --key KEY for RUN"
        raise click.UsageError(f"Name a run, an event and its payload, null if it has none: {text}.")
    *runs, event, payload = words
    if payload == "PAYLOAD":  # typed as it was advised
        raise click.UsageError("PAYLOAD stands for what the event brings, in JSON: 12, or null if that is nothing.")
    try:
        run = lookup.check_meant(runs[0]) if runs else None
        return run, check_name(event, what="event name"), Json().convert(payload, None, None)
    except InvalidInput as refused:
        raise click.UsageError(str(refused)) from None


async def _send_checked(door: Door, run: Run, event: str, payload: Value, id: str) -> bool:
    declared = door.registry.find_event(event)
    handle = Handle[object](door, run_id=run.id, is_known=True)
    return await handle.send(declared, payload.typed(declared.type), id=id)


async def _awaited(runs: Runs, run: Run) -> set[str]:
    """The events a run waits for now."""
    return {
        step.awaits
        for step in await runs.list_steps(run.namespace, run.id)
        if step.kind is StepKind.EVENT and step.status is StepStatus.WAITING and not step.is_dropped and step.awaits
    }

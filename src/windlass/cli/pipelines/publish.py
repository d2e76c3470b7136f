"""`windlass publish TOPIC [PAYLOAD] --id ID`: give an event to every pipeline that takes from a topic."""

from __future__ import annotations

import click
from rich.text import Text as Line

from windlass.assembly import Opened
from windlass.cli.hints import nearest
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import Json, Value
from windlass.codec import Codec
from windlass.errors import InvalidInput
from windlass.model.pipeline_commands import Publish, Published
from windlass.rules.limits import check_key, check_name


def check_topic(name: str) -> str:
    return check_name(name, what="topic")


def check_event(id: str) -> str:
    return check_key(id, what="id")


@click.command(short_help="Publish an event to a topic.")
@click.argument("topic", metavar="TOPIC", type=Text(check_topic))
@click.argument("payload", metavar="[PAYLOAD]", type=Json(), required=False)
@click.option("--id", "event", type=Text(check_event), required=True, help="The same id again replaces the payload.")
@shared_options
@click.pass_obj
def publish(session: Session, /, topic: str, payload: Value | None, *, event: str) -> None:
    """Publish an event to a topic: every pipeline that takes from it gets its own.

    PAYLOAD is a JSON value, or a word that is taken as text; null if it is left out. It is stored as it is, whatever
    the program expects. The same id again is the same event: its payload is replaced, and what was done stays done.
    """
    if payload is not None and not payload.text.strip():  # a variable of a script that is not set, as a rule
        message = f"{payload.text!r} is no JSON. Leave PAYLOAD out for null; an empty text is '\"\"'."
        raise click.BadParameter(message, param_hint="PAYLOAD")
    data = Codec().encode(None if payload is None else payload.value)

    async def give(opened: Opened) -> Published:
        command = Publish(namespace=session.namespace, topic=topic, id=event, payload=data)
        published = await opened.pipelines.publish(command)
        if not published.pipelines:
            known = {item.name for item in await opened.pipelines.list_topics(session.namespace)}
            message = f"No pipeline takes from topic {topic!r}: nothing was published.{nearest(topic, known - {topic})}"
            raise InvalidInput(message, reason="no_subscriber", path="TOPIC")
        return published

    found = session.change(give)
    if session.is_json:
        record = {"topic": topic, "id": event, "pipelines": found.pipelines, "is_repeat": found.is_repeat}
        session.screen.write_json(record)
        return
    who = "1 pipeline" if found.pipelines == 1 else f"{found.pipelines:,} pipelines"
    what = f"was known to {who}; its payload is replaced" if found.is_repeat else f"published to {who}"
    session.screen.write(session.screen.draw_whole(Line(f"{escape(topic)} {escape(event)} {what}.")))

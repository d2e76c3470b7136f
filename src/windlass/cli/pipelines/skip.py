"""`windlass skip PIPELINE`: let go of an input, or of one event."""

from __future__ import annotations

import click
from rich.text import Text as Line

from windlass.assembly import Opened
from windlass.cli.pipelines.names import find_input, known, pipeline_argument
from windlass.cli.pipelines.publish import check_event, check_topic
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import by_option, note_option, person
from windlass.model.pipeline import Pipeline, PipelineStatus
from windlass.model.pipeline_commands import SkipInput, Skipped
from windlass.rules.steered import UNDECIDED


@click.command(short_help="Let go of an input of a pipeline, or of one event.")
@pipeline_argument
@click.option("--input", "given", type=Text(), metavar="ID", help="All that this input has caused, and is not done.")
@click.option("--topic", type=Text(check_topic), help="With --event: where it is.")
@click.option("--event", type=Text(check_event), metavar="ID", help="One event.")
@by_option
@note_option
@shared_options
@click.pass_obj
def skip(session: Session, /, name: str, given: str | None, **said: str | None) -> None:
    """Let go of what an input has caused and is not done, or of one event: it is never taken up again.

    What is at work with it is broken off, unless its effect has happened, or was rejected: that goes on to its end.
    Refused while nobody knows whether it did. An input is named by its id, or by what it is called outside.
    """
    topic, event = said["topic"], said["event"]
    if (given is None) == (topic is None) or (topic is None) != (event is None):
        raise click.UsageError("Name what to skip: --input ID, or --topic TOPIC with --event ID.")

    async def let_go(opened: Opened) -> tuple[Skipped, Pipeline]:
        await known(opened.pipelines, name, namespace=session.namespace)
        input = None
        if given is not None:
            input = await find_input(opened.pipelines, name, given, namespace=session.namespace)
        command = SkipInput(
            namespace=session.namespace,
            pipeline=name,
            input=input,
            topic=topic,
            event=event,
            by=person(said["by"]),
            note=said["note"],
        )
        found = await opened.pipeline_control.skip_input(command)
        return found, (await known(opened.pipelines, name, namespace=session.namespace)).view.pipeline

    found, pipeline = session.change(let_go)
    if session.is_json:
        record = {"pipeline": name, "skipped": found.skipped, "aborted": found.aborted, "finishing": found.finishing}
        session.screen.write_json(record)
        return
    told = _told(found, name)
    if found.skipped and pipeline.status is PipelineStatus.ATTENTION and pipeline.issue not in UNDECIDED:
        told += f" It still stands where it stopped. Let it go on: {session.advise(f'windlass retry {name}')}"
    session.screen.write(session.screen.draw_whole(Line(told)))


def _told(found: Skipped, name: str) -> str:
    if not found.skipped and not found.finishing:
        return f"Nothing was left to skip in pipeline {escape(name)}."
    where = f"of pipeline {escape(name)}"
    parts = [f"{_events(found.skipped)} {where} skipped."] if found.skipped else []
    if found.aborted is not None:
        parts.append(f"{found.aborted}, which was at it, is broken off.")
    if found.finishing:
        them, are = ("it", "is") if found.finishing == 1 else ("them", "are")
        why = f"what was to be done about {them} is done, or was rejected, and that is brought to its end"
        parts.append(f"{_events(found.finishing)} {where} {are} not skipped: {why}.")
    return " ".join(parts)


def _events(count: int) -> str:
    return "1 event" if count == 1 else f"{count:,} events"

"""Which pipeline is meant, or is it a run? And which of its inputs?"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec import Struct

from windlass.api.service import Pipelines
from windlass.cli import lookup
from windlass.cli.session import Text
from windlass.errors import InvalidInput, NotFound
from windlass.model.pipeline import Input, InputId
from windlass.model.pipeline_commands import ListInputs, PipelineDetail
from windlass.rules.limits import check_key, check_name

Command = TypeVar("Command", bound=Callable[..., Any])

ATTEMPT, INPUT = "hrn_", "inp_"
ID_LENGTH = 30
SLIP = re.compile("run_([0-9]|$)")  # begins as an id does, and is none: a finger slipped
MOST_LOOKED_AT = 500  # inputs, by what they are called outside
SHOWN = 4


class Meant(Struct, frozen=True, kw_only=True):
    """A pipeline, or what may be a run."""

    pipeline: PipelineDetail | None = None
    run: str | None = None  # as `lookup.find` takes it


def check_subject(text: str) -> str:
    """What may be a run, or the name of a pipeline; as it was typed."""
    if _may_be_run(text):
        return text
    if SLIP.match(text):
        return lookup.check_meant(text)  # which says what an id is
    try:
        return check_pipeline(text)
    except InvalidInput:
        message = f"{text[:60]!a} is no run id, which begins with run_, and cannot be the name of a pipeline."
        raise InvalidInput(message, reason="invalid_id", path="RUN") from None


def check_pipeline(name: str) -> str:
    return check_name(name, what="pipeline")


def pipeline_argument(command: Command) -> Command:
    return click.argument("name", metavar="PIPELINE", type=Text(check_pipeline))(command)


def subject_arguments(command: Command, *, metavar: str = "RUN|PIPELINE") -> Command:
    """Add RUN|PIPELINE and --key, of which exactly one is to be given."""
    command = click.option("--key", type=Text(check_key), help="The run that was started with this key.")(command)
    return click.argument("run", metavar=metavar, type=Text(check_subject), required=False)(command)


def check_one_given(subject: str | None, *, key: str | None) -> None:
    if (subject is None) == (key is None):
        raise click.UsageError(
            "Name one run or pipeline: an id, the beginning of one, GRAPH/JOB, a name, or --key KEY."
        )


async def meant(pipelines: Pipelines, subject: str | None, *, namespace: str) -> Meant:
    """A pipeline of exactly this name, else a run. Raises NotFound for what can be neither.

    What begins with run_ and looks like an id is always a run: whoever names a pipeline like that has another way.
    """
    if subject is None:
        return Meant()
    is_run = _may_be_run(subject)
    if is_run and ("/" in subject or subject.startswith("run_")):
        return Meant(run=lookup.check_meant(subject))
    try:
        return Meant(pipeline=await pipelines.get_pipeline(namespace, subject))
    except NotFound:
        if is_run:
            return Meant(run=lookup.check_meant(subject))
        raise await _unknown(pipelines, subject, namespace=namespace, is_subject=True) from None


async def known(pipelines: Pipelines, name: str, *, namespace: str) -> PipelineDetail:
    """Raises NotFound with the names that look alike."""
    try:
        return await pipelines.get_pipeline(namespace, name)
    except NotFound:
        raise await _unknown(pipelines, name, namespace=namespace, is_subject=False) from None


async def find_input(pipelines: Pipelines, pipeline: str, text: str, *, namespace: str) -> InputId:
    """By its id or the beginning of it, or by what it is called outside."""
    if text.startswith(INPUT) and len(text) == ID_LENGTH:
        return InputId(text)
    page = await pipelines.list_inputs(ListInputs(namespace=namespace, pipeline=pipeline, limit=MOST_LOOKED_AT))
    found = [item for item in page.inputs if item.external_id == text or _begins(item, text)]
    if len(found) > 1:
        shown = ", ".join(f"{item.id} ({item.source} {item.type})" for item in found[:SHOWN])
        message = f"Several inputs of {pipeline!r} are meant by {text[:60]!r}: {shown}. Write the id."
        raise InvalidInput(message, reason="ambiguous_id", path="INPUT")
    if not found:
        close = difflib.get_close_matches(text, [item.external_id for item in page.inputs], n=2)
        raise NotFound("input", text, close=close, hint=f"windlass inputs {pipeline} lists them.")
    return found[0].id


def _begins(item: Input, text: str) -> bool:
    return text.startswith(INPUT) and len(text) > len(INPUT) and item.id.startswith(text)


def _may_be_run(text: str) -> bool:
    try:
        lookup.check_meant(text)
    except InvalidInput:
        return False
    return True


async def _unknown(pipelines: Pipelines, name: str, *, namespace: str, is_subject: bool) -> NotFound:
    names = [detail.view.pipeline.name for detail in await pipelines.list_pipelines(namespace)]
    close = difflib.get_close_matches(name, names, n=2)
    if name.startswith(ATTEMPT):
        hint = "That is the id of an attempt: windlass show has it; name its pipeline."
        if len(name) != ID_LENGTH:
            hint = "That looks like the id of an attempt: write the whole of it."
        return NotFound("pipeline", name, hint=hint)
    known = f"Known: {', '.join(map(repr, names[:SHOWN]))}{', …' if len(names) > SHOWN else ''}." if names else ""
    either = "And it is no run id, which is run_ and capital letters." if is_subject else ""
    return NotFound("pipeline", name, close=close, hint=" ".join(filter(None, ("" if close else known, either))))

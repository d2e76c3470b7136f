"""`windlass resolve`: say whether an effect happened of which nobody knows."""

from __future__ import annotations

from typing import Any

import click
from rich.text import Text as Line

from windlass.assembly import Opened
from windlass.cli import lookup
from windlass.cli.pipelines import records
from windlass.cli.pipelines.names import check_one_given, meant, subject_arguments
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import Json, Value, by_option, note_option, person
from windlass.codec import Codec
from windlass.model.effect import Effect, Resolution
from windlass.model.pipeline_commands import ResolveEffect
from windlass.rules.limits import check_step_reference

NOTHING = Value(text="null", data=b"null", value=None)
CHOICES = "--happened, --did-not-happen, --skip or --try-again"
SAID = {
    Resolution.HAPPENED: "happened; what follows it goes on",
    Resolution.DID_NOT_HAPPEN: "did not happen; it is tried again",
    Resolution.SKIP: "is skipped; what follows goes on without it",
    Resolution.TRY_AGAIN: "is looked into once more",
}


@click.command(short_help="Say whether an effect happened of which nobody knows.")
@subject_arguments
@click.option(
    "--happened",
    type=Json(),
    is_flag=False,
    flag_value=NOTHING,
    metavar="[RESULT]",
    help="It did; with what it returned, in JSON.",
)
@click.option("--did-not-happen", is_flag=True, help="It did not: do it again.")
@click.option("--skip", "is_skipped", is_flag=True, help="Go on without it.")
@click.option("--try-again", "is_again", is_flag=True, help="Ask its reconcile once more.")
@click.option("--step", type=Text(check_step_reference), help="Of a run: which effect, if several are open.")
@by_option
@note_option
@shared_options
@click.pass_obj
def resolve(session: Session, /, run: str | None, key: str | None, **said: Any) -> None:
    """Say whether an effect happened of which nobody knows, because its call did not return.

    Look in the outside world first: whatever is said here is believed. RESULT is what the effect returned, in JSON;
    without it the code behind the effect is given null.
    """
    resolution = _resolution(said)
    if run is None and key is None and said["happened"] is not None:  # it may have taken the name for its result
        raise click.UsageError("Name the pipeline or the run in front of --happened.")
    check_one_given(run, key=key)

    async def tell(opened: Opened) -> tuple[Effect, str]:
        found = await meant(opened.pipelines, run, namespace=session.namespace)
        if found.pipeline is not None:
            subject = found.pipeline.view.pipeline.name
            if said["step"] is not None:
                raise click.UsageError(f"--step is for runs: pipeline {subject} has one effect at a time.")
        else:
            subject = (await lookup.find(opened.runs, found.run, key=key, namespace=session.namespace)).run.id
        result: Value | None = said["happened"]
        command = ResolveEffect(
            namespace=session.namespace,
            subject=subject,
            resolution=resolution,
            result=None if result is None else Codec().encode(result.value),
            step=said["step"],
            by=person(said["by"]),
            note=said["note"],
        )
        return await opened.pipeline_control.resolve_effect(command), subject

    effect, subject = session.change(tell)
    if session.is_json:
        session.screen.write_json(records.effect(effect))
        return
    line = f"{escape(repr(effect.name))} of {escape(subject)} {SAID[resolution]}."
    session.screen.write(session.screen.draw_whole(Line(line)))


def _resolution(said: dict[str, Any]) -> Resolution:
    """The one that was said. Raises UsageError for none and for several."""
    given = {
        Resolution.HAPPENED: said["happened"] is not None,
        Resolution.DID_NOT_HAPPEN: said["did_not_happen"],
        Resolution.SKIP: said["is_skipped"],
        Resolution.TRY_AGAIN: said["is_again"],
    }
    chosen = [resolution for resolution, is_given in given.items() if is_given]
    if len(chosen) != 1:
        raise click.UsageError(f"Say one of these: {CHOICES}.")
    return chosen[0]

"""`windlass run-now`; and what `pause`, `resume` and `retry`, `approve` and `reject` do about a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.text import Text as Line

from windlass.api.service import PipelineControl
from windlass.assembly import Opened
from windlass.cli.pipelines import records
from windlass.cli.pipelines.listing import issue_of
from windlass.cli.pipelines.names import known, pipeline_argument
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import by_option, person
from windlass.model.pipeline import HandlerKind, Issue, PipelineStatus
from windlass.model.pipeline_commands import DecideHandler, PipelineDetail, SteerPipeline
from windlass.rules.pipeline_words import Word, declared, title_of


@click.command(name="run-now", short_help="Let a pipeline check now, before its time.")
@pipeline_argument
@by_option
@shared_options
@click.pass_obj
def run_now(session: Session, /, name: str, *, by: str | None) -> None:
    """Let every producer of a pipeline check now, one after another, before its time.

    Refused while it is at work, paused, or held by something that stopped.
    """

    async def check(opened: Opened) -> PipelineDetail:
        await known(opened.pipelines, name, namespace=session.namespace)
        command = SteerPipeline(namespace=session.namespace, name=name, by=person(by))
        return await opened.pipeline_control.run_now(command)

    detail = session.change(check)
    producers = [item.handler.name for item in declared(detail.view, HandlerKind.PRODUCER)]
    names = f": {', '.join(map(escape, producers))}" if producers else ""
    write(session, detail, f"Pipeline {escape(name)} checks now{names}.")


async def pause(
    session: Session, control: PipelineControl, found: PipelineDetail, **said: str | None
) -> Callable[[], None]:
    """Hold it, and answer with what to say about that."""
    before = found.view.pipeline
    detail = await control.pause_pipeline(SteerPipeline(namespace=before.namespace, name=before.name, **said))
    row, name = detail.view.pipeline, escape(before.name)
    then = escape(session.advise(f"windlass resume {before.name}"))
    what = "is paused: nothing of it begins until it is resumed"
    if row.status is PipelineStatus.RUNNING:
        what = "pauses as soon as what is at work has ended"
    if before.is_paused:
        what = f"was paused before{'' if before.paused_by is None else f' by {escape(before.paused_by)}'}"
    return lambda: write(session, detail, f"Pipeline {name} {what}. Then: {then}")


async def resume(
    session: Session, control: PipelineControl, found: PipelineDetail, **said: str | None
) -> Callable[[], None]:
    before = found.view.pipeline
    detail = await control.resume_pipeline(SteerPipeline(namespace=before.namespace, name=before.name, **said))
    was_held = before.is_paused or before.status is PipelineStatus.ATTENTION
    word = detail.summary.status
    if word == Word.ATTENTION:
        text = f"is not paused{' any more' if before.is_paused else ''}, but needs you. {issue_of(session, detail)}"
    elif word == Word.STOPPED:
        text = f"stays stopped. {issue_of(session, detail)}"
    else:
        text = f"{'goes on' if was_held else 'was not paused'}; it is {word}."
    return lambda: write(session, detail, f"Pipeline {escape(before.name)} {text}")


async def retry(
    session: Session, control: PipelineControl, found: PipelineDetail, **said: str | None
) -> Callable[[], None]:
    before = found.view
    row = before.pipeline
    detail = await control.retry_pipeline(SteerPipeline(namespace=row.namespace, name=row.name, **said))
    what = "tries again" if before.run is None else f"tries {escape(repr(before.run.handler))} again"
    when = f"now; it is {detail.summary.status}."
    if detail.view.pipeline.is_paused:
        when = f"once it is resumed: {escape(session.advise(f'windlass resume {row.name}'))}"
    return lambda: write(session, detail, f"Pipeline {escape(row.name)} {what} {when}")


async def decide(
    session: Session,
    control: PipelineControl,
    found: PipelineDetail,
    *,
    is_approved: bool,
    releases: bool,
    said: dict[str, Any],
) -> Callable[[], None]:
    """Approve or reject the very attempt that was looked at: it is that which a person has read."""
    view, row = found.view, found.view.pipeline
    is_asked = row.issue is Issue.APPROVAL and view.run is not None
    command = DecideHandler(
        namespace=row.namespace,
        name=row.name,
        is_approved=is_approved,
        releases=releases,
        run_id=view.run.id if is_asked and view.run is not None else None,
        **said,
    )
    detail = await control.decide_handler(command)
    title = escape(repr(title_of(view)))
    outcome = "approved" if is_approved else "rejected"
    by = "" if said["by"] is None else f" by {escape(said['by'])}"
    before = "" if is_asked else "was "
    events = "" if is_approved else "; its events go back" if releases else "; its events are skipped"
    text = f"{title} of pipeline {escape(row.name)} {before}{outcome}{by}{'' if is_asked else ' before'}{events}."
    return lambda: write(session, detail, text)


def write(session: Session, detail: PipelineDetail, text: str) -> None:
    if session.is_json:
        session.screen.write_json(records.detail(detail))
    else:
        session.screen.write(session.screen.draw_whole(Line(text)))

"""`windlass approve` and `windlass reject`: answer what a run or a pipeline waits to be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
from msgspec import Struct
from rich.text import Text as Line

from windlass.api.service import Runs
from windlass.assembly import Opened
from windlass.cli import lookup
from windlass.cli.pipelines import names
from windlass.cli.pipelines import steer as pipelines
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import by_option, note_option, person
from windlass.errors import InvalidInput, WrongState
from windlass.model.commands import Decide
from windlass.model.message import Decision, Message, MessageKind
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunKind, RunStatus
from windlass.model.step import Step, StepKind, StepStatus
from windlass.rules.limits import check_step_reference

LOOKED_AT, SHOWN = 100, 3  # jobs of a graph that wait, and those that are named

STEP = click.option("--step", type=Text(check_step_reference), help="Which approval, if the run waits for several.")


class Answered(Struct, frozen=True, kw_only=True):
    run: Run
    step: Step | None
    decision: Decision
    is_repeat: bool


@click.command(short_help="Say yes to what a run or a pipeline waits for.")
@names.subject_arguments
@by_option
@note_option
@STEP
@shared_options
@click.pass_obj
def approve(session: Session, /, run: str | None, key: str | None, **how: Any) -> None:
    """Say yes to what a run waits for, or to what a pipeline is about to do.

    RUN is the id of a run or the beginning of it, PIPELINE a name.
    """
    _answer(session, run, key=key, is_approved=True, how={"releases": False, **how})


@click.command(short_help="Say no to what a run or a pipeline waits for.")
@names.subject_arguments
@by_option
@note_option
@STEP
@click.option("--release", "releases", is_flag=True, help="Of a pipeline: its events go back, and are not skipped.")
@shared_options
@click.pass_obj
def reject(session: Session, /, run: str | None, key: str | None, **how: Any) -> None:
    """Say no to what a run waits for, or to what a pipeline is about to do.

    RUN is the id of a run or the beginning of it, PIPELINE a name. Events that a pipeline was about to act on are
    skipped; with --release they go back, and are looked at again.
    """
    _answer(session, run, key=key, is_approved=False, how=how)


def _answer(session: Session, run: str | None, *, key: str | None, is_approved: bool, how: dict[str, Any]) -> None:
    names.check_one_given(run, key=key)

    async def answer(opened: Opened) -> Callable[[], None]:
        meant = await names.meant(opened.pipelines, run, namespace=session.namespace)
        if meant.pipeline is not None:
            if how["step"] is not None:
                raise click.UsageError("--step is for runs: a pipeline asks for one approval at a time.")
            said = {"by": person(how["by"]), "note": how["note"]}
            return await pipelines.decide(
                session,
                opened.pipeline_control,
                meant.pipeline,
                is_approved=is_approved,
                releases=how["releases"],
                said=said,
            )
        if how["releases"]:
            raise click.UsageError("--release is for pipelines: a run decides itself what follows.")
        found = (await lookup.find(opened.runs, meant.run, key=key, namespace=session.namespace)).run
        answered = await _decide(session, opened, found, is_approved=is_approved, how=how)
        return lambda: _tell(session, answered)

    session.change(answer)()


async def _decide(session: Session, opened: Opened, run: Run, *, is_approved: bool, how: dict[str, Any]) -> Answered:
    if run.kind is RunKind.GRAPH:
        raise await _asked_by_jobs(opened.runs, run)
    steps = await opened.runs.list_steps(session.namespace, run.id)
    messages = await opened.runs.list_messages(session.namespace, run.id)
    open = _open(steps, messages)
    step = _meant(run, steps, open, named=how["step"])
    decision = await opened.control.decide(
        Decide(
            namespace=session.namespace,
            run_id=run.id,
            is_approved=is_approved,
            by=person(how["by"]),
            note=how["note"],
            step=how["step"] if step is None else step.key,
        )
    )
    return Answered(run=run, step=step, decision=decision, is_repeat=step not in open)


async def _asked_by_jobs(runs: Runs, graph: Run) -> WrongState:
    """A graph asks nothing itself: name those of its jobs that do."""
    query = ListRuns(namespace=graph.namespace, parent=graph.id, status=RunStatus.WAITING, limit=LOOKED_AT)
    asking: list[str] = []
    for job in (await runs.list_runs(query)).runs:
        if _open(await runs.list_steps(graph.namespace, job.id), ()):
            asking.append(f"{graph.id}/{job.job}")
    hint = f"Waiting for one: {', '.join(sorted(asking)[:SHOWN])}." if asking else "None of its jobs waits for one."
    return WrongState("Run", graph.id, "a graph, whose jobs ask for approvals", wanted="a job", hint=hint)


def _open(steps: Sequence[Step], messages: Sequence[Message]) -> list[Step]:
    """The approvals that nobody has decided."""
    decided = {message.name for message in messages if message.kind is MessageKind.APPROVAL}
    waiting = [step for step in steps if step.kind is StepKind.APPROVAL and step.status is StepStatus.WAITING]
    return [step for step in waiting if not step.is_dropped and step.key not in decided]


def _meant(run: Run, steps: Sequence[Step], open: Sequence[Step], *, named: str | None) -> Step | None:
    """The approval that is meant: the one named, the only open one, else the last one, which was decided before."""
    asked = [step for step in steps if step.kind is StepKind.APPROVAL and not step.is_dropped]
    if named is not None:
        return next((step for step in asked if step.key == named), None)
    if len(open) > 1:
        choices = ", ".join(f"{step.key} ({step.awaits!r})" for step in open)
        raise InvalidInput(
            f"Run {run.id} waits for {len(open)} approvals. Say which one with --step: {choices}.",
            reason="ambiguous_approval",
            path="--step",
        )
    if open:
        return open[0]
    return max(asked, key=lambda step: (step.started_at or 0, step.order or 0), default=None)


def _tell(session: Session, answered: Answered) -> None:
    run, step, decision = answered.run, answered.step, answered.decision
    title = None if step is None else step.awaits
    if session.is_json:
        session.screen.write_json(
            {
                "id": run.id,
                "workflow": run.name,
                "step": None if step is None else step.key,
                "title": title,
                "outcome": decision.outcome,
                "by": decision.by,
                "note": decision.note,
                "at": decision.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                "is_repeat": answered.is_repeat,
            }
        )
        return
    what = f"{'was ' if answered.is_repeat else ''}{decision.outcome}{' before' if answered.is_repeat else ''}"
    by = f" by {escape(decision.by)}" if decision.by else ""
    line = f"{escape(repr(title or 'approval'))} of {run.id} ({escape(run.name)}) {what}{by}."
    session.screen.write(session.screen.draw_whole(Line(line)))

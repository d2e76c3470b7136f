"""`windlass pause`: hold a run, a pipeline, a signal, a queue, a workflow or everything until it is resumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.text import Text as Line

from windlass.api.service import Control, Runs
from windlass.assembly import Opened
from windlass.cli import lookup, records
from windlass.cli.pipelines import names
from windlass.cli.pipelines import steer as pipelines
from windlass.cli.session import Session, shared_options
from windlass.cli.signals import steer as signals
from windlass.cli.signals.names import is_signal
from windlass.cli.targets import Target, gate_option, gate_words, read_target, target_arguments, warn_if_unserved
from windlass.cli.terminal import escape
from windlass.cli.values import by_option, note_option, person
from windlass.model.commands import PauseRun, SetGate
from windlass.model.gate import Gate
from windlass.model.run import Run, RunStatus
from windlass.model.signal import SignalVerb


@click.command(short_help="Hold a run, pipeline, signal, queue, workflow or everything.")
@target_arguments
@by_option
@note_option
@shared_options
@click.pass_obj
def pause(session: Session, /, *, by: str | None, note: str | None, **given: Any) -> None:
    """Hold one run, pipeline or signal, or all of a queue, of a workflow or of the namespace, until they are resumed.

    RUN is the id of a run or the beginning of it, PIPELINE a name, SIGNAL is sig_…. What is at work ends first; nothing
    new is begun. A queue and a workflow may be paused before there is any. What a signal misses is kept.
    """
    target = read_target(session, given)
    if target.run is not None and is_signal(target.run):
        signals.steer(session, target.run, SignalVerb.PAUSE, by=by, note=note)
    elif target.gate is None:
        _pause_one(session, target, by=person(by), note=note)
    else:
        _close_gate(session, target, by=person(by), note=note)


def _pause_one(session: Session, target: Target, *, by: str | None, note: str | None) -> None:
    async def hold(opened: Opened) -> Callable[[], None]:
        meant = await names.meant(opened.pipelines, target.run, namespace=session.namespace)
        if meant.pipeline is not None:
            return await pipelines.pause(session, opened.pipeline_control, meant.pipeline, by=by, note=note)
        found = (await lookup.find(opened.runs, meant.run, key=target.key, namespace=session.namespace)).run
        command = PauseRun(namespace=session.namespace, run_id=found.id, by=by, note=note)
        status = await opened.control.pause_run(command)
        return lambda: _tell_run(session, found, status)

    session.change(hold)()


def _tell_run(session: Session, run: Run, status: RunStatus) -> None:
    is_paused = status is RunStatus.PAUSED
    if session.is_json:
        record = {"id": run.id, "workflow": run.name, "status": status.value, "is_paused": is_paused}
        session.screen.write_json(record)
        return
    what = "is paused" if is_paused else "pauses as soon as what is at work has ended"
    then = session.advise(f"windlass resume {run.id}")
    session.screen.write(session.screen.draw_whole(Line(f"{run.id} ({escape(run.name)}) {what}. Then: {then}")))


def _close_gate(session: Session, target: Target, *, by: str | None, note: str | None) -> None:
    assert target.gate is not None
    kind, name = target.gate, target.name

    async def close(runs: Runs, control: Control) -> Gate:
        command = SetGate(namespace=session.namespace, kind=kind, name=name, is_paused=True, by=by, note=note)
        gate = await control.set_gate(command)
        await warn_if_unserved(session, runs, target)
        return gate

    gate = session.steer(close)
    if session.is_json:
        session.screen.write_json(records.gate(gate))
        return
    words = gate_words(kind, name)
    then = session.advise(f"windlass resume {gate_option(kind, name)}")
    line = Line(
        f"{words[0].upper()}{words[1:]} is paused: nothing of it is taken up until it is resumed. Then: {escape(then)}"
    )
    session.screen.write(session.screen.draw_whole(line))

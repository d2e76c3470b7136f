"""`windlass resume`: let go on what is paused: a run, a pipeline, a signal, a queue, a workflow or everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.text import Text as Line

from windlass.api.service import Control, Runs
from windlass.assembly import Opened
from windlass.cli import lookup, records
from windlass.cli.hints import nearest, waits_for_now
from windlass.cli.pipelines import names
from windlass.cli.pipelines import steer as pipelines
from windlass.cli.session import Session, shared_options
from windlass.cli.signals import steer as signals
from windlass.cli.signals.names import is_signal
from windlass.cli.targets import Target, gate_words, read_target, target_arguments
from windlass.cli.terminal import STATUS_STYLES, escape
from windlass.cli.values import by_option, note_option, person
from windlass.model.commands import ResumeRun, SetGate
from windlass.model.gate import Gate, GateKind
from windlass.model.run import RunView
from windlass.model.signal import SignalVerb


@click.command(short_help="Let go on what is paused.")
@target_arguments
@by_option
@note_option
@shared_options
@click.pass_obj
def resume(session: Session, /, *, by: str | None, note: str | None, **given: Any) -> None:
    """Let a paused run, pipeline or signal go on once what held it is put right; or a queue, a workflow, everything.

    RUN is the id of a run or the beginning of it, PIPELINE a name, SIGNAL is sig_…. A run that was paused itself stays
    so when its queue goes on. A signal that has fired is armed again.
    """
    target = read_target(session, given)
    if target.run is not None and is_signal(target.run):
        signals.steer(session, target.run, SignalVerb.RESUME, by=by, note=note)
    elif target.gate is None:
        _resume_one(session, target, by=person(by), note=note)
    else:
        _open_gate(session, target, by=person(by), note=note)


def _resume_one(session: Session, target: Target, *, by: str | None, note: str | None) -> None:
    async def go_on(opened: Opened) -> Callable[[], None]:
        meant = await names.meant(opened.pipelines, target.run, namespace=session.namespace)
        if meant.pipeline is not None:
            return await pipelines.resume(session, opened.pipeline_control, meant.pipeline, by=by, note=note)
        if note is not None:
            raise click.UsageError("--note is not kept of a run that goes on: it is for all else that is resumed.")
        found = await lookup.find(opened.runs, meant.run, key=target.key, namespace=session.namespace)
        command = ResumeRun(namespace=session.namespace, run_id=found.run.id, by=by)
        view = await opened.control.resume_run(command)
        waits_for = await waits_for_now(opened.runs, view, now=session.now())
        return lambda: _tell_run(session, view, waits_for)

    session.change(go_on)()


def _tell_run(session: Session, view: RunView, waits_for: str) -> None:
    if session.is_json:
        session.screen.write_json(records.view(view, waits_for=waits_for))
        return
    line = Line(f"{view.run.id} ({escape(view.run.name)}) goes on; it is ")
    line.append(view.run.status.value, style=STATUS_STYLES[view.run.status])
    session.screen.write(session.screen.draw_whole(line.append(".")))


def _open_gate(session: Session, target: Target, *, by: str | None, note: str | None) -> None:
    assert target.gate is not None
    kind, name = target.gate, target.name

    async def open(runs: Runs, control: Control) -> tuple[Gate, tuple[Gate, ...]]:
        before = await control.list_gates(session.namespace)
        command = SetGate(namespace=session.namespace, kind=kind, name=name, is_paused=False, by=by, note=note)
        return await control.set_gate(command), before

    gate, before = session.steer(open)
    closed = {item.name for item in before if item.kind is kind and item.is_paused}
    if session.is_json:
        session.screen.write_json({**records.gate(gate), "was_paused": gate.name in closed})
        return
    words = gate_words(kind, name)
    what = "goes on" if gate.name in closed else "was not paused"
    hint = "" if gate.name in closed or kind is GateKind.NAMESPACE else nearest(name, closed)
    session.screen.write(session.screen.draw_whole(Line(f"{words[0].upper()}{words[1:]} {what}.{escape(hint)}")))

"""`windlass resume`: let go on what is paused: a run, a queue, a workflow or everything."""

from __future__ import annotations

from typing import Any

import click
from rich.text import Text as Line

from windlass.api.service import Control, Runs
from windlass.cli import lookup, records
from windlass.cli.hints import nearest, waits_for_now
from windlass.cli.session import Session, shared_options
from windlass.cli.targets import Target, gate_words, read_target, target_arguments
from windlass.cli.terminal import STATUS_STYLES, escape
from windlass.cli.values import by_option, person
from windlass.model.commands import ResumeRun, SetGate
from windlass.model.gate import Gate, GateKind
from windlass.model.run import RunView


@click.command(short_help="Let go on what is paused.")
@target_arguments
@by_option
@shared_options
@click.pass_obj
def resume(session: Session, /, *, by: str | None, **given: Any) -> None:
    """Let a paused run go on, once what held it is put right; or a queue, a workflow, or everything.

    RUN is the id of a run or the beginning of it. A run that was paused itself stays so when its queue goes on.
    """
    target = read_target(session, given)
    if target.gate is None:
        _resume_run(session, target, by=person(by))
    else:
        _open_gate(session, target, by=person(by))


def _resume_run(session: Session, target: Target, *, by: str | None) -> None:
    async def go_on(runs: Runs, control: Control) -> tuple[RunView, str]:
        found = await lookup.find(runs, target.run, key=target.key, namespace=session.namespace)
        view = await control.resume_run(ResumeRun(namespace=session.namespace, run_id=found.run.id, by=by))
        return view, await waits_for_now(runs, view, now=session.now())

    view, waits_for = session.steer(go_on)
    if session.is_json:
        session.screen.write_json(records.view(view, waits_for=waits_for))
        return
    line = Line(f"{view.run.id} ({escape(view.run.name)}) goes on; it is ")
    line.append(view.run.status.value, style=STATUS_STYLES[view.run.status])
    session.screen.write(session.screen.draw_whole(line.append(".")))


def _open_gate(session: Session, target: Target, *, by: str | None) -> None:
    assert target.gate is not None
    kind, name = target.gate, target.name

    async def open(runs: Runs, control: Control) -> tuple[Gate, tuple[Gate, ...]]:
        before = await control.list_gates(session.namespace)
        command = SetGate(namespace=session.namespace, kind=kind, name=name, is_paused=False, by=by)
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

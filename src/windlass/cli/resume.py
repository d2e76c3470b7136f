"""`windlass resume RUN`: let a paused run go on."""

from __future__ import annotations

import click
from rich.text import Text

from windlass.api.service import Control, Runs
from windlass.cli import lookup, records
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import STATUS_STYLES, escape
from windlass.cli.waits import in_short
from windlass.model.commands import ResumeRun
from windlass.model.run import RunView


@click.command()
@lookup.run_arguments
@shared_options
@click.pass_obj
def resume(session: Session, /, run: str | None, key: str | None) -> None:
    """Let a paused run go on, once what held it is put right.

    RUN is the id of a run or the beginning of it.
    """
    lookup.check_one_given(run, key=key)

    async def go_on(runs: Runs, control: Control) -> RunView:
        found = await lookup.find(runs, run, key=key, namespace=session.namespace)
        return await control.resume_run(ResumeRun(namespace=session.namespace, run_id=found.run.id))

    view = session.steer(go_on)
    waits_for = "" if view.run.status.is_terminal else in_short(view.run, failure=view.failure, now=session.now())
    if session.is_json:
        session.screen.write_json(records.view(view, waits_for=waits_for))
        return
    line = Text(f"{view.run.id} ({escape(view.run.name)}) goes on; it is ")
    line.append(view.run.status.value, style=STATUS_STYLES[view.run.status])
    session.screen.write(session.screen.draw(line.append(".")))

"""`windlass cancel`: end a run before its time, and the children that follow it; or call off a signal."""

from __future__ import annotations

import click
from rich.text import Text as Line

from windlass.api.service import Control, Runs
from windlass.cli import lookup
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.signals import steer as signals
from windlass.cli.signals.names import SIGNAL, is_signal
from windlass.cli.terminal import escape
from windlass.cli.values import by_option, note_option, person
from windlass.model.commands import Cancelled, CancelRun
from windlass.model.run import Run
from windlass.model.signal import SignalVerb
from windlass.rules.limits import check_key


def _check_meant(text: str) -> str:
    return SIGNAL.check(text) if text.startswith(SIGNAL.prefix) else lookup.check_meant(text)


@click.command(short_help="End a run before its time, or call off a signal.")
@click.argument("run", metavar="RUN|SIGNAL", type=Text(_check_meant), required=False)
@click.option("--key", type=Text(check_key), help="The run that was started with this key.")
@by_option
@note_option
@shared_options
@click.pass_obj
def cancel(session: Session, /, run: str | None, key: str | None, *, by: str | None, note: str | None) -> None:
    """End a run before its time, and the children that follow it. A body at work may end; its result is refused.

    RUN is the id of a run or the beginning of it. Of a run that is over nothing changes. A SIGNAL,
    sig_…, is called off for good.
    """
    lookup.check_one_given(run, key=key)
    if run is not None and is_signal(run):
        signals.steer(session, run, SignalVerb.CANCEL, by=by, note=note)
        return

    async def end(runs: Runs, control: Control) -> tuple[Run, Cancelled]:
        found = (await lookup.find(runs, run, key=key, namespace=session.namespace)).run
        command = CancelRun(namespace=session.namespace, run_id=found.id, by=person(by), note=note)
        return found, await control.cancel_run(command)

    found, cancelled = session.steer(end)
    if session.is_json:
        session.screen.write_json(
            {
                "id": found.id,
                "workflow": found.name,
                "status": cancelled.status.value,
                "is_done": cancelled.is_done,
                "children": list(cancelled.children),
            }
        )
        return
    line = f"{found.id} ({escape(found.name)}) {_outcome(cancelled)}."
    if not cancelled.status.is_terminal:
        line = f"{line} To end those too: {session.advise(f'windlass cancel {found.id}')}"
    session.screen.write(session.screen.draw_whole(Line(line)))


def _outcome(cancelled: Cancelled) -> str:
    if not cancelled.status.is_terminal:
        ended = len(cancelled.children)
        jobs = (
            "no job had to be ended" if not ended else "1 job was ended" if ended == 1 else f"{ended:,} jobs were ended"
        )
        return f"is being cancelled: {jobs}, and those that clean up still run"
    if not cancelled.is_done:
        return f"was over before: {cancelled.status.value}"
    match len(cancelled.children):
        case 0:
            return "is cancelled"
        case 1:
            return "is cancelled, and 1 child with it"
        case count:
            return f"is cancelled, and {count:,} children with it"

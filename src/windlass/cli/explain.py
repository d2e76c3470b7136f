"""`windlass explain`: why a run or a pipeline is not running, or a signal has not fired, in one paragraph."""

from __future__ import annotations

from functools import partial

import click
from msgspec.structs import replace
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli import lookup, records
from windlass.cli.pipelines import names
from windlass.cli.pipelines.listing import status as status_of_pipeline
from windlass.cli.session import Session, shared_options
from windlass.cli.signals import explain as signals
from windlass.cli.signals.names import is_signal
from windlass.cli.terminal import STATUS_STYLES, escape, status_glyph, wrapped
from windlass.model.explanation import Explanation


@click.command(short_help="Say why a run, a pipeline or a signal does nothing.")
@partial(names.subject_arguments, metavar="RUN|PIPELINE|SIGNAL")
@shared_options
@click.pass_obj
def explain(session: Session, /, run: str | None, key: str | None) -> None:
    """Say what a run or a pipeline waits for, since when, who holds it, and what it would take.

    RUN is the id of a run or the beginning of it, or GRAPH/JOB for a job of a graph. Of a signal, sig_…, it is said why
    it has not fired.
    """
    names.check_one_given(run, key=key)
    if run is not None and is_signal(run):
        signals.explain(session, run)
        return

    async def ask(opened: Opened) -> tuple[Explanation, str | None]:
        meant = await names.meant(opened.pipelines, run, namespace=session.namespace)
        if meant.pipeline is not None:
            name = meant.pipeline.summary.name
            told = await opened.pipelines.explain_pipeline(session.namespace, name)
            # Read again: it must not be older than what is said about it.
            return told, (await opened.pipelines.get_pipeline(session.namespace, name)).summary.status
        found = await lookup.find(opened.runs, meant.run, key=key, namespace=session.namespace)
        return await opened.runs.explain_run(session.namespace, found.run.id), None

    (found, word), screen = session.read(ask), session.screen
    found = replace(found, text=session.advise(found.text))
    if session.is_json:
        screen.write_json(records.explanation(found) if word is None else _record(found, word))
        return
    if word is not None:
        status = status_of_pipeline(word, glyphs=screen.glyphs)
    else:
        status = Text(f"{status_glyph(found.status, glyphs=screen.glyphs)} {found.status.value}")
        status.stylize(STATUS_STYLES[found.status])
    status.append(f"  {escape(found.name)}", style="bold not dim").append(f"  {found.run_id}", style="bright_black")
    lines = [Text(f"  {line}") for line in wrapped(escape(found.text), width=screen.width - 2)]
    screen.write(screen.draw_whole(status, *lines))


def _record(found: Explanation, word: str) -> dict[str, object]:
    """That of a pipeline has its name, and the status that people see."""
    told = records.explanation(found)
    del told["id"], told["workflow"], told["step"]
    return {"pipeline": found.name, **told, "status": word, "handler": found.step}

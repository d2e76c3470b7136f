"""`windlass explain RUN`: why it is not running, in one paragraph."""

from __future__ import annotations

import click
from msgspec.structs import replace
from rich.text import Text

from windlass.api.service import Runs
from windlass.cli import lookup, records
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import STATUS_STYLES, escape, status_glyph, wrapped
from windlass.model.explanation import Explanation


@click.command(short_help="Say why a run is not running, and what it would take.")
@lookup.run_arguments
@shared_options
@click.pass_obj
def explain(session: Session, /, run: str | None, key: str | None) -> None:
    """Say what a run waits for, since when, who holds it, and what it would take.

    RUN is the id of a run or the beginning of it, or GRAPH/JOB for a job of a graph.
    """
    lookup.check_one_given(run, key=key)

    async def ask(runs: Runs) -> Explanation:
        found = await lookup.find(runs, run, key=key, namespace=session.namespace)
        return await runs.explain_run(session.namespace, found.run.id)

    found, screen = session.ask(ask), session.screen
    found = replace(found, text=session.advise(found.text))
    if session.is_json:
        screen.write_json(records.explanation(found))
        return
    status = Text(f"{status_glyph(found.status, glyphs=screen.glyphs)} {found.status.value}")
    status.stylize(STATUS_STYLES[found.status])
    status.append(f"  {escape(found.name)}", style="bold not dim").append(f"  {found.run_id}", style="bright_black")
    lines = [Text(f"  {line}") for line in wrapped(escape(found.text), width=screen.width - 2)]
    screen.write(screen.draw_whole(status, *lines))

"""`windlass schedules preview`: at which times would that be? Nothing is stored, and no database is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import click
from rich.text import Text

from windlass.cli.records import instant
from windlass.cli.schedules import clocks
from windlass.cli.schedules.create import checked_plan, timing_options
from windlass.cli.schedules.records import seconds
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import Moment
from windlass.model.duration import to_instant
from windlass.model.schedule import Timing
from windlass.model.time import SECOND, Instant
from windlass.rules.slots import describe, upcoming

DIM = "bright_black"
MOST = 1_000


@click.command(short_help="Show at which times a schedule would fire.")
@timing_options
@click.option("--count", type=click.IntRange(1, MOST), default=5, show_default=True, metavar="NUMBER", help="How many.")
@click.option("--after", type=Moment(), help="The first times later than this: 2026-10-24T00:00:00Z.  [default: now]")
@shared_options
@click.pass_obj
def preview(
    session: Session, /, cron: str | None, every: str | None, *, tz: str, count: int, after: datetime | None
) -> None:
    """Show at which times a schedule would fire, on the clocks of its zone. Nothing is stored."""
    timing = checked_plan(cron, every, tz=tz).timing
    begin = session.now() if after is None else to_instant(after)
    found = upcoming(timing, Instant(begin - begin % SECOND), after=begin, count=count)
    if session.is_json:
        record = {"times": describe(timing), "cron": timing.cron, "every_secs": seconds(timing.every), "tz": timing.tz}
        session.screen.write_json({**record, "next": [instant(slot) for slot in found]})
        return
    words = describe(timing)
    title = Text(f"{words[0].upper()}{words[1:]}", style="bold")
    end = [Text("  There is no further time.")] if len(found) < count else []
    session.screen.write(session.screen.draw_whole(title, *lines(found, timing, now=begin), *end))


def lines(found: Sequence[Instant], timing: Timing, *, now: Instant) -> Iterator[Text]:
    """A line for each: on the clocks of the zone, how far away, and whether the clocks were changed before it."""
    away = [clocks.relative(slot, now=now) for slot in found]
    room = max((len(text) for text in away), default=0)
    for slot, text, change in zip(found, away, clocks.changes(found, timing.tz, since=now), strict=True):
        line = Text(f"  {escape(clocks.in_full(slot, timing))}  ").append(text, style=DIM)
        yield line.append(f"{'':{room - len(text)}}  {change}", style="yellow") if change else line

"""`windlass topics`: who publishes to each, who takes from it, and how much waits there."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text

from windlass.cli.pipelines import records
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import UNLIMITED, escape
from windlass.model.pipeline_commands import TopicView

DIM = "bright_black"
NONE_YET = (
    "No topics yet: a topic is there as soon as a worker has started whose pipelines publish to it, or take from it."
)


@click.command(short_help="List topics: who publishes, who takes, what waits.")
@shared_options
@click.pass_obj
def topics(session: Session, /) -> None:
    """List topics: which handlers publish to each and which take from it, and how many events wait there.

    Every pipeline that takes from a topic has its own copy of what is published to it.
    """
    found = session.read(lambda opened: opened.pipelines.list_topics(session.namespace))
    screen = session.screen
    if session.is_json:
        screen.write_json({"topics": [records.topic(item) for item in found]})
    elif not found:
        screen.write(screen.draw_whole(Text(NONE_YET, style=DIM)))
    else:
        width = None if screen.is_terminal else UNLIMITED
        screen.write(screen.draw(_table(found), width=width))


def _table(found: Sequence[TopicView]) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, 2, 0, 0))
    drawn.add_column("topic", style="bold", no_wrap=True)
    drawn.add_column("published by")
    drawn.add_column("taken by")
    drawn.add_column("pending", justify="right", no_wrap=True)
    drawn.add_column("reserved", justify="right", no_wrap=True)
    for item in found:
        drawn.add_row(
            Text(escape(item.name)),
            _used(item, is_subscribed=False),
            _used(item, is_subscribed=True),
            _counted(item.pending),
            _counted(item.reserved),
        )
    return drawn


def _used(item: TopicView, *, is_subscribed: bool) -> Text:
    names = [f"{use.pipeline}.{use.handler}" for use in item.uses if use.is_subscribed is is_subscribed]
    if names:
        return Text(escape(", ".join(names)))
    return Text("nobody", style="yellow") if is_subscribed else Text("from outside", style=DIM)


def _counted(counts: dict[str, int]) -> Text:
    total = sum(counts.values())
    return Text(f"{total:,}" if total else "")

"""`windlass worker MODULE:APP`: execute the runs of an app until told to stop."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import click

from windlass.app import MAX_SLOTS, SLOTS
from windlass.cli.apps import check_target, take_app
from windlass.cli.session import Session, Text, shared_options
from windlass.logs import FORMATS, LEVELS, LogFormat, LogLevel, configured
from windlass.rules.limits import check_queue
from windlass.settings import read_settings


@click.command(short_help="Execute the runs of an app until told to stop.")
@click.argument("target", metavar="MODULE:APP", type=Text(check_target))
@click.option("--queue", "queues", type=Text(check_queue), multiple=True, help="A queue to serve; may be repeated.")
@click.option("--slots", type=click.IntRange(1, MAX_SLOTS), default=SLOTS, show_default=True, help="Runs at a time.")
@click.option("--log-format", type=click.Choice(FORMATS), help="How to log.  [default: log.format, else plain]")
@click.option("--log-level", type=click.Choice(LEVELS), help="From which level on.  [default: log.level, else info]")
@shared_options
@click.pass_obj
def worker(
    session: Session,
    /,
    target: str,
    *,
    queues: tuple[str, ...],
    slots: int,
    log_format: LogFormat | None,
    log_level: LogLevel | None,
) -> None:
    """Execute the runs of an app until Ctrl-C or SIGTERM; running bodies may end then.

    MODULE is imported from the current folder. Without --queue, every queue that the app names is served.
    """
    settings, _ = read_settings()  # the app reads them too, and says then what is wrong with them
    with configured(log_format or settings.log_format, log_level or settings.log_level):
        _serve(session, target, queues=queues or None, slots=slots)


def _serve(session: Session, target: str, *, queues: tuple[str, ...] | None, slots: int) -> None:
    app = take_app(session, target)
    about: dict[str, Any] = {"app": target, "slots": slots, "namespace": app._namespace}

    def say(served: Sequence[str], left_out: Sequence[str], slots: int) -> None:
        about.update(queues=list(served), left_out=list(left_out))
        if session.is_json:
            session.screen.write_json({"event": "serving", **about}, is_line=True)
        else:
            logging.getLogger("windlass").info("Serving %s: queues %s, %s slots", target, ", ".join(served), slots)

    app._serve_saying(say, queues=queues, slots=slots)
    if session.is_json:
        session.screen.write_json({"event": "stopped", **about}, is_line=True)

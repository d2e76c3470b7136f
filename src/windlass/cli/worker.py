"""`windlass worker MODULE:APP`: execute the runs of an app until told to stop."""

from __future__ import annotations

import logging

import click

from windlass.app import MAX_SLOTS, SLOTS
from windlass.cli.apps import check_target, take_app
from windlass.cli.session import Session, Text, shared_options
from windlass.rules.limits import check_queue


@click.command(short_help="Execute the runs of an app until told to stop.")
@click.argument("target", metavar="MODULE:APP", type=Text(check_target))
@click.option("--queue", "queues", type=Text(check_queue), multiple=True, help="A queue to serve; may be repeated.")
@click.option("--slots", type=click.IntRange(1, MAX_SLOTS), default=SLOTS, show_default=True, help="Runs at a time.")
@shared_options
@click.pass_obj
def worker(session: Session, /, target: str, *, queues: tuple[str, ...], slots: int) -> None:
    """Execute the runs of an app until Ctrl-C or SIGTERM; running bodies may end then.

    MODULE is imported from the current folder. Without --queue, the queue "default" is served.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    app = take_app(session, target)
    chosen = queues or ("default",)
    about = {"app": target, "queues": list(chosen), "slots": slots, "namespace": app._namespace}
    if session.is_json:
        session.screen.write_json({"event": "serving", **about}, is_line=True)
    else:
        logging.getLogger("windlass").info("Serving %s: queues %s, %s slots", target, ", ".join(chosen), slots)
    app.serve(queues=chosen, slots=slots)
    if session.is_json:
        session.screen.write_json({"event": "stopped", **about}, is_line=True)

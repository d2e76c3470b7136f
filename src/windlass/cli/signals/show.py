"""`windlass signals show SIGNAL`: everything about one signal on a page."""

from __future__ import annotations

import click

from windlass.cli.session import Session, shared_options
from windlass.cli.signals.names import signal_argument
from windlass.cli.signals.page import show_signal


@click.command(short_help="Show one signal: what it waits for, what it has fired, its history.")
@signal_argument
@shared_options
@click.pass_obj
def show(session: Session, /, signal: str) -> None:
    """Show one signal: what it watches and does, what its subject is in now, what it has fired, who changed it."""
    show_signal(session, signal)

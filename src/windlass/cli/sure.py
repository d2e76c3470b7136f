"""Is it meant? Asked before something is deleted that cannot be brought back."""

from __future__ import annotations

import sys

import click

from windlass.cli.session import Session


def ask(session: Session, question: str, *, what: str) -> None:
    """Raises ClickException if the answer is no, UsageError where nobody can be asked."""
    if session.is_json or not (session.screen.is_terminal and sys.stdin.isatty()):
        raise click.UsageError(f"Deleting {what} cannot be taken back: say --yes where nobody can be asked.")
    if not click.confirm(question, err=True):
        raise click.ClickException("Nothing was deleted.")

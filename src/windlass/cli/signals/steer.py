"""`windlass signals pause`, `resume`, `cancel` and `delete`; and what those commands do about a signal elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import click
from rich.text import Text as Line

from windlass.api.signal_service import Signals
from windlass.assembly import Opened
from windlass.cli import sure
from windlass.cli.session import Session, shared_options
from windlass.cli.signals import records
from windlass.cli.signals.names import find_signal, signal_argument
from windlass.cli.terminal import escape
from windlass.cli.values import by_option, note_option, person
from windlass.model.signal import DeleteSignal, Signal, SignalStatus, SignalVerb, SignalView, SteerSignal
from windlass.rules.signal_words import in_words


@click.command(short_help="Do nothing more, until it is resumed.")
@signal_argument
@by_option
@note_option
@shared_options
@click.pass_obj
def pause(session: Session, /, signal: str, *, by: str | None, note: str | None) -> None:
    """Do nothing more until it is resumed. What happens meanwhile is kept, and acted on then."""
    steer(session, signal, SignalVerb.PAUSE, by=by, note=note)


@click.command(short_help="Let a paused signal go on, or arm one again that has fired.")
@signal_argument
@by_option
@note_option
@shared_options
@click.pass_obj
def resume(session: Session, /, signal: str, *, by: str | None, note: str | None) -> None:
    """Let a paused signal go on: with what has happened meanwhile, and once more with what failed.

    One that has fired is armed anew, for what happens from now on.
    """
    steer(session, signal, SignalVerb.RESUME, by=by, note=note)


@click.command(short_help="Call a signal off, for good.")
@signal_argument
@by_option
@note_option
@shared_options
@click.pass_obj
def cancel(session: Session, /, signal: str, *, by: str | None, note: str | None) -> None:
    """Call a signal off, for good. What it has fired and is not done yet is dropped; what it did stays."""
    steer(session, signal, SignalVerb.CANCEL, by=by, note=note)


def steer(session: Session, text: str, verb: SignalVerb, *, by: str | None, note: str | None) -> None:
    """Pause, resume or cancel, and say what came of it."""
    session.change(lambda opened: steered(session, opened.signals, text, verb, by=person(by), note=note))()


async def steered(
    session: Session, signals: Signals, text: str, verb: SignalVerb, *, by: str | None, note: str | None
) -> Callable[[], None]:
    """Answer with what is to be said."""
    before = await find_signal(signals, text, namespace=session.namespace)
    command = SteerSignal(namespace=session.namespace, signal_id=before.signal.id, verb=verb, by=by, note=note)
    after = await signals.steer_signal(command)
    return lambda: _tell(session, before, after, verb)


def _tell(session: Session, before: SignalView, after: SignalView, verb: SignalVerb) -> None:
    if session.is_json:
        session.screen.write_json({**records.view(after), "has_changed": after.has_changed})
        return
    words = {SignalVerb.PAUSE: _paused, SignalVerb.RESUME: _resumed, SignalVerb.CANCEL: _cancelled}[verb]
    text = f"{after.signal.id} {words(session, before, after)}"
    session.screen.write(session.screen.draw_whole(Line(text)))


def _paused(session: Session, before: SignalView, after: SignalView) -> str:
    then = session.advise(f"windlass resume {after.signal.id}")
    if before.signal.status is SignalStatus.PAUSED:
        reason = before.signal.reason
        return f"was paused before{'' if reason is None else f': {escape(reason)}'}. Then: {then}"
    return f"is paused: what happens from now on waits until it is resumed. Then: {then}"


def _resumed(session: Session, before: SignalView, after: SignalView) -> str:
    words = escape(in_words(after.signal))
    if before.signal.status is SignalStatus.ARMED:
        return f"was not paused: {words}."
    if before.signal.status is SignalStatus.FIRED:
        return f"is armed again, for what happens from now on: {words}."
    waiting = before.queued + before.failed
    many = "1 firing that waited is" if waiting == 1 else f"{waiting:,} firings that waited are"
    return f"goes on: {words}.{f' {many} worked now.' if waiting else ''}"


def _cancelled(session: Session, before: SignalView, after: SignalView) -> str:
    if before.signal.status is SignalStatus.CANCELLED:
        return "was cancelled before."
    dropped = "1 firing that waited is" if before.queued == 1 else f"{before.queued:,} firings that waited are"
    return f"is cancelled, for good.{f' {dropped} dropped.' if before.queued else ''}"


@click.command(short_help="Forget a signal and what it has fired.")
@signal_argument
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@by_option
@shared_options
@click.pass_obj
def delete(session: Session, /, signal: str, *, is_sure: bool, by: str | None) -> None:
    """Forget a signal and its firings. What they did stays: runs, events and tasks.

    Asks once on a terminal; elsewhere --yes is needed.
    """

    async def look(opened: Opened) -> SignalView:
        return await find_signal(opened.signals, signal, namespace=session.namespace)

    found = session.change(look).signal
    if not is_sure:
        question = f"Delete signal {found.id}? {_fired(found)}"
        sure.ask(session, question, what=found.id)
    command = DeleteSignal(namespace=session.namespace, signal_id=found.id, by=person(by))
    session.change(lambda opened: opened.signals.delete_signal(command))
    if session.is_json:
        session.screen.write_json({"id": found.id, "is_deleted": True})
        return
    session.screen.write(session.screen.draw_whole(Line(f"{found.id} is deleted; what it did stays.")))
    if found.declared_in is not None and found.is_declared:
        session.warn(f"It is declared in {found.declared_in!r}: the next worker of that code makes it anew.")


def _fired(signal: Signal) -> str:
    if not signal.fired:
        return "It has not fired yet."
    return f"It has fired {'once' if signal.fired == 1 else f'{signal.fired:,} times'}."

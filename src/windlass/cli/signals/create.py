"""`windlass signals create`: when something enters a state, or a time has come, do something about it."""

from __future__ import annotations

from typing import Any

import click
from rich.text import Text as Line

from windlass.cli.apps import take_app
from windlass.cli.session import OpenEngine, Session, Text, shared_options
from windlass.cli.signals import records
from windlass.cli.signals.doing import doing_options, make_action, read_doing, warn_if_unserved
from windlass.cli.signals.watching import make_trigger, read_watched, watched_options
from windlass.cli.terminal import escape
from windlass.cli.values import by_option, person
from windlass.codec import Codec
from windlass.errors import NotAllowed
from windlass.model.signal import (
    CreateSignal,
    Signal,
    SignalStatus,
    SignalView,
)
from windlass.rules.limits import check_key
from windlass.rules.signal_words import any_of, in_words
from windlass.rules.triggers import default_action


@click.command(short_help="Say what to do when something enters a state.")
@watched_options
@doing_options
@click.option("--repeat", "repeats", is_flag=True, help="Each time, and not the first time only.")
@click.option("--since-beginning", is_flag=True, help="What has happened already counts too.")
@click.option("--key", type=Text(check_key), help="The same key again is the same signal.")
@by_option
@shared_options
@click.pass_obj
def create(session: Session, /, *, target: str | None, by: str | None, **options: Any) -> None:
    """Make a signal: when what it watches enters a state, or a time has come, it does something about it, once.

    It does one of --start, --send and --task; without any it announces itself, and of a work item it notes a task. A
    workflow that is started is given the firing as its only argument, or the ARGUMENTs if there are any. A signal on a
    workflow fires once for each of its runs.

    \b
    windlass signals create --workflow order --enters failed --start page_on_call
    windlass signals create --item any --enters blocked --task "Unblock it"
    windlass signals create --run run_01J… --enters completed,failed --send run_01K…:ended
    """
    watched, doing = read_watched(options, now=session.now()), read_doing(options)
    if watched.at is not None and options["repeats"]:
        raise click.UsageError("A point in time comes once: leave --repeat out, or say --every.")
    app = None if target is None else take_app(session, target)
    if app is not None and session.location.target == ":memory:":
        raise NotAllowed(f"{target} keeps what it knows in memory: this would be gone when the command ends.")
    session.refuse_missing_file()

    async def put(open: OpenEngine) -> SignalView:
        opened = await open()
        trigger = await make_trigger(session, opened, watched)
        action = await make_action(session, opened, doing, app=app)
        codec = Codec() if app is None else app._codec
        view = await opened.signals.create_signal(
            CreateSignal(
                namespace=session.namespace,
                trigger=trigger,
                action=default_action(trigger) if action is None else action,
                payload=None if doing.payload is None else codec.encode(doing.payload.value),
                repeats=options["repeats"] or trigger.every is not None,
                since_beginning=options["since_beginning"],
                key=options["key"],
                by=person(by),
                allow_unknown=app is not None,  # whose code declares what is started
            )
        )
        await warn_if_unserved(session, opened, view.signal.action)
        return view

    _tell(session, session.change_later(put))


def _tell(session: Session, view: SignalView) -> None:
    signal = view.signal
    if session.is_json:
        record = {**records.view(view), "is_new": view.has_changed, "already": view.already}
        session.screen.write_json(record)
        return
    what = f"is {signal.status.value}"
    if signal.status is SignalStatus.RESOLVED:
        what = "is resolved, and will never fire"
    if not view.has_changed:
        what = f"was made before, and is {signal.status.value}"
    lines = [Line(f"{signal.id} {what}: {escape(in_words(signal))}.")]
    if view.already:
        lines.append(Line(f"  {already(signal, view.state)}", style="yellow"))
    elif signal.reason is not None:
        lines.append(Line(f"  {escape(signal.reason)}", style="yellow"))
    session.screen.write(session.screen.draw_whole(*lines))


def already(signal: Signal, state: str | None) -> str:
    """What whoever arms it would be surprised by."""
    return (
        f"It is {escape(state or any_of(signal.trigger.to))} already; that did not count. --since-beginning counts it."
    )

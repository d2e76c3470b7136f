"""`windlass signals update SIGNAL`: change which states it watches for, or what it hands on."""

from __future__ import annotations

import click
from rich.text import Text as Line

from windlass.assembly import Opened
from windlass.cli.session import Session, shared_options
from windlass.cli.signals import records
from windlass.cli.signals.names import find_signal, signal_argument
from windlass.cli.signals.watching import check_typed_states, enters_option, split_states
from windlass.cli.terminal import escape
from windlass.cli.values import Json, Value, by_option, person
from windlass.codec import Codec
from windlass.model.signal import SignalView, UpdateSignal
from windlass.rules.signal_words import in_words


@click.command(short_help="Change the states it watches for, or its payload.")
@signal_argument
@enters_option
@click.option("--payload", type=Json(), help="Handed to what is done, in JSON.")
@click.option("--repeat/--once", "repeats", default=None, help="Each time, or the first time only.")
@by_option
@shared_options
@click.pass_obj
def update(
    session: Session,
    /,
    signal: str,
    *,
    enters: tuple[str, ...],
    payload: Value | None,
    repeats: bool | None,
    by: str | None,
) -> None:
    """Change the states a signal watches for, what it hands on, or how often it fires. The rest stays as it is."""
    states = split_states(enters)
    if not enters and payload is None and repeats is None:
        raise click.UsageError("Say what to change: --enters STATE, --payload JSON, --repeat or --once.")

    async def change(opened: Opened) -> SignalView:
        found = (await find_signal(opened.signals, signal, namespace=session.namespace)).signal
        command = UpdateSignal(
            namespace=session.namespace,
            signal_id=found.id,
            to=check_typed_states(found.trigger.kind, states) if enters else None,
            payload=None if payload is None else Codec().encode(payload.value),
            repeats=repeats,
            by=person(by),
        )
        return await opened.signals.update_signal(command)

    view = session.change(change)
    if session.is_json:
        session.screen.write_json({**records.view(view), "has_changed": view.has_changed})
        return
    what = "is changed" if view.has_changed else "was like this before"
    session.screen.write(session.screen.draw_whole(Line(f"{view.signal.id} {what}: {escape(in_words(view.signal))}.")))

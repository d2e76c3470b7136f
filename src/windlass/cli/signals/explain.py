"""`windlass explain SIGNAL`: why it has not fired, or what became of it, in one paragraph."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.assembly import Opened
from windlass.cli import records
from windlass.cli.columns import indented
from windlass.cli.session import Session
from windlass.cli.signals.listing import status
from windlass.cli.signals.names import find_signal_id
from windlass.cli.terminal import escape
from windlass.model.explanation import Explanation
from windlass.model.signal import Signal


def explain(session: Session, text: str) -> None:
    async def ask(opened: Opened) -> tuple[Explanation, Signal]:
        signal_id = await find_signal_id(opened.signals, text, namespace=session.namespace)
        told = await opened.signals.explain_signal(session.namespace, signal_id)
        # Read again: it must not be older than what is said about it.
        return told, (await opened.signals.get_signal(session.namespace, signal_id)).signal

    (found, signal), screen = session.read(ask), session.screen
    found = replace(found, text=session.advise(found.text))
    if session.is_json:
        screen.write_json(_record(found, signal))
        return
    title = status(signal).append(f"  {signal.id}", style="bold default")
    screen.write(screen.draw_whole(title, *indented(escape(found.text), screen=screen)))


def _record(found: Explanation, signal: Signal) -> dict[str, object]:
    """That of a signal has its id, and its own status."""
    told = records.explanation(found)
    return {"signal": signal.id, "status": signal.status.value} | {
        name: told[name] for name in ("code", "text", "at", "since", "until")
    }

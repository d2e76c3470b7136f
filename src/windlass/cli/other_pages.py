"""The pages of what is neither a run nor a pipeline: `windlass show` finds them by the id."""

from __future__ import annotations

from windlass.cli.items.names import ITEM
from windlass.cli.items.page import show_item
from windlass.cli.session import Session
from windlass.cli.signals.names import SIGNAL
from windlass.cli.signals.page import show_signal


def has_other_page(text: str | None) -> bool:
    return text is not None and (SIGNAL.is_meant(text) or ITEM.is_meant(text))


def write_other_page(session: Session, text: str) -> None:
    if SIGNAL.is_meant(text):
        show_signal(session, text)
    else:
        show_item(session, text)

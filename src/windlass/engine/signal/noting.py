"""What the log says about signals: also what is announced to those who follow it."""

from __future__ import annotations

from windlass.model.signal import Signal, SignalNews, SignalStatus
from windlass.store.queries.log import NewLogEntry
from windlass.store.signal_rows import news_to_bytes

SUBJECT = "signal"  # in the log


def noted(signal: Signal, *, was: SignalStatus | None, cause: str, news: SignalNews | None = None) -> NewLogEntry:
    return NewLogEntry(
        namespace=signal.namespace,
        subject_kind=SUBJECT,
        subject_id=signal.id,
        from_status=was,
        to_status=signal.status,
        cause=cause,
        data=None if news is None else news_to_bytes(news),
    )

"""Everything about one signal on a page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli import payloads
from windlass.cli.columns import DIM, indented, table, taken, title
from windlass.cli.session import Session
from windlass.cli.signals import records
from windlass.cli.signals.firings import blocks, columns_of
from windlass.cli.signals.listing import open_firings, status
from windlass.cli.signals.names import find_signal_id
from windlass.cli.terminal import Glyphs, Screen, escape
from windlass.model.duration import between, from_instant
from windlass.model.run import CANCELLED_BY, PAUSED_BY, RESUMED_BY, LogEntry
from windlass.model.signal import (
    CREATED,
    DELETED,
    FIRED,
    GAVE_UP,
    RESOLVED,
    UPDATED,
    FiringRow,
    ListFirings,
    SignalStatus,
    SignalView,
    TriggerKind,
)
from windlass.model.time import Instant
from windlass.rules.signal_words import subject

FIRINGS, HISTORY = 10, 10
RIGHT = ("attempt", "age")
CAUSES = {
    CREATED: "created",
    UPDATED: "changed",
    FIRED: "fired",
    GAVE_UP: "gave up",
    RESOLVED: "resolved",
    DELETED: "deleted",
    PAUSED_BY: "paused",
    RESUMED_BY: "resumed",
    CANCELLED_BY: "cancelled",
}


class SignalStory(Struct, frozen=True, kw_only=True):
    """What is known about a signal."""

    view: SignalView
    why: str  # what it watches and does, and why it has not fired, or what became of that
    firings: tuple[FiringRow, ...]
    log: tuple[LogEntry, ...]


def show_signal(session: Session, text: str) -> None:
    _write(session, session.read(lambda opened: _read(session, opened, text)))


async def _read(session: Session, opened: Opened, text: str) -> SignalStory:
    """Raises NotFound."""
    namespace = session.namespace
    signal_id = await find_signal_id(opened.signals, text, namespace=namespace)
    explanation, page, log = await asyncio.gather(
        opened.signals.explain_signal(namespace, signal_id),
        opened.signals.list_firings(ListFirings(namespace=namespace, signal_id=signal_id, limit=FIRINGS)),
        opened.signals.read_signal_log(namespace, signal_id),
    )
    # Read last: it must not be older than what is said about it.
    view = await opened.signals.get_signal(namespace, signal_id)
    return SignalStory(view=view, why=session.advise(explanation.text), firings=page.firings, log=log)


def _write(session: Session, story: SignalStory) -> None:
    if session.is_json:
        session.screen.write_json(_record(story))
    else:
        session.screen.write(_drawn(story, now=session.now(), screen=session.screen))


def _record(story: SignalStory) -> dict[str, object]:
    return {
        **records.view(story.view),
        "why": story.why,
        "firings": [records.firing(item) for item in story.firings],
        "log": [records.entry(entry) for entry in story.log],
    }


def _drawn(story: SignalStory, *, now: Instant, screen: Screen) -> str:
    head = [*_header(story, now=now, screen=screen), *_firings_title(story.view)]
    shown = screen.draw_whole(*head)
    if story.firings:
        columns = columns_of(story.firings, now=now, screen=screen, has_signal=False, is_short=True)
        if taken(columns) <= screen.width:
            shown += screen.draw(table(columns, right=RIGHT), width=taken(columns))
        else:
            shown += screen.draw_whole(*blocks(story.firings, now=now, screen=screen, has_signal=False))
    history = [*_history(story.log, screen=screen)]
    return shown + (screen.draw_whole(*history) if history else "")


def _header(story: SignalStory, *, now: Instant, screen: Screen) -> Iterator[Text]:
    view, signal = story.view, story.view.signal
    yield status(signal).append(f"  {signal.id}", style="bold default")
    yield from indented(escape(story.why), screen=screen)
    made = f"made {between(signal.created_at, now)} ago"
    facts = [
        _state(view),
        made if signal.declared_in is None else f"declared in {escape(signal.declared_in)}",
        f"key {escape(signal.key)}" if signal.key is not None else "",
    ]
    if signal.payload is not None:
        facts.append(f"payload {payloads.one_line(signal.payload, width=screen.width, glyphs=screen.glyphs)}")
    yield from indented(f" {screen.glyphs.dot} ".join(filter(None, facts)), screen=screen, style=DIM)


def _state(view: SignalView) -> str:
    """What its subject is in now; of an armed one the explanation says so."""
    trigger = view.signal.trigger
    if trigger.kind is TriggerKind.TIME or view.state is None or view.signal.status is SignalStatus.ARMED:
        return ""
    return escape(f"{subject(trigger)} is {view.state}")


def _firings_title(view: SignalView) -> Iterator[Text]:
    fired = view.signal.fired
    often = "Not fired yet" if not fired else "Fired once" if fired == 1 else f"Fired {fired:,} times"
    yield Text()
    line = Text(often, style="bold")
    if left := open_firings(view):
        line.append(": ").append_text(left)
    yield line


def _history(log: Sequence[LogEntry], *, screen: Screen) -> Iterator[Text]:
    if not log:
        return
    yield from title("History")
    if len(log) > HISTORY:
        yield Text(f"  {screen.glyphs.ellipsis} {len(log) - HISTORY:,} earlier (--json)", style=DIM)
    for entry in log[-HISTORY:]:
        begin = f"  {from_instant(entry.at):%Y-%m-%d %H:%M:%S} UTC  "
        first, *rest = indented(_told(entry, glyphs=screen.glyphs), screen=screen, by=len(begin))
        yield Text(begin, style=DIM).append(first.plain[len(begin) :], style="default")
        yield from rest


def _told(entry: LogEntry, *, glyphs: Glyphs) -> str:
    news = records.news(entry)
    words = CAUSES.get(entry.cause, entry.cause)
    if news.by is not None:
        words += f" by {news.by}"
    if news.subject_id is not None and news.to_status is not None and news.subject_kind != "time":
        words += f": {news.subject_id} {news.from_status or 'new'} {glyphs.arrow} {news.to_status}"
    if (done := news.run_id or news.task_id) is not None:
        words += f", {done}"
    if news.note is not None:
        words += f": {news.note}"
    return escape(words)

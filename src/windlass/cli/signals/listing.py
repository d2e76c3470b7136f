"""Which signals there are: what each watches and does in words, and what it has fired."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.text import Text

from windlass.api.signal_service import Signals
from windlass.cli.columns import DIM, PADDING, Columns, indented, table, taken, width_for
from windlass.cli.lookup import shortest
from windlass.cli.runs import READERS, age
from windlass.cli.session import Session
from windlass.cli.signals import records
from windlass.cli.terminal import Screen, cut, escape, wrapped
from windlass.errors import NotFound
from windlass.model.signal import ListSignals, Signal, SignalId, SignalStatus, SignalView, TriggerKind
from windlass.model.time import Instant
from windlass.rules.signal_words import does, how_often, watched

RIGHT = ("fired",)
LONGEST_DEED = 40
IDS = re.compile(r"\b((?:run|itm)_[0-9A-Z]{10})[0-9A-Z]{16}\b")
STYLES = {
    SignalStatus.ARMED: "green",
    SignalStatus.PAUSED: "bold magenta",
    SignalStatus.FIRED: "cyan",
    SignalStatus.RESOLVED: DIM,
    SignalStatus.CANCELLED: DIM,
}

NONE_YET = (
    "No signals yet. Say what to do when something enters a state:",
    "  windlass signals create --workflow order --enters failed --start page_on_call",
    '  windlass signals create --item any --enters blocked --task "Unblock it"',
    'Or in code: @app.on(order, enters="failed")',
)


class Listing(Struct, frozen=True, kw_only=True):
    views: tuple[SignalView, ...]
    next: str | None


async def read(signals: Signals, queries: Sequence[ListSignals]) -> Listing:
    """Several queries, where a name may be that of several kinds of things, make one list; they have one limit."""
    pages = [await signals.list_signals(query) for query in queries]
    limit, namespace = queries[0].limit, queries[0].namespace
    found = sorted((signal for page in pages for signal in page.signals), key=lambda signal: signal.id, reverse=True)
    is_more = len(found) > limit or any(page.next is not None for page in pages)
    found = found[:limit]
    gate = asyncio.Semaphore(READERS)

    async def look(signal_id: SignalId) -> SignalView | None:
        async with gate:
            try:
                return await signals.get_signal(namespace, signal_id)
            except NotFound:  # deleted since the page was read
                return None

    views = await asyncio.gather(*(look(signal.id) for signal in found))
    return Listing(
        views=tuple(view for view in views if view is not None), next=found[-1].id if found and is_more else None
    )


def record(listing: Listing) -> dict[str, object]:
    return {"signals": [records.view(view) for view in listing.views], "next": listing.next}


def drawn(session: Session, listing: Listing, *, filters: str, is_first: bool = True) -> str:
    """A table where there is room for one, else some lines for each."""
    screen, now = session.screen, session.now()
    if not listing.views and (filters or not is_first):
        return screen.draw(Text("No signals match.", style=DIM))
    if not listing.views:
        return screen.draw_whole(*(Text(session.advise(line), style=DIM) for line in NONE_YET))
    columns = _columns(listing.views, now=now, screen=screen)
    if taken(columns) > width_for(screen):
        length = shortest([view.signal.id for view in listing.views])
        columns["id"] = [Text(view.signal.id[:length]) for view in listing.views]
    if taken(columns) <= width_for(screen):
        notes = [*_notes(listing.views, screen=screen)]
        shown = screen.draw(table(columns, right=RIGHT), width=taken(columns))
        shown += screen.draw_whole(*notes) if notes else ""
    else:
        shown = screen.draw_whole(*_blocks(listing.views, now=now, screen=screen))
    if listing.next is not None and screen.is_terminal:
        older = session.advise(f"windlass signals {filters}--before {listing.next}")
        shown += screen.draw_whole(Text(f"older: {escape(older)}", style=DIM))
    return shown


def _columns(views: Sequence[SignalView], *, now: Instant, screen: Screen) -> Columns:
    columns: Columns = {
        "id": [Text(view.signal.id) for view in views],
        "status": [status(view.signal) for view in views],
        "watches": [Text(_brief(watched(view.signal), screen=screen)) for view in views],
        "does": [_cut(_brief(does(view.signal), screen=screen), screen=screen) for view in views],
        "how often": [Text(how_often(view.signal)) for view in views],
        "fired": [Text(f"{view.signal.fired:,}") for view in views],
        "last fired": [Text(_last(view.signal, now=now), style=DIM) for view in views],
        "firings": [open_firings(view) for view in views],
    }
    if not any(columns["firings"]):
        del columns["firings"]
    return columns


def _cut(text: str, *, screen: Screen) -> Text:
    return Text(cut(text, LONGEST_DEED, glyphs=screen.glyphs) if screen.is_terminal else text)


def _blocks(views: Sequence[SignalView], *, now: Instant, screen: Screen) -> Iterator[Text]:
    """Beside each id what it watches; below that what it does, and what it has fired."""
    length = shortest([view.signal.id for view in views])
    words = max(len(view.signal.status) for view in views)
    room = length + words + 2 * PADDING
    for view in views:
        signal = view.signal
        head = Text(f"{signal.id[:length]}{' ' * PADDING}").append_text(status(signal))
        head.pad_right(room - head.cell_len)
        *lines, last = indented(_brief(f"{watched(signal)}, {deed(signal)}", screen=screen), screen=screen, by=room)
        story = _fired(view, now=now, dot=screen.glyphs.dot)
        if last.cell_len + len(" - ") + story.cell_len <= screen.width:
            lines.append(last.append(f" {screen.glyphs.dot} ", style=DIM).append_text(story))
        else:
            lines += [last, Text(" " * room).append_text(story)]
        yield head.append_text(lines[0][room:])
        yield from lines[1:]
        if why := _why(signal):
            yield from indented(why, screen=screen, by=room, style=STYLES[signal.status])


def _notes(views: Sequence[SignalView], *, screen: Screen) -> Iterator[Text]:
    """Why one does nothing, below a table that has no room for it."""
    for view in views:
        if why := _why(view.signal):
            text = f"{view.signal.id}: {why}"
            for number, line in enumerate(wrapped(text, width=screen.width - PADDING)):
                yield Text(line if number == 0 else f"  {line}", style=STYLES[view.signal.status])


def _why(signal: Signal) -> str:
    """What a person has to know of one that does nothing; safe to show."""
    if signal.declared_in is not None and not signal.is_declared:
        return escape(f"no longer declared in {signal.declared_in}: declare it there again, or delete it")
    if signal.status is SignalStatus.RESOLVED:
        return escape(signal.reason or "")
    if signal.status is not SignalStatus.PAUSED:
        return ""
    by = "" if signal.changed_by is None else f" by {signal.changed_by}"
    return escape(f"paused{by}{'' if signal.reason is None else f': {signal.reason}'}")


def _fired(view: SignalView, *, now: Instant, dot: str) -> Text:
    signal = view.signal
    often = f"fired {signal.fired:,} {'time' if signal.fired == 1 else 'times'}, last {_last(signal, now=now)}"
    story = Text(often if signal.fired else "not fired yet", style=DIM)
    if left := open_firings(view):
        story.append(f" {dot} ").append_text(left)
    return story


def _brief(text: str, *, screen: Screen) -> str:
    """On a terminal the ids in it are short: `windlass signals show` and a pipe have them whole."""
    return escape(IDS.sub(rf"\1{screen.glyphs.ellipsis}", text) if screen.is_terminal else text)


def status(signal: Signal) -> Text:
    return Text(signal.status.value, style=STYLES[signal.status])


def deed(signal: Signal) -> str:
    """What it does, and how often where that is not said by what it watches."""
    often = "" if signal.trigger.kind is TriggerKind.TIME else f", {how_often(signal)}"
    return f"{does(signal)}{often}"


def open_firings(view: SignalView) -> Text:
    """What is not done of what it has fired."""
    parts = []
    if view.failed:
        parts.append(Text(f"{view.failed:,} failed", style="bold red"))
    if view.queued:
        parts.append(Text(f"{view.queued:,} {'waits' if view.queued == 1 else 'wait'}", style="yellow"))
    return Text(", ").join(parts)


def _last(signal: Signal, *, now: Instant) -> str:
    return "" if signal.last_fired_at is None else f"{age(signal.last_fired_at, now=now)} ago"

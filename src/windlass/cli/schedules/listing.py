"""Which schedules there are: a line for each, and below the table what keeps one from firing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli import payloads
from windlass.cli.runs import READERS, age
from windlass.cli.schedules import clocks, records
from windlass.cli.session import Session
from windlass.cli.terminal import STATUS_STYLES, UNLIMITED, Glyphs, Screen, cut, escape, status_glyph, wrapped
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunStatus
from windlass.model.schedule import ScheduleView
from windlass.model.time import Duration, Instant
from windlass.rules.schedule_words import Standing, standing, times, why_late, why_not
from windlass.rules.workers import is_live

DIM = "bright_black"
ALARM = "bold red"
PADDING = 2
LONGEST_CALL = 28
COUNTS = ("skipped", "dropped")
STYLES = {
    Standing.ACTIVE: "green",
    Standing.LATE: ALARM,
    Standing.BLOCKED: "yellow",
    Standing.PAUSED: STATUS_STYLES[RunStatus.PAUSED],
    Standing.UNDECLARED: "yellow",
    Standing.BROKEN: ALARM,
}

Columns = dict[str, list[Text]]

NONE_YET = (
    "No schedules yet. Declare one in code, above a workflow; it is there once a worker of that code has started:",
    '  @app.schedule(cron="0 9 * * MON-FRI", tz="Europe/Rome")',
    "Or make one by hand, and see its times before:",
    '  windlass schedules preview --cron "0 9 * * MON-FRI" --tz Europe/Rome',
    '  windlass schedules create NAME WORKFLOW --cron "0 9 * * MON-FRI" --tz Europe/Rome',
)


class Item(Struct, frozen=True, kw_only=True):
    """A schedule, where it stands, and the last of its runs."""

    view: ScheduleView
    standing: Standing
    why: str | None  # it does not fire
    last: Run | None


async def read(session: Session, opened: Opened) -> list[Item]:
    views = await opened.schedules.list_schedules(session.namespace)
    gate = asyncio.Semaphore(READERS)

    async def look(view: ScheduleView) -> Item:
        async with gate:
            return await item_of(session, opened, view)

    return list(await asyncio.gather(*(look(view) for view in views)))


async def item_of(session: Session, opened: Opened, view: ScheduleView) -> Item:
    page = await opened.runs.list_runs(ListRuns(namespace=session.namespace, schedule=view.schedule.name, limit=1))
    last, now = page.runs[0] if page.runs else None, session.now()
    found = standing(view.schedule, now=now, grace=Duration(2 * session.settings.coordinate_for))
    why = why_not(view)
    if found is Standing.LATE:
        workers = await opened.runs.list_workers(session.namespace)
        has_workers = any(is_live(worker, now=now) for worker in workers)
        is_disabled = not (await opened.namespaces.get_namespace(session.namespace)).is_enabled
        why = why_late(view.schedule, now=now, has_workers=has_workers, is_disabled=is_disabled)
    return Item(view=view, standing=found, why=None if why is None else session.advise(why), last=last)


def record(items: Sequence[Item]) -> dict[str, object]:
    return {"schedules": [records.schedule(i.view, standing=i.standing, why=i.why, last=i.last) for i in items]}


def drawn(session: Session, items: Sequence[Item]) -> str:
    """A table where there is room for one, else some lines for each."""
    screen = session.screen
    if not items:
        return screen.draw_whole(*(Text(escape(session.advise(line)), style=DIM) for line in NONE_YET))
    # Into a pipe everything is written whole: grep and awk cannot scroll.
    width = screen.width if screen.is_terminal else UNLIMITED
    for columns in (
        _whole(items, now=session.now(), glyphs=screen.glyphs),
        _shorter(items, now=session.now(), glyphs=screen.glyphs),
    ):
        if _taken(columns) <= width:
            notes = [*_notes(items, has_counts="dropped" in columns, screen=screen)]
            return screen.draw(_table(columns), width=UNLIMITED) + (screen.draw_whole(*notes) if notes else "")
    return screen.draw_whole(*_blocks(items, now=session.now(), screen=screen), *_late(items, screen=screen))


def _table(columns: Columns) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, PADDING, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right" if header in COUNTS else "left")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _taken(columns: Columns) -> int:
    widths = (max(len(header), *(cell.cell_len for cell in cells)) for header, cells in columns.items())
    return sum(widths) + PADDING * (len(columns) - 1)


def _whole(items: Sequence[Item], *, now: Instant, glyphs: Glyphs) -> Columns:
    columns: Columns = {
        **_names(items, glyphs=glyphs),
        "starts": [Text(_call(item, glyphs=glyphs)) for item in items],
        "times": [Text(_times(item)) for item in items],
        "next": [_next(item, now=now, glyphs=glyphs) for item in items],
        "last run": [_last(item, now=now, glyphs=glyphs) for item in items],
    }
    if any(_counts(item) for item in items):
        for header in COUNTS:
            columns[header] = [_count(getattr(item.view.schedule, header)) for item in items]
    return columns


def _shorter(items: Sequence[Item], *, now: Instant, glyphs: Glyphs) -> Columns:
    """Without the zone, which stands beside the next time, without the word beside a sign, counts in a line below."""
    return {
        **_names(items, glyphs=glyphs),
        "starts": [Text(_call(item, glyphs=glyphs)) for item in items],
        "times": [Text(_short_times(item)) for item in items],
        "next": [_next(item, now=now, glyphs=glyphs) for item in items],
        "last run": [_last(item, now=now, glyphs=glyphs, is_short=True) for item in items],
    }


def _blocks(items: Sequence[Item], *, now: Instant, screen: Screen) -> Iterator[Text]:
    """Beside each name what it starts and when; below that how it stands, and its last run."""
    ((_, names),) = _names(items, glyphs=screen.glyphs).items()
    room = min(max(name.cell_len for name in names), screen.width // 3) + PADDING
    for item, name in zip(items, names, strict=True):
        name.truncate(room - PADDING, overflow="ellipsis")
        name.pad_right(room - name.cell_len)
        about = f"{_call(item, glyphs=screen.glyphs)} {screen.glyphs.dot} {_short_times(item)}"
        first, *rest = wrapped(about, width=screen.width - room)
        yield name.append(first, style="default not bold")
        below = [*map(Text, rest), *_stands(item, now=now, width=screen.width - room, glyphs=screen.glyphs)]
        yield from (Text(" " * room).append_text(line) for line in below)


def _stands(item: Item, *, now: Instant, width: int, glyphs: Glyphs) -> list[Text]:
    """When it fires next, or why it does not; and its last run, on the same line if there is room."""
    last = Text("last ", style=DIM).append_text(_last(item, now=now, glyphs=glyphs))
    if counts := _counts(item):
        last.append(f" {glyphs.dot} {counts}", style="yellow")
    if not _is_firing(item):
        why = wrapped(escape(item.why or ""), width=width)
        return [*(Text(line, style=STYLES[item.standing]) for line in why), last]
    following = _next(item, now=now, glyphs=glyphs)
    both = Text(f" {glyphs.dot} ", style=DIM).join([following, last])
    return [both] if both.cell_len <= width else [following, last]


def _names(items: Sequence[Item], *, glyphs: Glyphs) -> Columns:
    """In front of a name a sign, where it does not fire."""
    signs = {
        Standing.ACTIVE: " ",
        Standing.PAUSED: glyphs.paused,
        Standing.BLOCKED: glyphs.waiting,
    }
    if all(item.standing is Standing.ACTIVE for item in items):
        return {"name": [Text(escape(item.view.schedule.name), style="bold") for item in items]}
    cells = []
    for item in items:
        sign = Text(f"{signs.get(item.standing, '!')} ", style=STYLES[item.standing])
        cells.append(sign.append(escape(item.view.schedule.name), style="bold default"))
    return {"  name": cells}


def _call(item: Item, *, glyphs: Glyphs) -> str:
    """What it starts, in one line."""
    schedule = item.view.schedule
    whole = " ".join(line.strip() for line in payloads.call(schedule.workflow, schedule.input, width=LONGEST_CALL))
    return cut(whole, LONGEST_CALL, glyphs=glyphs)


def _times(item: Item) -> str:
    return escape(times(item.view.schedule.timing))


def _short_times(item: Item) -> str:
    """Without the zone where that stands beside the next time."""
    timing = item.view.schedule.timing
    return escape(times(timing).removesuffix(f" ({timing.tz})")) if _is_firing(item) else _times(item)


def _is_firing(item: Item) -> bool:
    return item.standing in (Standing.ACTIVE, Standing.LATE)


def _next(item: Item, *, now: Instant, glyphs: Glyphs) -> Text:
    """How far away, and on the clocks of its own zone."""
    schedule = item.view.schedule
    if not _is_firing(item):
        return Text(item.standing.value, style=STYLES[item.standing])
    if not item.view.next:
        return Text("")
    first = item.view.next[0]
    exact = f" {glyphs.dot} {clocks.in_short(first, schedule.timing, now=now)}"
    if first <= now:
        late = "now" if item.standing is Standing.ACTIVE else f"{age(first, now=now)} late"
        return Text(late, style=STYLES[item.standing]).append(exact, style="default not bold")
    return Text(f"in {age(now, now=first)}").append(exact, style=DIM)


def _last(item: Item, *, now: Instant, glyphs: Glyphs, is_short: bool = False) -> Text:
    run = item.last
    if run is None:
        return Text("none yet" if item.view.schedule.fired == 0 else "removed", style=DIM)
    at = run.finished_at or run.started_at or run.created_at
    word = "" if is_short else f" {run.status.value}"
    status = Text(f"{status_glyph(run.status, glyphs=glyphs)}{word}", style=STATUS_STYLES[run.status])
    return status.append(f" {age(at, now=now)} ago", style="default not bold")


def _count(count: int) -> Text:
    return Text(f"{count:,}" if count else "", style="yellow")


def _counts(item: Item) -> str:
    counts = {header: getattr(item.view.schedule, header) for header in COUNTS}
    return ", ".join(f"{count:,} {header}" for header, count in counts.items() if count)


def _notes(items: Sequence[Item], *, has_counts: bool, screen: Screen) -> Iterator[Text]:
    """What a table has no room for: why one does not fire, and the times that were let go."""
    for item in items:
        if item.why is not None and item.standing is not Standing.LATE:
            yield from _note(f"{item.view.schedule.name}: {item.why}", style=STYLES[item.standing], screen=screen)
    yield from _late(items, screen=screen)
    for item in () if has_counts else items:
        if counts := _counts(item):
            yield from _note(f"{item.view.schedule.name}: {counts}", style=DIM, screen=screen)


def _late(items: Sequence[Item], *, screen: Screen) -> Iterator[Text]:
    """One line for all of them: it is the same that is missing."""
    late = [item for item in items if item.standing is Standing.LATE]
    if late:
        _, _, advice = (late[0].why or "").partition(". ")
        told = f"{late[0].view.schedule.name} is" if len(late) == 1 else f"{len(late):,} schedules are"
        yield from _note(
            f"{told} late: nobody fires {'it' if len(late) == 1 else 'them'}. {advice}", style=ALARM, screen=screen
        )


def _note(text: str, *, style: str, screen: Screen) -> Iterator[Text]:
    for number, line in enumerate(wrapped(escape(text), width=screen.width - PADDING)):
        yield Text(line if number == 0 else f"  {line}", style=style)

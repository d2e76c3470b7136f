"""`windlass schedules show NAME`: everything about one schedule on a page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import click
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli import awaited, payloads
from windlass.cli import records as run_records
from windlass.cli.lookup import shortest
from windlass.cli.runs import WIDE
from windlass.cli.schedules import clocks, preview, records
from windlass.cli.schedules.listing import STYLES, Item, item_of
from windlass.cli.schedules.names import name_argument
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import STATUS_STYLES, Glyphs, Screen, cut, escape, status_glyph, wrapped
from windlass.errors import InvalidInput
from windlass.model.duration import between, describe, from_instant
from windlass.model.page import ListRuns
from windlass.model.run import PAUSED_BY, RESUMED_BY, LogEntry, Run
from windlass.model.schedule import Schedule
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules.schedule_words import Standing, catching_up, overlapping, spreading, times
from windlass.rules.slots import count_slots, upcoming

DIM = "bright_black"
TIMES, RUNS, HISTORY, OPEN = 5, 10, 10, 5
MOST_COUNTED = 1_000
CAUSES = {
    "create": "created",
    "change": "changed",
    "undeclared": "no longer declared",
    PAUSED_BY: "paused",
    RESUMED_BY: "resumed",
    "delete": "deleted",
}


class Story(Struct, frozen=True, kw_only=True):
    """What is known about a schedule."""

    item: Item
    next: tuple[Instant, ...]  # that are to come
    passed: int  # times that have, and are not decided on
    runs: tuple[Run, ...]
    log: tuple[LogEntry, ...]

    @property
    def schedule(self) -> Schedule:
        return self.item.view.schedule


@click.command(short_help="Show one schedule: when, what if, its runs, its history.")
@name_argument
@shared_options
@click.pass_obj
def show(session: Session, /, name: str) -> None:
    """Show one schedule: what it starts and when next, what becomes of missed times, its last runs, who changed it."""
    story = session.read(lambda opened: _read(session, opened, name))
    if session.is_json:
        session.screen.write_json(_record(story))
    else:
        session.screen.write(session.screen.draw_whole(*_page(story, now=session.now(), screen=session.screen)))


async def _read(session: Session, opened: Opened, name: str) -> Story:
    view = await opened.schedules.get_schedule(session.namespace, name)
    item, page, log = await asyncio.gather(
        item_of(session, opened, view),
        opened.runs.list_runs(ListRuns(namespace=session.namespace, schedule=name, limit=RUNS)),
        opened.schedules.read_schedule_log(session.namespace, name),
    )
    following, passed = _times(view.schedule, now=session.now())
    return Story(item=item, next=following, passed=passed, runs=page.runs, log=log)


def _times(schedule: Schedule, *, now: Instant) -> tuple[tuple[Instant, ...], int]:
    """Those to come, and how many have passed that nobody has decided on. One that cannot be read has none."""
    timing, anchor, last = schedule.timing, schedule.anchor, schedule.last_slot
    try:
        following = upcoming(timing, anchor, after=Instant(max(now, last)), count=TIMES)
        passed = count_slots(timing, anchor, after=last, until=now, most=MOST_COUNTED) if last < now else 0
    except InvalidInput:
        return (), 0
    return tuple(following), passed


def _record(story: Story) -> dict[str, object]:
    item = story.item
    return {
        **records.schedule(item.view, standing=item.standing, why=item.why, last=item.last),
        "next": [] if item.view.next == () else [run_records.instant(slot) for slot in story.next],
        "passed": story.passed,
        "runs": [records.ended(run) for run in story.runs],
        "log": [run_records.entry(entry) for entry in story.log],
    }


def _page(story: Story, *, now: Instant, screen: Screen) -> Iterator[Text]:
    yield from _header(story, screen=screen)
    yield from _when(story, now=now, screen=screen)
    yield from _what_if(story.schedule, screen=screen)
    yield from _runs(story, now=now, screen=screen)
    yield from _history(story.log, screen=screen)


def _header(story: Story, *, screen: Screen) -> Iterator[Text]:
    schedule, item = story.schedule, story.item
    first, *rest = payloads.call(schedule.workflow, schedule.input, width=screen.width - 4)
    title = Text(escape(schedule.name), style="bold").append(f"  {item.standing.value}", style=STYLES[item.standing])
    yield title
    yield Text(f"  starts {first}")
    yield from (Text(f"    {line}") for line in rest)
    written = f"cron {schedule.timing.cron}" if schedule.timing.cron is not None else ""
    facts = [
        escape(times(schedule.timing)),
        escape(written),
        f"queue {escape(schedule.queue)}" if schedule.queue != "default" else "",
        f"version {escape(schedule.version)}" if schedule.version else "",
        f"time-out {describe(schedule.timeout_for)}" if schedule.timeout_for is not None else "",
        f"declared in {escape(schedule.declared_in)}" if schedule.declared_in is not None else "made by hand",
    ]
    yield from _wrapped(f" {screen.glyphs.dot} ".join(fact for fact in facts if fact), screen=screen, style=DIM)
    if item.why is not None:
        yield from _wrapped(_sentence(escape(item.why)), screen=screen, style=STYLES[item.standing])


def _when(story: Story, *, now: Instant, screen: Screen) -> Iterator[Text]:
    if not story.next:
        return
    goes_on = story.item.standing in (Standing.ACTIVE, Standing.LATE, Standing.BLOCKED)
    yield from _title("Next" if goes_on else "Next, if it went on now")
    if goes_on and story.passed:
        many = "at least " if story.passed >= MOST_COUNTED else ""
        passed = "1 time has" if story.passed == 1 else f"{many}{story.passed:,} times have"
        when = "it goes on" if story.item.standing is Standing.BLOCKED else "somebody looks"
        line = f"{passed} passed; what becomes of that is decided when {when}"
        yield from _wrapped(line, screen=screen, style=STYLES[story.item.standing])
    yield from preview.lines(story.next, story.schedule.timing, now=now)


def _what_if(schedule: Schedule, *, screen: Screen) -> Iterator[Text]:
    yield from _title("What if")
    for sentence in (overlapping(schedule), catching_up(schedule), spreading(schedule)):
        if sentence:
            yield from _wrapped(sentence, screen=screen)


def _runs(story: Story, *, now: Instant, screen: Screen) -> Iterator[Text]:
    schedule, view = story.schedule, story.item.view
    counts = {"fired": schedule.fired, "skipped": schedule.skipped, "dropped": schedule.dropped}
    told = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count or word == "fired")
    yield from _title(f"Runs: {told}")
    for what, ids in (("not over", view.active), ("waits for its turn", view.queued)):
        shown = ", ".join(ids[:OPEN]) + (f" and {len(ids) - OPEN:,} more" if len(ids) > OPEN else "")
        if ids:
            yield from _wrapped(f"{what}: {shown}", screen=screen, style="yellow")
    rows = [_run(run, schedule, now=now, glyphs=screen.glyphs) for run in story.runs]
    room = max((status.cell_len for status, _ in rows), default=0)
    length = None if screen.width >= WIDE else shortest([run.id for run in story.runs])
    for run, (status, text) in zip(story.runs, rows, strict=True):
        status.pad_right(room - status.cell_len)
        line = Text("  ").append_text(status).append(f"  {run.id[:length]}  ", style=DIM)
        yield line.append(cut(text, max(screen.width - line.cell_len, 20), glyphs=screen.glyphs), style="default")


def _run(run: Run, schedule: Schedule, *, now: Instant, glyphs: Glyphs) -> tuple[Text, str]:
    """How it ended, for which time it was, and how late it began."""
    status = Text(f"{status_glyph(run.status, glyphs=glyphs)} {run.status.value}", style=STATUS_STYLES[run.status])
    if run.slot is None:
        meant = "triggered" if run.retry_of is None else f"tries {run.retry_of} again"
        return status, f"{meant} {between(run.created_at, now)} ago"
    return status, f"{clocks.in_full(run.slot, schedule.timing)}{_lateness(run, glyphs=glyphs)}"


def _lateness(run: Run, *, glyphs: Glyphs) -> str:
    if run.slot is None or run.started_at is None:
        return ""
    late = run.started_at - run.slot
    return f" {glyphs.dot} on time" if late < SECOND else f" {glyphs.dot} {describe(Duration(late))} late"


def _history(log: Sequence[LogEntry], *, screen: Screen) -> Iterator[Text]:
    if not log:
        return
    yield from _title("History")
    if len(log) > HISTORY:
        yield Text(f"  {screen.glyphs.ellipsis} {len(log) - HISTORY:,} earlier (--json)", style=DIM)
    for entry in log[-HISTORY:]:
        begin = f"  {from_instant(entry.at):%Y-%m-%d %H:%M:%S} UTC  "
        told = replace(entry, cause=CAUSES.get(entry.cause, entry.cause))
        head, rest = awaited.deed(told, width=screen.width - len(begin))
        yield Text(begin, style=DIM).append(f"{head}{': ' + rest if rest else ''}")


def _title(text: str) -> Iterator[Text]:
    yield Text()
    yield Text(text, style="bold")


def _wrapped(text: str, *, screen: Screen, style: str = "") -> Iterator[Text]:
    yield from (Text(f"  {line}", style=style) for line in wrapped(text, width=screen.width - 2))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

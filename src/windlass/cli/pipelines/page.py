"""`windlass show PIPELINE`: how it stands, what each of its handlers waits for, what it did lately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from windlass.assembly import Opened
from windlass.cli.pipelines import attempt_page, records
from windlass.cli.pipelines.listing import STYLES, issue_of, next_check, status
from windlass.cli.pipelines.names import ATTEMPT, ID_LENGTH, Meant, meant
from windlass.cli.pipelines.trace import attempt_style, effect_line
from windlass.cli.runs import age
from windlass.cli.session import Session
from windlass.cli.terminal import Glyphs, cut, escape, wrapped
from windlass.model.duration import between
from windlass.model.failure import in_one_line
from windlass.model.pipeline import HandlerKind, HandlerRun, HandlerRunId, HandlerStatus, PipelineStatus
from windlass.model.pipeline_commands import (
    HandlerRunPage,
    HandlerRunView,
    HandlerView,
    ListHandlerRuns,
    PipelineDetail,
)
from windlass.model.time import Instant
from windlass.rules.phases import holds_events
from windlass.rules.pipeline_words import Word
from windlass.rules.schedule_words import times

DIM = "bright_black"
ATTEMPTS = 50
FREE = (PipelineStatus.IDLE, PipelineStatus.RUNNING)  # else one of its handlers has stopped, and holds the others


class PipelineStory(Struct, frozen=True, kw_only=True):
    """What is known about a pipeline."""

    detail: PipelineDetail
    attempts: HandlerRunPage | None  # none: not asked for


Found = PipelineStory | HandlerRunView | Meant


async def read(session: Session, opened: Opened, subject: str | None, *, has_runs: bool) -> Found:
    """A pipeline, an attempt of one, or what may be a run."""
    if subject is not None and subject.startswith(ATTEMPT) and len(subject) == ID_LENGTH:
        return await opened.pipelines.get_handler_run(session.namespace, HandlerRunId(subject))
    found = await meant(opened.pipelines, subject, namespace=session.namespace)
    if found.pipeline is None:
        return found
    attempts = None
    if has_runs:
        name = found.pipeline.view.pipeline.name
        query = ListHandlerRuns(namespace=session.namespace, pipeline=name, limit=ATTEMPTS)
        attempts = await opened.pipelines.list_handler_runs(query)
    return PipelineStory(detail=found.pipeline, attempts=attempts)


def write(session: Session, story: PipelineStory | HandlerRunView, *, is_full: bool) -> None:
    screen = session.screen
    if isinstance(story, HandlerRunView):
        if session.is_json:
            screen.write_json(records.attempt_view(story))
        else:
            lines = attempt_page.page(story, now=session.now(), screen=screen, is_full=is_full)
            screen.write(screen.draw_whole(*lines))
        return
    if session.is_json:
        record = records.detail(story.detail)
        if story.attempts is not None:
            record["runs"] = [records.attempt(run) for run in story.attempts.runs]
            record["next"] = story.attempts.next
        screen.write_json(record)
        return
    screen.write(screen.draw_whole(*_head(session, story.detail)))
    screen.write(_tables(session, story))


def _head(session: Session, detail: PipelineDetail) -> Iterator[Text]:
    told, view, screen, now = detail.summary, detail.view, session.screen, session.now()
    yield status(told.status, glyphs=screen.glyphs).append(f"  {escape(told.name)}", style="bold default")
    following = next_check(detail, now=now)
    workers = "1 worker" if view.workers == 1 else f"{view.workers:,} workers" if view.workers else ""
    row = view.pipeline
    facts = [told.schedule, f"next check {following}" if following else "", told.pending, workers]
    facts += [f"queue {row.queue}" if row.queue != "default" else "", f"declared in {row.declared_in}"]
    dot = f" {screen.glyphs.dot} "
    for line in wrapped(dot.join(escape(fact) for fact in facts if fact), width=screen.width - 2):
        yield Text(f"  {line}", style=DIM)
    for line in wrapped(issue_of(session, detail), width=screen.width - 2) if told.issue else []:
        yield Text(f"  {line}", style=STYLES[Word(told.status)])
    yield from _current(session, detail)


def _current(session: Session, detail: PipelineDetail) -> Iterator[Text]:
    run, effect, now = detail.view.run, detail.view.effect, session.now()
    width, glyphs = session.screen.width, session.screen.glyphs
    if run is None:
        return
    titles = {PipelineStatus.RUNNING: "At work", PipelineStatus.IDLE: "Tried again next"}
    yield from _title(titles.get(detail.view.pipeline.status, "Stopped at"))
    line = Text(f"  {escape(run.handler)}", style="bold").append(f"  {run.phase.value}", style="default not bold")
    line.append(f"  {run.status.value}", style=attempt_style(run.status))
    again = "" if run.attempt == 1 else f", attempt {run.attempt}"
    yield line.append(f"  {run.id}{again}, began {between(run.created_at, now)} ago", style=DIM)
    if run.title:
        yield Text(f"    {cut(escape(run.title), width - 4, glyphs=glyphs)}")
    if run.failure is not None:
        yield Text(f"    {cut(escape(in_one_line(run.failure)), width - 4, glyphs=glyphs)}", style="red")
    if run.warning is not None:
        yield Text(f"    {cut(escape(run.warning), width - 4, glyphs=glyphs)}", style="yellow")
    if holds_events(run, effect):
        names = ", ".join(f"{item.topic} {item.id}" for item in run.reserved)
        yield Text(f"    {cut(f'holds {escape(names)}', width - 4, glyphs=glyphs)}")
    if effect is not None:
        yield Text("    ").append_text(effect_line(effect))
        if effect.failure is not None and effect.failure != run.failure:
            yield Text(f"      {cut(escape(in_one_line(effect.failure)), width - 6, glyphs=glyphs)}", style="red")
    if run.status is not HandlerStatus.ACTIVE:
        yield Text(f"    more: {escape(session.advise(f'windlass show {run.id}'))}", style=DIM)


def _tables(session: Session, story: PipelineStory) -> str:
    screen, now, detail = session.screen, session.now(), story.detail
    parts = screen.draw(*_title("Handlers"), _handlers(detail, now=now))
    if detail.summary.activity:
        dot = f" {screen.glyphs.dot} "
        lines = [f"  {escape(line).replace(' · ', dot)}" for line in detail.summary.activity]
        lines = [cut(line, screen.width, glyphs=screen.glyphs) for line in lines]
        parts += screen.draw(*_title("Lately"), *map(Text, lines))
    if story.attempts is not None:
        parts += screen.draw(*_title("Attempts"))
        if story.attempts.runs:
            runs = story.attempts.runs
            parts += screen.draw_whole(*_attempts(runs, now=now, width=screen.width, glyphs=screen.glyphs))
        else:
            parts += screen.draw(Text("  none yet", style=DIM))
    return parts


def _handlers(detail: PipelineDetail, *, now: Instant) -> Table:
    drawn = _table("  name", "begins", "next", "pending", "last run")
    is_held = detail.view.pipeline.is_paused or detail.view.pipeline.status not in FREE
    for item in detail.view.handlers:
        row, spec = item.handler, item.handler.spec
        name = Text(f"  {escape(row.name)}", style="bold" if row.is_declared else DIM)
        begins = times(spec.timing) if spec.timing is not None else f"events in {', '.join(spec.topics)}"
        if not row.is_declared:
            begins = "no longer declared"
        pending = f"{item.pending:,}" if item.pending else ""
        if pending and item.oldest_at is not None:
            pending += f", since {age(item.oldest_at, now=now)}"
        following = Text("held", style=DIM) if is_held and row.is_declared else _next(item, now=now)
        drawn.add_row(name, Text(escape(begins)), following, Text(pending), _last(item.last_run, now=now))
    return _keep_whole(drawn, "  name", "next", "pending", "last run")


def _next(item: HandlerView, *, now: Instant) -> Text:
    """When it begins next, as far as that is known."""
    row = item.handler
    if not row.is_declared:
        return Text("")
    if row.is_queued or row.is_dirty:
        return Text("now", style="yellow")
    is_producer = row.spec.kind is HandlerKind.PRODUCER
    at = row.next_at if is_producer else row.wake_at
    if at is None:
        return Text("" if is_producer else "at the next event", style=DIM)
    when = "now" if at <= now else f"in {age(now, now=at)}"
    return Text(when if is_producer else f"wakes {when}", style="yellow" if at <= now else "")


def _last(run: HandlerRun | None, *, now: Instant) -> Text:
    if run is None:
        return Text("none yet", style=DIM)
    word = Text(run.status.value, style=attempt_style(run.status))
    return word.append(f" {age(run.ended_at or run.updated_at, now=now)} ago", style="default not bold")


def _attempts(runs: Sequence[HandlerRun], *, now: Instant, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """Whole ids: they are there to be copied. Below each what it did, or how it failed."""
    room = max(len(escape(run.handler)) for run in runs)
    for run in runs:
        line = Text(f"  {run.id}  {escape(run.handler):{room}}  ")
        line.append(run.status.value, style=attempt_style(run.status))
        where = "" if run.phase.value == run.status.value else f" at {run.phase.value}"
        again = "" if run.attempt == 1 else f", attempt {run.attempt}"
        yield line.append(f"{where}{again}, {age(run.created_at, now=now)} ago", style=DIM)
        told = in_one_line(run.failure) if run.failure is not None else run.title
        if told:
            yield Text(f"    {cut(escape(told), width - 4, glyphs=glyphs)}", style="red" if run.failure else "")


def _table(*headers: str) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, 2, 0, 0))
    for header in headers:
        drawn.add_column(header, no_wrap=True, overflow="ellipsis")
    return drawn


def _keep_whole(drawn: Table, *headers: str) -> Table:
    """Where there is too little room, break the lines of the other columns: of those that may not, all would be cut."""
    for column in drawn.columns:
        if column.header in headers:
            column.min_width = max(len(str(cell)) for cell in (column.header, *column.cells))
        else:
            column.no_wrap = False
    return drawn


def _title(text: str) -> Iterator[Text]:
    yield Text()
    yield Text(text, style="bold")

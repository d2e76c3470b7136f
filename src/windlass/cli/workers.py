"""`windlass workers`: who executes runs, where, and how each stands; and `drain`, to ask one to leave."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import click
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text as Line

from windlass.api.service import Control, Runs
from windlass.cli import records
from windlass.cli.ids import ID_LENGTH, SHOWN_CANDIDATES
from windlass.cli.lookup import shortest
from windlass.cli.runs import age
from windlass.cli.session import Session, Text, shared_options
from windlass.cli.terminal import UNLIMITED, Glyphs, cut, escape
from windlass.cli.values import by_option, person
from windlass.errors import InvalidInput, NotFound
from windlass.model.run import WorkerId
from windlass.model.time import DAY, Duration, Instant
from windlass.model.worker import Served, Standing, Worker
from windlass.rules.workers import said_goodbye, standing

DIM = "bright_black"
ALARM = "bold red"
WIDE = 160  # from here on there is room for whole ids
ROOMY = 120  # and from here on for whole names of machines
PADDING = 2
SHORTEST_SERVED, LONGEST_HOST = 12, 30
FIRST_TO_GO = ("started", "done", "failed")
COUNTS = ("runs", "done", "failed", "seen", "started")
DEFAULT_QUEUE = "default"
PREFIX = re.compile("wrk_[0-9A-HJKMNP-TV-Z]{1,26}")
STYLES = {Standing.ONLINE: "green", Standing.DRAINING: "yellow", Standing.SILENT: ALARM, Standing.OFFLINE: DIM}

Columns = dict[str, list[Line]]

NONE_THERE = (
    "No workers are there, so nothing is executed. Start one in the folder of your code:",
    "  windlass worker MODULE:APP",
    "  windlass worker MODULE:APP --queue NAME --slots 10",
    'Or inside a program: "async with app.worker():". Those that have stopped: windlass workers --all',
)
NONE_EVER = (*NONE_THERE[:3], 'Or inside a program: "async with app.worker():". None has stopped within a day.')


class Drainable(click.Group):
    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:  # whoever types an id here wants something of that worker
            hint = f"To ask one to leave: windlass workers drain {shlex.quote(args[0])}"
            raise click.UsageError(f"{error.format_message()} {hint}.", ctx) from None


@click.group(cls=Drainable, invoke_without_command=True, short_help="List workers; ask one to leave.")
@click.option("--all", "is_all", is_flag=True, help="Also those that stopped within a day.")
@shared_options
@click.pass_context
def workers(ctx: click.Context, /, *, is_all: bool) -> None:
    """List workers: where each runs, how it stands, what it serves, and how much it does.

    Online: it is there. Draining: it takes nothing new, and leaves. Silent: nothing was heard of it for a while.
    """
    if ctx.invoked_subcommand is not None:
        return
    session = ctx.ensure_object(Session)
    found = session.read(lambda opened: _read(session, opened.runs, is_all=is_all))
    if session.is_json:
        silent_for = session.settings.stale_for
        record = [records.worker(item, now=session.now(), silent_for=silent_for) for item in found]
        session.screen.write_json({"workers": record})
        return
    session.screen.write(_drawn(session, found, is_all=is_all))


@workers.command(short_help="Ask a worker to leave.")
@click.argument("worker", metavar="WORKER", type=Text(lambda text: check_prefix(text)))
@by_option
@shared_options
@click.pass_obj
def drain(session: Session, /, worker: str, *, by: str | None) -> None:
    """Ask a worker to leave: it takes nothing new, lets running bodies end within its grace, gives the rest back, goes.

    WORKER is the id of a worker or the beginning of it. `windlass worker` exits then, with 0.
    """

    async def ask(runs: Runs, control: Control) -> Worker:
        id = await _meant(session, runs, worker)
        return await control.drain_worker(session.namespace, id, person(by))

    found = session.steer(ask)
    if session.is_json:
        silent_for = session.settings.stale_for
        session.screen.write_json(records.worker(found, now=session.now(), silent_for=silent_for))
        return
    who = f"{found.id} on {escape(found.host)} (pid {found.pid})"
    where = "" if found.active == 1 else f" in {found.active:,} slots"
    then = f"goes once what it has at work{where} has ended or its grace is over" if found.active else "goes at once"
    line = f"{who} is asked to leave: it takes nothing new, and {then}. See: {session.advise('windlass workers')}"
    session.screen.write(session.screen.draw_whole(Line(line)))


def check_prefix(text: str) -> str:
    """The beginning of a worker id; "wrk_" itself may be left out."""
    prefix = text if text.startswith("wrk_") else f"wrk_{text}"
    if PREFIX.fullmatch(prefix) is None:
        raise InvalidInput(
            f'{text[:60]!a} is no worker id: "wrk_" and 26 digits and capital letters, or the beginning of that.',
            reason="invalid_id",
            path="WORKER",
        )
    return prefix


async def _read(session: Session, runs: Runs, *, is_all: bool) -> tuple[Worker, ...]:
    since = Instant(max(0, session.now() - DAY)) if is_all else None
    return await runs.list_workers(session.namespace, since)


async def _meant(session: Session, runs: Runs, prefix: str) -> WorkerId:
    """The one worker that begins like this; one that is there before those that have stopped."""
    if len(prefix) == ID_LENGTH:
        return WorkerId(prefix)
    found = [worker for worker in await _read(session, runs, is_all=True) if worker.id.startswith(prefix)]
    candidates = [worker.id for worker in found if worker.stopped_at is None] or [worker.id for worker in found]
    if not candidates:
        raise NotFound("worker", prefix, hint="See which there are: windlass workers")
    if len(candidates) > 1:
        names = ", ".join(candidates[:SHOWN_CANDIDATES]) + (", …" if len(candidates) > SHOWN_CANDIDATES else "")
        message = f"Several workers begin with {prefix!r}: {names}. Write more of the id."
        raise InvalidInput(message, reason="ambiguous_id", path="WORKER")
    return candidates[0]


def _drawn(session: Session, found: Sequence[Worker], *, is_all: bool) -> str:
    screen = session.screen
    if not found:
        lines = NONE_EVER if is_all else NONE_THERE
        return screen.draw_whole(*(Line(escape(session.advise(line)), style=DIM) for line in lines))
    # Into a pipe everything is written whole: grep and awk cannot scroll.
    width = screen.width if screen.is_terminal else UNLIMITED
    silent_for = session.settings.stale_for
    drawn = screen.draw(
        table(found, now=session.now(), silent_for=silent_for, width=width, glyphs=screen.glyphs), width=UNLIMITED
    )
    notes = [*_notes(found, glyphs=screen.glyphs)]
    return drawn + (screen.draw_whole(*notes) if notes else "")


def table(found: Sequence[Worker], *, now: Instant, silent_for: Duration, width: int, glyphs: Glyphs) -> Table:
    """One row per worker. Where there is little room, ids are as long as it takes to tell them apart."""
    length = None if width >= WIDE else shortest([worker.id for worker in found])
    columns: Columns = {
        "id": [Line(worker.id[:length]) for worker in found],
        "status": [_status(worker, now=now, silent_for=silent_for, glyphs=glyphs) for worker in found],
        "where": [_where(worker, width=width, glyphs=glyphs) for worker in found],
        "runs": [_runs(worker) for worker in found],
        "done": [_count(worker.completed) for worker in found],
        "failed": [_count(worker.failed, style="red") for worker in found],
        "seen": [_seen(worker, now=now, silent_for=silent_for) for worker in found],
        "started": [Line(age(worker.started_at, now=now), style=DIM) for worker in found],
    }
    room = _fit(columns, width=width)
    columns["serves"] = [_serves(worker, width=room, glyphs=glyphs) for worker in found]
    drawn = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, PADDING, 0, 0))
    for header in columns:
        drawn.add_column(header, no_wrap=True, justify="right" if header in COUNTS else "left")
    for row in zip(*columns.values(), strict=True):
        drawn.add_row(*row)
    return drawn


def _fit(columns: Columns, *, width: int) -> int:
    """Leave out columns while there is too little room for what is served. Says how much that is."""

    def left() -> int:
        taken = (max(len(header), *(cell.cell_len for cell in cells)) for header, cells in columns.items())
        return width - sum(taken) - PADDING * len(columns)

    if left() < SHORTEST_SERVED and all(cell.plain == "0" for cell in columns["failed"]):
        del columns["failed"]
    for header in FIRST_TO_GO:
        if left() < SHORTEST_SERVED:
            columns.pop(header, None)
    return max(left(), SHORTEST_SERVED)


def _status(worker: Worker, *, now: Instant, silent_for: Duration, glyphs: Glyphs) -> Line:
    stands = standing(worker, now=now, silent_for=silent_for)
    signs = {
        Standing.ONLINE: glyphs.completed,
        Standing.DRAINING: glyphs.waiting,
        Standing.SILENT: glyphs.interrupted,
        Standing.OFFLINE: glyphs.cancelled if said_goodbye(worker) else glyphs.interrupted,
    }
    return Line(f"{signs[stands]} {stands.value}", style=STYLES[stands])


def _where(worker: Worker, *, width: int, glyphs: Glyphs) -> Line:
    longest = LONGEST_HOST if width >= ROOMY else max(width // 6, SHORTEST_SERVED)
    pid = f":{worker.pid}"
    return Line(cut(escape(worker.host), longest - len(pid), glyphs=glyphs) + pid)


def _runs(worker: Worker) -> Line:
    if worker.stopped_at is not None:
        return Line("")
    return Line(f"{worker.active:,}/{worker.slots:,}", style="yellow" if worker.active >= worker.slots else "")


def _count(count: int, *, style: str = "") -> Line:
    return Line(f"{count:,}", style=style if count else DIM)


def _seen(worker: Worker, *, now: Instant, silent_for: Duration) -> Line:
    is_silent = standing(worker, now=now, silent_for=silent_for) is Standing.SILENT
    return Line(age(worker.seen_at, now=now), style=ALARM if is_silent else DIM)


def _serves(worker: Worker, *, width: int, glyphs: Glyphs) -> Line:
    """As many names as there is room for, and how many there are beside them: workflows, then pipelines."""
    names = [escape(_name(item)) for item in worker.served]
    names += [escape(_name(Served(item.queue, item.name))) for item in worker.pipelines]
    if not names:
        return Line("nothing", style=ALARM)
    for shown in range(len(names), 0, -1):
        behind = f", +{len(names) - shown}" if shown < len(names) else ""
        text = ", ".join(names[:shown]) + behind
        if cell_len(text) <= width:
            return Line(text)
    return Line(cut(names[0], width - len(behind), glyphs=glyphs) + behind)


def _name(item: Served) -> str:
    """A workflow, with its queue and version where they say something."""
    queue = "" if item.queue == DEFAULT_QUEUE else f"{item.queue}/"
    return f"{queue}{item.name}" + (f"@{item.version}" if item.version else "")


def _notes(found: Sequence[Worker], *, glyphs: Glyphs) -> Iterator[Line]:
    lost = sum(worker.stopped_at is not None and not said_goodbye(worker) for worker in found)
    if lost:
        who = "1 worker" if lost == 1 else f"{lost:,} workers"
        yield Line(f"{glyphs.interrupted} {who} said no goodbye: found dead, or silent for too long.", style=DIM)

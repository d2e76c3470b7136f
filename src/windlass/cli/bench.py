"""`windlass bench`: how fast is Windlass on this machine, at full durability, beside the bare store?"""

from __future__ import annotations

import os
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType

import click
from rich.table import Table
from rich.text import Text

from windlass.bench import report, scratch
from windlass.bench.cases import CASES, RAW
from windlass.bench.durable import BenchFailed
from windlass.bench.once import Record, measure
from windlass.bench.report import Line
from windlass.cli import session as sessions
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import UNLIMITED, Screen
from windlass.errors import InvalidInput
from windlass.settings import Location, parse_url

ROUNDS, MOST_ROUNDS = 3, 100
DIM = "bright_black"
CLEAR_LINE = "\r\x1b[K"
STORES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
DURABLE = {"sqlite": "synchronous = full", "postgresql": "fsync and synchronous_commit = on"}


def _check_place(text: str) -> str:
    location = parse_url(text, source="--db")
    if location.kind == "grpc" or (location.kind == "sqlite" and not Path(location.target).is_dir()):
        raise InvalidInput(
            f"{text!r} is not a folder. It takes a folder, in which a file is made and removed again, or postgresql://…",
            reason="invalid_option",
            path="--db",
        )
    return text


@click.command(short_help="Measure how fast it is here, beside the bare store.")
@click.option(
    "--db",
    "place",
    type=sessions.Text(_check_place),
    default=".",
    metavar="PLACE",
    help="A folder to measure SQLite in, or a PostgreSQL server.  [default: this folder]",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, MOST_ROUNDS),
    default=ROUNDS,
    show_default=True,
    help="How often each is measured.",
)
@click.option(
    "--only", "chosen", type=click.Choice([*CASES]), multiple=True, help="Measure only this; may be repeated."
)
@shared_options
@click.pass_context
def bench(ctx: click.Context, /, *, place: str, rounds: int, chosen: tuple[str, ...]) -> None:
    """Measure how fast Windlass is on this machine, beside the bare store: half a minute, and nothing is left behind.

    One worker process, bodies that do nothing, full durability: the settings are read back, and nothing is reported if
    a commit would not survive a power cut. Every measurement has a process and a database of its own: a file in a
    folder made in PLACE, or a database windlass_bench_… on the server, which this user must be allowed to create.
    """
    session = ctx.ensure_object(Session)
    if session.given_url is not None or session.given_namespace is not None:
        raise click.UsageError("The bench measures in databases of its own; leave --url and --namespace out. See --db.")
    names = [name for name in CASES if not chosen or name in chosen]
    location = parse_url(place)
    try:
        with _told_to_stop() as stopped:
            records = [*_measured(location, names, rounds=rounds, stopped=stopped)]
    except BenchFailed as failed:
        raise click.ClickException(str(failed)) from None
    except KeyboardInterrupt:
        click.echo("Stopped: nothing is reported, and nothing is left behind.", err=True)
        ctx.exit(128 + (stopped[0] if stopped else signal.SIGINT))
    lines = report.lines(records, names)
    if session.is_json:
        session.screen.write_json(_record(records[0], lines, rounds=rounds))
    else:
        session.screen.write(_drawn(session.screen, records[0], lines, rounds=rounds))


def _measured(location: Location, names: Sequence[str], *, rounds: int, stopped: Sequence[int]) -> Iterator[Record]:
    """Round by round, so that a slow minute of the machine hits all of them."""
    cases = [name for name in CASES if name in names or name == RAW]  # what is beside them is measured beside them
    done, total = 0, rounds * len(cases)
    with _Progress() as progress:
        for number in range(1, rounds + 1):
            for name in cases:
                if stopped:
                    raise KeyboardInterrupt
                done += 1
                progress.show(f"{done} of {total}: {name}, round {number} of {rounds}")
                with scratch.database(location) as url:
                    record = measure(name, url, size=CASES[name].brief, is_stopped=lambda: bool(stopped))
                yield record


class _Progress:
    """A line on the standard error that is rewritten, if that is a terminal."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.show("")

    def show(self, text: str) -> None:
        if self._is_shown:
            click.echo(f"{CLEAR_LINE}{text}", err=True, nl=False)


@contextmanager
def _told_to_stop() -> Iterator[list[int]]:
    """What has told us to stop, to be looked at where nothing can be left behind. Told twice, we stop where we are."""
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        stopped.append(number)
        if len(stopped) > 1:
            raise KeyboardInterrupt

    before = {
        number: signal.signal(number, stop)
        for number in scratch.TOLD_TO_STOP
        if signal.getsignal(number) is not signal.SIG_IGN  # as under nohup
    }
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _drawn(screen: Screen, first: Record, lines: Sequence[Line], *, rounds: int) -> str:
    table = Table(box=None, pad_edge=False, header_style=DIM, padding=(0, 2, 0, 0))
    for header in report.HEADERS:
        table.add_column(header, no_wrap=True, justify="right" if header == "median" else "left")
    for line in lines:
        words, told, spread, beside = line.cells
        table.add_row(words, Text(told, style="bold"), Text(spread, style=DIM), beside)
    many = "1 round" if rounds == 1 else f"{rounds} rounds"
    head = (
        Text(f"{STORES[first.store]} {_version(first)}, {DURABLE[first.store]}", style="bold"),
        Text(f"{_machine()}; {many}, every measurement in a process and a database of its own", style=DIM),
    )
    # No number is cut: whoever has less room has a terminal that wraps.
    return screen.draw_whole(*head) + "\n" + screen.draw(table, width=UNLIMITED)


def _record(first: Record, lines: Sequence[Line], *, rounds: int) -> dict[str, object]:
    return {
        "store": first.store,
        "version": _version(first),
        "durability": first.durability,
        "windlass": version("windlass"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "rounds": rounds,
        "figures": [
            {
                "case": line.case,
                "figure": line.figure,
                "text": line.words,
                "unit": line.unit,
                "median": line.median,
                "low": min(line.values),
                "high": max(line.values),
                "values": [*line.values],
                "bare_store": None
                if line.beside is None
                else {"figure": line.beside.figure, "median": line.beside.median, "text": line.beside.text},
            }
            for line in lines
        ],
    }


def _version(record: Record) -> str:
    said = record.durability.get("sqlite_version") or record.durability.get("server_version", "")
    return said.split(" ")[0]


def _machine() -> str:
    cores = os.cpu_count() or 1
    return f"{'1 core' if cores == 1 else f'{cores} cores'}, Python {platform.python_version()}"

"""`windlass demo`: kill workers, kill everything, and count whether anything was lost or done again."""

from __future__ import annotations

import asyncio
import math
import signal
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from windlass.assembly import open_engine
from windlass.cli import session as sessions
from windlass.cli import verdict
from windlass.cli.serving import refuse_uninstalled, showing
from windlass.cli.session import Session, shared_options
from windlass.cli.stage import JsonStage, Stage
from windlass.demo.scenes import Ending
from windlass.demo.story import Story
from windlass.demo.workers import DATABASE, DemoFailed, Workers
from windlass.errors import InvalidInput
from windlass.model.time import SECOND, Duration
from windlass.runtime import system_rng
from windlass.server.server import ServerOptions
from windlass.settings import Settings

FAILED = 1
PREFIX = "windlass-demo-"
TOLD_TO_STOP = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
BRIEFLY = Duration(SECOND)  # for pages that are open when it ends
READING = 1.5  # seconds between two parts of the end


class Pace(click.FloatRange):
    """A number in a range: one that is none is neither below nor above it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if math.isnan(float(super().convert(value, param, ctx))):
            self.fail("it is not a number.", param, ctx)
        return super().convert(value, param, ctx)


def _check_folder(text: str) -> str:
    if not text:
        raise InvalidInput("it is empty; name a new or an empty folder.", reason="invalid_option", path="--folder")
    return text


@click.command(short_help="Kill workers and watch nothing get lost.")
@click.option(
    "--folder",
    "kept",
    type=sessions.Text(_check_folder),
    metavar="FOLDER",
    help="Play in this new or empty folder, and leave it.",
)
@click.option("--keep", "is_served", is_flag=True, help="Keep it up afterwards, with its dashboard, until Ctrl-C.")
@click.option("--pace", type=Pace(0.05, 10), default=1.0, show_default=True, help="0.5: twice as fast.")
@shared_options
@click.pass_context
def demo(ctx: click.Context, /, *, kept: str | None, is_served: bool, pace: float) -> None:
    """Kill workers, kill everything, and count whether anything was lost or done again.

    It takes 20 to 25 seconds, in a folder of its own that is removed afterwards. The count comes from a journal that is
    kept outside the engine; the exit code is 1 if anything is not as promised.
    """
    session: Session = ctx.obj
    if is_served:
        refuse_uninstalled()
    folder = None if kept is None else Path(kept)
    if session.given_url is not None or session.given_namespace is not None:
        raise click.UsageError("The demo plays on a database of its own; leave --url and --namespace out.")
    stopped: list[signal.Signals] = []
    try:
        with _place(folder, pace=pace) as workers:
            performance = _Performance(session, workers=workers, kept=folder, pace=pace, is_served=is_served)
            ending = asyncio.run(_until_told(performance, stopped))
    except DemoFailed as failed:
        raise click.ClickException(str(failed)) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo(f"Stopped: no worker is left{'' if kept else ', and the folder is removed'}.", err=True)
        ctx.exit(128 + (stopped[0] if stopped else signal.SIGINT))
    ctx.exit(0 if ending.is_good else FAILED)


@contextmanager
def _place(kept: Path | None, *, pace: float) -> Iterator[Workers]:
    """Workers in a folder to play in. Behind it nothing is left running, and the folder only if it is to be kept."""
    made = None
    if kept is None:
        made = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        folder = Path(made.name)
    else:
        folder = _made(kept)
    workers = Workers(folder.absolute(), pace=pace)
    try:
        yield workers
    finally:
        with _undisturbed():
            workers.close()
            if made:
                made.cleanup()


def _made(folder: Path) -> Path:
    """The folder, which was empty or not there. Raises InvalidInput for anything else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refused = "is not empty" if any(folder.iterdir()) else ""
    except (FileExistsError, NotADirectoryError):
        refused = "is a file, or below one"
    if refused:
        message = f"{folder} {refused}; name a new or an empty folder."
        raise InvalidInput(message, reason="invalid_option", path="--folder")
    return folder


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Nobody who is impatient leaves a process or a folder behind."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *TOLD_TO_STOP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Performance:
    """The story, and behind it the parts of its end."""

    def __init__(self, session: Session, *, workers: Workers, kept: Path | None, pace: float, is_served: bool) -> None:
        self._session, self._workers, self._kept, self._pace = session, workers, kept, pace
        self._is_served = is_served
        self._screen = session.screen

    async def play(self) -> Ending:
        stage = JsonStage(self._screen) if self._session.is_json else Stage(self._screen)
        clock = self._session.clock
        with stage:
            ending = await Story(self._workers, audience=stage, clock=clock, pace=self._pace).play()
        if self._session.is_json:
            self._screen.write_json(verdict.as_record(ending), is_line=True)
        else:
            await self._close(ending)
        if self._is_served:
            await self._keep_up()
        return ending

    async def _keep_up(self) -> None:
        """Serve what is left, with a worker for whatever is tried again, until somebody ends it."""
        self._workers.start(1)
        url = str(self._workers.folder / DATABASE)
        opened = await open_engine(url, Settings(), clock=self._session.clock, rng=system_rng())
        try:
            async with showing(self._session, opened, ServerOptions(grpc_port=0, http_port=0, grace_for=BRIEFLY)):
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            return  # as it was meant to end
        finally:
            await opened.close()

    async def _close(self, ending: Ending) -> None:
        glyphs = self._screen.glyphs
        await self._write(verdict.table(ending, glyphs=glyphs))
        await self._write(verdict.counts(ending, glyphs=glyphs, is_terminal=self._screen.is_terminal))
        await self._write(verdict.explained(ending, glyphs=glyphs, width=self._screen.width))
        await self._write(verdict.commands(self._kept, width=self._screen.width))

    async def _write(self, lines: Iterable[Text]) -> None:
        self._screen.write(self._screen.draw_whole(*lines))
        if self._screen.is_terminal:
            await self._session.clock.sleep(round(READING * self._pace * SECOND))


async def _until_told(performance: _Performance, stopped: list[signal.Signals]) -> Ending:
    """Play until the end, or until told to stop."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop(number: signal.Signals) -> None:
        stopped.append(number)
        task.cancel()

    for number in TOLD_TO_STOP:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(number, stop, number)
    return await performance.play()

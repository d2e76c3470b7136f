"""How the demo is shown: a table that is drawn over and over below what happened, or plain lines where nobody watches.

On a terminal a frame replaces the one before it in one write, line by line, so that nothing flickers. Into a pipe go
only the lines about what happened, each once.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec
from rich.text import Text

from windlass.cli.terminal import NARROWEST, STATUS_STYLES, Glyphs, Screen, status_glyph
from windlass.demo.scenes import (
    AllKilled,
    ApprovalGiven,
    ApprovalWaits,
    FileMade,
    Resumed,
    RunsAccepted,
    RunsEnded,
    RunState,
    Scene,
    Snapshot,
    WorkerKilled,
    WorkersStarted,
    WorkerState,
)
from windlass.demo.shop import ORDER, PLANS, REFUND, REMINDER
from windlass.model.run import RunStatus
from windlass.model.step import Step, StepStatus
from windlass.model.time import SECOND, Duration, Instant

DIM = "bright_black"
LOWEST = 22  # rows: a table that is taller than its terminal cannot be drawn over
PARCELS_PER_LINE = 5
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
CLEAR_REST_OF_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"
KINDS = {"reminder": "sleeping reminder", "refund": "failing refund"}

EVENTS = {
    FileMade: "file_made",
    WorkersStarted: "workers_started",
    RunsAccepted: "runs_accepted",
    WorkerKilled: "worker_killed",
    Resumed: "resumed",
    ApprovalWaits: "approval_waits",
    ApprovalGiven: "approval_given",
    AllKilled: "all_killed",
    RunsEnded: "runs_ended",
}


class Stage:
    """Where the demo plays. Used as a context, it leaves the terminal as it was."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        rows = shutil.get_terminal_size((80, 24))
        is_dumb = os.environ.get("TERM", "dumb") == "dumb"
        self.is_live = screen.is_terminal and not is_dumb and rows.columns >= NARROWEST and rows.lines >= LOWEST
        self._height = 0  # of the frame on the screen

    def __enter__(self) -> Stage:
        if self.is_live:
            self._screen.write(HIDE_CURSOR)
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_live:
            with suppress(OSError):  # a terminal that is gone needs no cursor
                self._screen.write(self._above() + CLEAR_BELOW + SHOW_CURSOR)
            self._height = 0

    def show_scene(self, scene: Scene, *, at: Duration) -> None:
        """Write what happened above the table, to stay there."""
        lines = _told(scene, at=at, glyphs=self._screen.glyphs, is_one_line=not self._screen.is_terminal)
        drawn = self._screen.draw_whole(*lines)
        if not self.is_live:
            self._screen.write(drawn)
            return
        self._screen.write(self._above() + CLEAR_BELOW + drawn)
        self._height = 0

    def show_frame(self, snapshot: Snapshot, *, at: Duration) -> None:
        """Draw how everything stands, over the frame before."""
        if not self.is_live or not snapshot.runs:
            return
        lines = self._screen.draw(*frame(snapshot, at=at, glyphs=self._screen.glyphs)).splitlines()
        text = "".join(f"{line}{CLEAR_REST_OF_LINE}\n" for line in lines)
        self._screen.write(self._above() + text + CLEAR_BELOW)
        self._height = len(lines)

    def _above(self) -> str:
        return f"\x1b[{self._height}F" if self._height else ""


class JsonStage:
    """The same for programs: one object per event."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def __enter__(self) -> JsonStage:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def show_scene(self, scene: Scene, *, at: Duration) -> None:
        record = msgspec.to_builtins(scene, enc_hook=str)
        if "after" in record:
            record["after_secs"] = record.pop("after") / SECOND
        self._screen.write_json(
            {"event": EVENTS[type(scene)], "at_secs": round(at / SECOND, 3), **record}, is_line=True
        )

    def show_frame(self, snapshot: Snapshot, *, at: Duration) -> None:
        return


def _told(scene: Scene, *, at: Duration, glyphs: Glyphs, is_one_line: bool) -> Iterator[Text]:
    """What happened, with the time since the beginning."""
    words = _words(scene, glyphs=glyphs)
    first, *rest = [Text(" ").join(words)] if is_one_line else words
    yield Text(f"{at / SECOND:5.1f} s  ", style=DIM).append(first)
    for line in rest:
        yield Text(" " * 9).append(line)


def _words(scene: Scene, *, glyphs: Glyphs) -> Sequence[Text]:
    match scene:
        case FileMade(path):
            return [Text("a database: ").append(str(path), style="bold")]
        case WorkersStarted(workers=workers, is_restart=is_restart):
            names = " and ".join(f"{worker.letter} (pid {worker.pid})" for worker in workers)
            return [Text(f"restart: {names} find everything in the file" if is_restart else f"two workers: {names}")]
        case RunsAccepted(counts):
            return [Text(f"accepted: {_counted(counts)}")]
        case WorkerKilled(worker=worker, key=key):
            line = Text(f"kill -9 {worker.pid}", style="bold red")
            line.append(f"  worker {worker.letter} dies in the middle of {key}", style="not bold default")
            return [line.append(f", with {_runs(worker.holds)}")]
        case Resumed():
            return _resumed(scene, glyphs=glyphs)
        case ApprovalWaits(title=title, command=command):
            line = Text(f"{title} ", style="bold")
            line.append(" the order waits for a person, and no process for it:", style="not bold default")
            return [line, Text(command, style=DIM)]
        case ApprovalGiven(title=title, by=by):
            return [Text(f"{glyphs.completed} ", style="green").append(f"approved by {by}", style="default")]
        case AllKilled(workers=workers, key=key, open_runs=open_runs):
            line = Text(f"kill -9 {' '.join(str(worker.pid) for worker in workers)}", style="bold red")
            line.append(f"  everything is dead, in the middle of {key};", style="not bold default")
            left = f"{_runs(open_runs)} {'stands' if open_runs == 1 else 'stand'} in the file"
            return [line, Text(f"not one process is left, and {left}")]
        case RunsEnded(ended=ended, total=total):
            return [Text(f"{ended} of {total} runs have ended")]


def _resumed(scene: Resumed, *, glyphs: Glyphs) -> Sequence[Text]:
    released = f"{_runs(scene.released)} given back, " if scene.released else ""
    line = Text(f"{released}worker {scene.worker} goes on, {scene.after / SECOND:.1f} s later:")
    facts = Text()
    if scene.stored:
        facts.append(f"{', '.join(scene.stored)} ").append(glyphs.completed, style="green")
        facts.append(f" stored, not run again {glyphs.dot} ")
    key_told = "same key" if scene.is_same_key else "ANOTHER KEY"
    facts.append(f"{scene.repeated} ").append(glyphs.retry, style="magenta")
    return [line, facts.append(f" attempt {scene.attempt}, {key_told}")]


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(
        f"{count} {name}s" if count > 1 else f"1 {KINDS.get(name, name)}" for name, count in counts.items()
    )


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def frame(snapshot: Snapshot, *, at: Duration, glyphs: Glyphs) -> Iterator[Text]:
    """The table: workers, the three runs with a story, the parcels."""
    yield Text()
    yield _workers(snapshot.workers, at=at, glyphs=glyphs)
    yield Text()
    for state in snapshot.runs:
        if state.key in (ORDER, REMINDER, REFUND):
            yield run_line(state, now=snapshot.now, glyphs=glyphs)
    parcels = [state for state in snapshot.runs if state.run.name == "parcel"]
    yield _summary(parcels, glyphs=glyphs)
    for first in range(0, len(parcels), PARCELS_PER_LINE):
        line = Text("  ")
        for state in parcels[first : first + PARCELS_PER_LINE]:
            line.append(f"{state.key.rpartition('-')[2]} ", style=DIM).append(signs(state, glyphs=glyphs)).append("   ")
        yield line
    yield Text()
    yield _legend(glyphs)


def _workers(workers: Sequence[WorkerState], *, at: Duration, glyphs: Glyphs) -> Text:
    line = Text(f"{at / SECOND:5.1f} s  ", style=DIM)
    for worker in workers:
        if worker.is_alive:
            line.append(f"{worker.letter} ", style="bold default").append(f"pid {worker.pid} ", style="default")
            line.append(f"{glyphs.running} {_runs(worker.holds)}", style="cyan").append("   ")
    if not any(worker.is_alive for worker in workers):
        line.append("no worker process", style="bold red").append("   ")
    dead = "".join(worker.letter for worker in workers if not worker.is_alive)
    return line.append(f"{glyphs.interrupted} killed: {', '.join(dead)}", style="magenta") if dead else line


def run_line(state: RunState, *, now: Instant, glyphs: Glyphs) -> Text:
    """One run in one line: where it stands, its steps, and what it waits for."""
    status = state.run.status
    line = Text(f"{state.key:11} ", style="bold")
    line.append(f"{status_glyph(status, glyphs=glyphs)} {status.value:10}", style=f"not bold {STATUS_STYLES[status]}")
    for key in PLANS[state.run.name].steps:
        line.append(f" {key} ", style="not bold default").append(signs_of(state, key, glyphs=glyphs))
    due_at = state.run.available_at
    if status is RunStatus.WAITING:
        asked = next((step.awaits for step in state.steps if step.status is StepStatus.WAITING), None)
        line.append(f"   {asked or ''}", style="not bold default")
    if due_at is not None and due_at > now and status in (RunStatus.SLEEPING, RunStatus.PENDING):
        line.append(f"   {'' if status is RunStatus.SLEEPING else 'again in '}", style="not bold default")
        line.append(f"{(due_at - now) / SECOND:.1f} s" + (" left" if status is RunStatus.SLEEPING else ""))
    return line


def signs(state: RunState, *, glyphs: Glyphs) -> Text:
    """One sign per step of a run, as far as it has come."""
    line, is_told = Text(), False
    for key in PLANS[state.run.name].steps:
        sign = signs_of(state, key, glyphs=glyphs, is_short=True)
        if sign.plain == glyphs.pending and state.run.status is RunStatus.SLEEPING and not is_told:
            sign, is_told = Text(glyphs.sleeping, style="blue"), True
        line.append(sign)
    return line


def signs_of(state: RunState, key: str, *, glyphs: Glyphs, is_short: bool = False) -> Text:
    """One sign per attempt of a step, or only that of the last one."""
    tried = sorted((step for step in state.steps if step.key == key), key=lambda step: step.attempt)
    line = Text()
    for step in tried[-1:] if is_short else tried:
        line.append(_sign(step, state, is_last=step is tried[-1], glyphs=glyphs))
    return line if tried else Text(glyphs.pending, style=DIM)


def _sign(step: Step, state: RunState, *, is_last: bool, glyphs: Glyphs) -> Text:
    if step.status is StepStatus.COMPLETED:
        return Text(glyphs.completed, style="green")
    if step.status is StepStatus.FAILED:
        return Text(glyphs.failed, style="red")
    is_held = state.run.status is RunStatus.RUNNING and not state.is_orphaned and step.token == state.run.token
    return Text(glyphs.running, style="cyan") if is_held and is_last else Text(glyphs.interrupted, style="magenta")


def _summary(parcels: Sequence[RunState], *, glyphs: Glyphs) -> Text:
    line = Text(f"{len(parcels)} parcels ", style="bold")
    counts = Counter(state.run.status for state in parcels)
    for status in RunStatus:
        if counts[status]:
            sign = status_glyph(status, glyphs=glyphs)
            line.append(f"  {sign} {counts[status]} {status.value}", style=f"not bold {STATUS_STYLES[status]}")
    return line


def _legend(glyphs: Glyphs) -> Text:
    meanings = {
        glyphs.completed: "committed",
        glyphs.running: "in its body",
        glyphs.sleeping: "sleeps",
        glyphs.failed: "failed",
        glyphs.interrupted: "interrupted",
        glyphs.pending: "to come",
    }
    return Text("  " + "   ".join(f"{sign} {meaning}" for sign, meaning in meanings.items()), style=DIM)

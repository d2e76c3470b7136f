"""How the demo ends: every run in a table, the count from the journal, and what to try next."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text

from windlass.cli.stage import run_line, signs_of
from windlass.cli.terminal import STATUS_STYLES, Glyphs, escape, status_glyph, wrapped
from windlass.demo.judge import Verdict, Zero
from windlass.demo.scenes import Ending, RunState
from windlass.demo.shop import ORDER, PLANS, REFUND
from windlass.demo.workers import DATABASE
from windlass.model.time import SECOND

DIM = "bright_black"
ADVICE = re.compile(r" All of it: windlass show \w+$")
MAX_FINDINGS = 10
KEPT = "windlass-demo"
ATTEMPTS = 21  # columns for a parcel: its name, and one sign per attempt of its six steps and some more


def table(ending: Ending, *, glyphs: Glyphs) -> Iterator[Text]:
    """One cell per run: the three with a story on lines of their own, the parcels side by side."""
    yield Text(f"\nEvery run, as the database has it ({glyphs.interrupted} cut off by a kill):", style="bold")
    snapshot = ending.snapshot
    parcels = [state for state in snapshot.runs if state.run.name == "parcel"]
    for state in snapshot.runs:
        if state not in parcels:
            yield run_line(state, now=snapshot.now, glyphs=glyphs).append(" ").append(_facts(state))
    half = (len(parcels) + 1) // 2
    for left, right in zip_longest(parcels[:half], parcels[half:]):
        line = _parcel(left, glyphs=glyphs)
        yield line if right is None else line.append("  ").append(_parcel(right, glyphs=glyphs))


def _parcel(state: RunState, *, glyphs: Glyphs) -> Text:
    status = state.run.status
    line = Text(f"{state.key} ", style="bold")
    line.append(f"{status_glyph(status, glyphs=glyphs)} ", style=STATUS_STYLES[status])
    for key in PLANS[state.run.name].steps:
        line.append(signs_of(state, key, glyphs=glyphs))
    line.pad_right(max(0, ATTEMPTS - line.cell_len))
    return line.append(_facts(state))


def _facts(state: RunState) -> Text:
    run = state.run
    took = "" if run.started_at is None or run.finished_at is None else _seconds(run.finished_at - run.started_at)
    claims = "1 claim " if run.attempts == 1 else f"{run.attempts} claims"
    return Text(f" {claims} {took:>6}", style=f"not bold {DIM}")


def _seconds(span: int) -> str:
    return f"{span / SECOND:.1f} s"


def counts(ending: Ending, *, glyphs: Glyphs, is_terminal: bool) -> Iterator[Text]:
    """The numbers, on one line for a pipe; and for each zero that is none, which runs it is about."""
    verdict = ending.verdict
    yield Text("\nCounted from a journal that the bodies kept outside the engine:", style="bold")
    facts = [
        Text(f"bodies started {verdict.started} {glyphs.dot} committed {verdict.committed}"),
        Text(f"interrupted, then repeated with the same key {verdict.interrupted}"),
        Text(f" {glyphs.dot} ").join(_zero(verdict, zero) for zero in Zero),
    ]
    if is_terminal:
        yield from (Text("  ").append(fact) for fact in facts)
    else:
        yield Text("  ").append(Text(f" {glyphs.dot} ").join(facts))
    if ending.charges == 1:
        yield Text(f"  The card of {ORDER} was charged once: the payment provider knew the key.", style=DIM)
    else:
        yield Text(f"  {glyphs.failed} The card of {ORDER} was charged {ending.charges} times.", style="bold red")
    if ending.stuck:
        yield Text(f"  {glyphs.failed} {ending.stuck}", style="bold red")
    for finding in verdict.findings[:MAX_FINDINGS]:
        where = f"{name_of(ending, finding.run_id)}: " if finding.run_id else ""
        yield Text(f"  {glyphs.failed} {finding.zero.value}: {where}{finding.text}", style="bold red")
    if len(verdict.findings) > MAX_FINDINGS:
        yield Text(f"  {glyphs.ellipsis} and {len(verdict.findings) - MAX_FINDINGS} more", style="red")


def _zero(verdict: Verdict, zero: Zero) -> Text:
    count = verdict.count(zero)
    return Text(f"{zero.value} {count}", style="bold red" if count else "bold green")


def name_of(ending: Ending, run_id: str) -> str:
    """A run as the reader knows it."""
    found = next((state for state in ending.snapshot.runs if state.run.id == run_id), None)
    return f"{found.key} ({run_id})" if found is not None and found.key else run_id


def explained(ending: Ending, *, glyphs: Glyphs, width: int) -> Iterator[Text]:
    """Why the refund failed, in the words of `windlass explain`."""
    found = ending.explanation
    if found is None:
        return
    yield Text(f"\nWhat windlass explain says about {REFUND}:", style="bold")
    line = Text(
        f"  {status_glyph(found.status, glyphs=glyphs)} {found.status.value}", style=STATUS_STYLES[found.status]
    )
    yield line.append(f"  {escape(found.name)}", style="bold default").append(
        f"  {found.run_id}", style=f"not bold {DIM}"
    )
    text = ADVICE.sub("", found.text)  # the database is elsewhere, or gone in a moment
    yield from (Text(f"  {part}") for part in wrapped(escape(text), width=width - 2))


def commands(kept: Path | None, *, width: int) -> Iterator[Text]:
    """Three commands that work as they stand, one after the other."""
    program = _program()
    folder = kept or _free_folder()
    url = shlex.quote(str(folder / DATABASE))
    listed = [
        f"{program} runs --url {url}",
        f"{program} show --key {ORDER} --url {url}",
        f"{program} explain --key {REFUND} --url {url}",
    ]
    if kept is None:
        listed = [f"{program} demo --folder {shlex.quote(str(folder))}", *listed[:2]]
    yield Text("\nTry next:", style="bold")
    for command in listed:
        if cell_len(command) + 2 > width:  # in two lines that a shell reads as one
            command = command.replace(" --url ", " \\\n    --url ")
        yield from (Text(f"  {line}", style="cyan") for line in command.split("\n"))


def _program() -> str:
    """How this command was called, so that it can be called again from here."""
    called = sys.argv[0]
    if Path(called).name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m windlass"
    found = shutil.which(Path(called).name)
    is_same = found is not None and os.path.exists(called) and os.path.samefile(found, called)
    return Path(called).name if is_same else shlex.quote(called)


def _free_folder() -> Path:
    """A name for a folder that does not exist yet, where one may be made."""
    parent = Path() if os.access(".", os.W_OK) else Path(tempfile.gettempdir())
    names = [KEPT, *(f"{KEPT}-{number}" for number in range(2, 100))]
    return next((parent / name for name in names if not (parent / name).exists()), parent / KEPT)


def as_record(ending: Ending) -> dict[str, object]:
    verdict = ending.verdict
    return {
        "event": "judged",
        "started": verdict.started,
        "committed": verdict.committed,
        "interrupted": verdict.interrupted,
        "again": verdict.count(Zero.AGAIN),
        "lost": verdict.count(Zero.LOST),
        "charges": ending.charges,
        "stuck": ending.stuck or None,
        "findings": [
            {"zero": finding.zero.value, "run": finding.run_id or None, "text": finding.text}
            for finding in verdict.findings
        ],
    }

"""Does the demo tell the truth, and leave nothing behind: no process, no folder, also when it is stopped half-way?"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from windlass.assembly import open_engine
from windlass.demo.journal import Event, Line, read_journal
from windlass.demo.judge import Recorded, judge
from windlass.demo.shop import PLANS
from windlass.model.page import ListRuns
from windlass.runtime import SystemClock, system_rng
from windlass.settings import Settings

PATIENCE = 120.0  # seconds; a demo in a hurry takes about six
HURRIED = "0.2"
UNHURRIED = ("--pace", "1")  # for one that is caught in the middle; the last option counts
WINDLASS = [sys.executable, "-m", "windlass"]
PIDS = re.compile(r"pid (\d+)")
DATABASE = re.compile(r"a database: (.+)/windlass\.db")
COUNTS = re.compile(
    r"bodies started (\d+) · committed (\d+) · interrupted, then repeated with the same key (\d+)"
    r" · run again after commit (\d+) · lost (\d+)"
)
STYLED = re.compile(r"\x1b\[[0-9;]*m")
RUNS, BODIES = 23, 128  # runs, and bodies that commit: 3 of the order, 2 of the reminder, 3 of the refund, 6 per parcel


class Demo:
    """A demo in a process of its own, with a folder for temporary files and another one to stand in."""

    def __init__(self, place: Path, *options: str, stdout: int = subprocess.PIPE, **changes: str) -> None:
        self.temporary, self.standing = place / "temporary", place / "standing"
        self.temporary.mkdir(parents=True)
        self.standing.mkdir()
        (self.standing / "windlass.toml").write_text("this is not a configuration")
        self.told = ""
        self.process = subprocess.Popen(
            [*WINDLASS, "demo", "--pace", HURRIED, *options],
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=self.standing,
            env={**environment(), "TMPDIR": str(self.temporary), **changes},
            text=True,
        )

    @property
    def pids(self) -> list[int]:
        return [int(pid) for pid in PIDS.findall(self.told)]

    @property
    def journal(self) -> Path:
        found = DATABASE.search(self.told)
        assert found is not None, self.told
        return Path(found[1]) / "journal.jsonl"

    def until(self, words: str) -> None:
        """Read on until these words were told."""
        assert self.process.stdout is not None
        while words not in self.told:
            line = self.process.stdout.readline()
            assert line, f"it ended before it told {words!r}: {self.told}"
            self.told += line

    def end(self) -> tuple[int, str]:
        """Wait for its end. Returns the exit code, and what it complained about."""
        rest, complaints = self.process.communicate(timeout=PATIENCE)
        self.told += rest or ""
        return self.process.returncode, complaints

    def assert_nothing_is_left(self) -> None:
        assert list(self.temporary.iterdir()) == []
        assert [path.name for path in self.standing.iterdir()] == ["windlass.toml"]
        assert self.pids != []
        assert [pid for pid in self.pids if is_alive(pid)] == []


def environment() -> dict[str, str]:
    """Ours, with settings that would be refused if the demo read any."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    nonsense = {"WINDLASS_URL": "nonsense://nowhere", "WINDLASS_WORKER_GRACE_SECS": "never"}
    return {**inherited, "TERM": "xterm", **nonsense}


def is_alive(pid: int) -> bool:
    """Whether there is such a process; one that has ended and waits for its parent is dead."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip() != "" and not shown.stdout.startswith("Z")


def until(is_true: Callable[[], bool], *, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {what}"
        time.sleep(0.01)


def take_out_a_line(demo: Demo) -> None:
    """Take the end of a committed body out of the journal, while everybody goes on writing."""
    demo.until("accepted")
    until(lambda: _committed_line(demo.journal) is not None, what="a body has committed")
    chosen = _committed_line(demo.journal)
    assert chosen is not None
    with demo.journal.open("r+b") as file:
        file.seek(demo.journal.read_bytes().index(chosen))
        file.write(b" " * len(chosen))


def _committed_line(journal: Path) -> bytes | None:
    """The text of a line that says how a body ended whose run has gone on since."""
    lines = read_journal(journal)
    for position, line in enumerate(lines):
        followers = [other.run_id for other in lines[position + 1 :] if other.event is Event.ENTERED]
        if line.event is Event.LEFT and line.key == "pick" and line.run_id in followers:
            texts = [
                text
                for text in journal.read_bytes().splitlines()
                if f'"at":{line.at},"run_id":"{line.run_id}"'.encode() in text
            ]
            return texts[0]
    return None


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Demo]]:
    """One that is left alone, one whose journal is tampered with, one for programs: played at the same time."""
    place = tmp_path_factory.mktemp("demos")
    demos = {
        "alone": Demo(place / "alone"),
        "tampered": Demo(place / "tampered", "--pace", "0.5"),  # so that it is not over before we come to it
        "kept": Demo(place / "kept", "--json", "--folder", "new/folder"),
    }
    yield demos
    for demo in demos.values():
        if demo.process.poll() is None:
            demo.process.kill()
            demo.process.communicate()


@pytest.mark.spec("invariants:I-01", "invariants:I-12")
def test_a_journal_with_a_line_taken_out_makes_it_fail(together: dict[str, Demo]) -> None:
    demo = together["tampered"]
    take_out_a_line(demo)

    code, complaints = demo.end()

    assert (code, complaints) == (1, ""), demo.told
    found = COUNTS.search(demo.told)
    assert found is not None and (found[4], found[5]) == ("0", "1")
    assert re.search(r"lost: parcel-\d\d \(run_\w{26}\): pick is completed in the store", demo.told)
    demo.assert_nothing_is_left()


@pytest.mark.spec("invariants:I-01", "invariants:I-03", "invariants:I-12")
def test_nothing_is_lost_or_done_again_and_nothing_is_left_behind(
    together: dict[str, Demo], figures: list[str]
) -> None:
    demo = together["alone"]

    code, complaints = demo.end()

    assert (code, complaints) == (0, ""), demo.told
    found = COUNTS.search(demo.told)
    assert found is not None, demo.told
    started, committed, interrupted, again, lost = map(int, found.groups())
    assert (committed, again, lost) == (BODIES, 0, 0)
    assert started == committed + interrupted and interrupted >= 2
    assert re.search(r"reserve ✓ stored, not run again · charge ↻ attempt 2, same key", demo.told)
    assert re.search(r"reserve, charge ✓ stored, not run again · ship ↻ attempt 2, same key", demo.told)
    assert "was charged once" in demo.told
    assert len(set(demo.pids)) == 4
    demo.assert_nothing_is_left()
    figures.append(f"demo        {again} of {committed} run again · {lost} of {RUNS} lost · {interrupted} interrupted")


def test_into_a_pipe_every_event_is_one_line_without_control_codes(together: dict[str, Demo]) -> None:
    demo = together["alone"]
    demo.end() if demo.process.returncode is None else None

    events = [line for line in demo.told.splitlines() if re.match(r" *\d+\.\d s  ", line)]

    assert len(events) == len(set(events)) == 11
    assert "\x1b" not in demo.told


def test_programs_get_an_object_per_event_and_a_kept_folder_can_be_looked_at(together: dict[str, Demo]) -> None:
    demo = together["kept"]
    code, complaints = demo.end()
    *_, judged = events = [json.loads(line) for line in demo.told.splitlines()]
    folder = demo.standing / "new" / "folder"

    assert (code, complaints) == (0, "")
    assert [event["event"] for event in events].count("resumed") == 2
    killed = [event["workers"] for event in events if event["event"] == "all_killed"]
    assert [[worker["is_alive"] for worker in workers] for workers in killed] == [[False]]  # the other one died before
    assert (judged["event"], judged["again"], judged["lost"], judged["findings"]) == ("judged", 0, 0, [])
    shown = windlass("runs", "--limit", "100", "--json", "--url", str(folder / "windlass.db"), folder=folder)
    assert len(json.loads(shown.stdout)["runs"]) == RUNS
    assert len(read_journal(folder / "journal.jsonl")) > RUNS


@pytest.mark.spec("invariants:I-01", "invariants:I-12")
def test_no_line_of_a_kept_journal_can_be_taken_out_or_repeated_unnoticed(
    together: dict[str, Demo], figures: list[str]
) -> None:
    demo = together["kept"]
    demo.end() if demo.process.returncode is None else None
    folder = demo.standing / "new" / "folder"
    journal, stored = (folder / "journal.jsonl"), asyncio.run(recorded(folder / "windlass.db"))
    whole = read_journal(journal)

    def is_noticed(*lines: Line) -> bool:
        return bool(judge(lines, recorded=stored, plans=PLANS).findings)

    removed = [is_noticed(*whole[:position], *whole[position + 1 :]) for position in range(len(whole))]
    repeated = [is_noticed(*whole, line) for line in whole]

    assert len(whole) == len(journal.read_bytes().splitlines())
    assert not is_noticed(*whole)
    assert all(removed) and all(repeated)
    figures.append(f"demo        {sum(removed)} of {len(whole)} removed lines of the journal noticed")
    figures.append(f"demo        {sum(repeated)} of {len(whole)} repeated lines of the journal noticed")


async def recorded(database: Path) -> dict[str, Recorded]:
    opened = await open_engine(str(database), Settings(), clock=SystemClock(), rng=system_rng())
    try:
        page = await opened.runs.list_runs(ListRuns(namespace="default", limit=100))
        return {
            run.id: Recorded(name=run.name, status=run.status, steps=await opened.runs.list_steps("default", run.id))
            for run in page.runs
        }
    finally:
        await opened.close()


def test_only_a_new_or_empty_folder_is_played_in(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")

    refused = {
        path: windlass("demo", "--folder", path, folder=tmp_path)
        for path in ("full", "full/letter.txt", "full/letter.txt/below")
    }

    assert {path: (result.returncode, result.stderr) for path, result in refused.items()} == {
        "full": (1, "windlass: full is not empty; name a new or an empty folder.\n"),
        "full/letter.txt": (1, "windlass: full/letter.txt is a file, or below one; name a new or an empty folder.\n"),
        "full/letter.txt/below": (
            1,
            "windlass: full/letter.txt/below is a file, or below one; name a new or an empty folder.\n",
        ),
    }
    assert (tmp_path / "full" / "letter.txt").read_text() == "dear"


def windlass(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}
    return subprocess.run(
        [*WINDLASS, *args], cwd=folder, env=inherited, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_a_database_of_the_user_is_refused(tmp_path: Path) -> None:
    refused = windlass("demo", "--url", "shop.db", folder=tmp_path)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "leave --url and --namespace out" in refused.stderr


@pytest.mark.parametrize("options", [("--pace", "nan"), ("--pace", "inf"), ("--pace", "-nan"), ("--folder", "")])
def test_what_is_no_pace_and_no_folder_is_refused(tmp_path: Path, options: tuple[str, str]) -> None:
    refused = windlass("demo", *options, folder=tmp_path)

    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert options[0] in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_stopped_in_any_way_it_leaves_nothing_behind(tmp_path: Path) -> None:
    signals = {signal.SIGINT: 130, signal.SIGTERM: 143}
    moments = {signal.SIGINT: "dies in the middle of charge", signal.SIGTERM: "accepted"}
    # Together, because it takes a while; each is stopped by a thread of its own, while it still has a way to go.
    demos = {number: Demo(tmp_path / number.name, *UNHURRIED) for number in signals}

    def stop(number: signal.Signals) -> tuple[int, str]:
        demos[number].until(moments[number])
        demos[number].process.send_signal(number)
        return demos[number].end()

    with ThreadPoolExecutor() as threads:
        ended = dict(zip(signals, threads.map(stop, signals), strict=True))

    said = "Stopped: no worker is left, and the folder is removed.\n"
    assert ended == {number: (code, said) for number, code in signals.items()}
    for demo in demos.values():
        demo.assert_nothing_is_left()


def test_a_worker_that_somebody_else_kills_ends_the_demo(tmp_path: Path) -> None:
    demo = Demo(tmp_path, *UNHURRIED)
    demo.until("two workers")

    os.kill(demo.pids[0], signal.SIGKILL)
    code, complaints = demo.end()

    assert code == 1
    assert complaints == (
        f"windlass: Worker A (pid {demo.pids[0]}) was ended by signal 9, not by the demo. Nothing was counted.\n"
    )
    demo.assert_nothing_is_left()


def test_without_a_reader_or_killed_itself_it_leaves_no_worker(tmp_path: Path) -> None:
    killed, unread = Demo(tmp_path / "killed", *UNHURRIED), Demo(tmp_path / "unread", *UNHURRIED)
    killed.until("accepted")
    unread.until("accepted")
    assert unread.process.stdout is not None

    killed.process.kill()
    unread.process.stdout.close()
    killed.end()

    assert unread.process.wait(PATIENCE) == 1  # the exit code is its proof
    assert unread.process.stderr is not None
    told = unread.process.stderr.read()
    assert told == "windlass: Nobody reads on: the demo was stopped, and nothing was counted.\n"
    unread.process.stderr.close()
    unread.assert_nothing_is_left()
    until(lambda: not any(map(is_alive, killed.pids)), what="the workers have ended")


def test_a_terminal_gets_a_table_that_is_drawn_over(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    demo = Demo(tmp_path, stdout=slave, COLUMNS="80", LINES="24", NO_COLOR="1")
    os.close(slave)
    reading = threading.Thread(target=lambda: setattr(demo, "told", read_terminal(master)))
    reading.start()

    code, complaints = demo.end()
    reading.join(PATIENCE)

    assert (code, complaints) == (0, "")
    assert "20 parcels" in demo.told and re.search(r"\x1b\[\d+F", demo.told)
    assert demo.told.startswith("\x1b[?25l") and "\x1b[?25h" in demo.told
    assert STYLED.search(demo.told) is None
    plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", demo.told)
    drawn = [line for line in plain.splitlines() if "/" not in line]  # a path is not cut, so that it can be copied
    assert max(map(len, drawn)) <= 80


def read_terminal(master: int) -> str:
    written = b""
    while True:
        try:
            chunk = os.read(master, 65_536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        written += chunk
    os.close(master)
    return written.decode()

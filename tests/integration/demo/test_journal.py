"""Does the journal of the demo keep its lines apart, also behind a process that died in the middle of one?"""

from __future__ import annotations

from pathlib import Path

from windlass.demo.journal import Event, Journal, read_journal
from windlass.testing.clock import FakeClock


def test_a_line_behind_a_torn_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, clock=FakeClock())
    journal.write(Event.ACCEPTED, run_id="run_1")
    with path.open("ab") as file:
        file.write(b'{"event":"entered","pid":7,"num')

    journal.write(Event.ACCEPTED, run_id="run_2")

    assert [line.run_id for line in read_journal(path)] == ["run_1", "run_2"]


def test_the_last_line_counts_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, clock=FakeClock())
    journal.write(Event.ACCEPTED, run_id="run_1")

    journal.end()

    *_, last = read_journal(path)
    assert (last.event, last.process, last.number, last.lines) == (Event.ENDED, last.pid, 2, 2)

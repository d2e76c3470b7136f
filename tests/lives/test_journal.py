"""Does the journal keep what was written before a death, and nothing written after it?"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.lives.journal import Event, Journal, read_journal
from tests.lives.journalled_work import JournalledWork
from windlass.define.current import STEP, StepInfo
from windlass.errors import ClaimLost
from windlass.model.commands import Claim
from windlass.model.run import RunId
from windlass.testing.clock import FakeClock

INFO = StepInfo(key="pack#2", name="pack", attempt=3, run_id="run_1", idempotency_key="run_1/pack#2")


def test_a_body_leaves_a_line_at_its_entry_and_one_at_its_end(tmp_path: Path, clock: FakeClock) -> None:
    journal = Journal(tmp_path / "journal")
    journal.begin_life(clock)
    STEP.set(INFO)

    with journal.body():
        journal.write(Event.ACKED, run_id="run_1")
    with pytest.raises(ValueError, match="no"), journal.body():
        raise ValueError("no")
    journal.close()

    lines = [line for line in read_journal(journal.path) if line.event is not Event.ACKED]
    assert [(line.event, line.outcome, line.is_acknowledged) for line in lines] == [
        (Event.ENTERED, "", False),
        (Event.LEFT, "returned", False),
        (Event.ENTERED, "", True),
        (Event.LEFT, "ValueError", True),
    ]
    assert {(line.run_id, line.key, line.attempt, line.idempotency_key) for line in lines} == {
        ("run_1", "pack#2", 3, "run_1/pack#2")
    }


def test_the_dead_write_nothing_and_the_next_life_has_the_next_number(tmp_path: Path, clock: FakeClock) -> None:
    journal = Journal(tmp_path / "journal")
    journal.begin_life(clock)
    journal.write(Event.VALUE, what="alive")
    journal.end_life()
    journal.write(Event.VALUE, what="dead")
    clock.advance("1s")
    journal.begin_life(clock)
    journal.write(Event.VALUE, what="next")
    journal.close()

    lines = read_journal(journal.path)

    assert [(line.what, line.life) for line in lines] == [("alive", 1), ("next", 2)]
    assert lines[1].at - lines[0].at == 1_000_000


def test_a_line_that_was_cut_off_never_happened(tmp_path: Path, clock: FakeClock) -> None:
    journal = Journal(tmp_path / "journal")
    journal.begin_life(clock)
    journal.write(Event.VALUE, what="whole")
    journal.close()
    with journal.path.open("ab") as file:
        file.write(b'{"event":"value","li')

    assert [line.what for line in read_journal(journal.path)] == ["whole"]


class Refusing:
    """A door that knows no claim."""

    async def release_run(self, claim: Claim) -> None:
        raise ClaimLost(claim.run_id, token=claim.token)

    def begin_step(self, claim: Claim) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.get_loop().call_soon(future.set_exception, ClaimLost(claim.run_id, token=claim.token))
        return future


async def test_a_refused_write_is_on_record_and_still_raised(tmp_path: Path, clock: FakeClock) -> None:
    journal = Journal(tmp_path / "journal")
    journal.begin_life(clock)
    work = JournalledWork(Refusing(), journal, who="worker")  # type: ignore[arg-type]
    claim = Claim(namespace="default", run_id=RunId("run_1"), token=4)

    with pytest.raises(ClaimLost):
        await work.release_run(claim)
    with pytest.raises(ClaimLost):
        await work.begin_step(claim)  # type: ignore[arg-type]
    journal.close()

    lines = read_journal(journal.path)
    assert [(line.event, line.what, line.outcome) for line in lines] == [
        (Event.SENT, "release_run", ""),
        (Event.ANSWERED, "release_run", "claim_lost"),
        (Event.SENT, "begin_step", ""),
        (Event.ANSWERED, "begin_step", "claim_lost"),
    ]
    assert {(line.run_id, line.token, line.who) for line in lines} == {("run_1", 4, "worker")}

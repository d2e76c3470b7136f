"""Two servers, four workers, one PostgreSQL, and everything that can be done to them at once: is anything lost?"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.processes import Crowd, count_bodies, judge_crowd
from tests.lives.journal import Event
from tests.lives.shared_journal import read_shared_journal
from tests.processes import afar
from tests.processes.chaos import MAX_RECOVERIES, VISIBILITY, Nemesis, Site, opened
from tests.processes.children import PATIENCE, Nursery
from tests.processes.database import Database
from tests.scale import SCALE
from windlass.model.run import TAKEN, RunStatus
from windlass.model.time import SECOND, Duration
from windlass.testing.postgres import PostgresServer

RUNS = 2_000 * SCALE
LATE = RUNS // 10  # asked for once the last fault is over
EVERY = 0.018  # seconds between two starts, so that work goes on until the last fault
SEED = os.environ.get("WINDLASS_TEST_SEED") or ("1" if SCALE == 1 else str(secrets.randbits(32)))


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """One of its own: it is restarted."""
    with PostgresServer() as server:
        yield server


async def suffer(site: Site, nemesis: Nemesis) -> tuple[dict[str, Any], float]:
    """What the client was told, and how long it took from the last fault to the end of everything."""
    answers, gate = site.folder / "answers", site.folder / "gate"
    async with opened(site):
        client = site.start_client(runs=RUNS, late=LATE, every=EVERY, gate=gate, answers=answers)
        await nemesis.strike()
        healed_at = time.monotonic()
        gate.touch()
        ended = await asyncio.to_thread(client.wait, seconds=PATIENCE * SCALE)
        took = time.monotonic() - healed_at
        assert ended == 0, client.complaints
        await site.leave()
    return json.loads(answers.read_text()), took


@pytest.mark.spec("invariants:I-01", "invariants:I-02", "invariants:I-03", "invariants:I-08", "invariants:I-12")
@pytest.mark.spec("invariants:I-17", "invariants:I-18", "invariants:I-21", "invariants:I-57", "invariants:I-65")
def test_nothing_is_lost_or_repeated_while_everything_fails(
    postgres: PostgresServer, nursery: Nursery, folder: Path, figures: list[str]
) -> None:
    site = Site(folder, nursery, postgres, url=postgres.create_database())
    nemesis = Nemesis(site, seed=SEED, scale=SCALE)
    began_at = time.monotonic()

    answers, took = asyncio.run(suffer(site, nemesis))

    with Database("postgresql", site.url) as database:
        last = database.look(life=2**31)
    crowd = Crowd(
        snapshots=(last,),
        lines=read_shared_journal(site.journal),
        killed=frozenset(site.killed),
        visibility_for=Duration(round(VISIBILITY * SECOND)),
        max_recoveries=MAX_RECOVERIES,
    )
    figures += describe(crowd, nemesis, answers, took=took, lasted=time.monotonic() - began_at)
    complaints = judge_crowd(crowd)
    assert complaints == [], explained(complaints, crowd)
    assert (answers["started"], answers["ended"]) == (RUNS, RUNS)
    assert Counter(run.status for run in last.runs.values()) == {RunStatus.COMPLETED: RUNS}
    assert count_bodies(crowd).committed == RUNS * afar.STEPS
    # Else it would have proved nothing: every kind of fault came, and runs were taken from those who had lost them.
    assert all(nemesis.done.values())
    assert any(entry.cause in TAKEN for entry in last.log)
    broken = [text[text.index("Traceback") - 500 :] for text in said(site) if "Traceback" in text]
    assert not broken, "\n".join(broken)


def explained(complaints: list[str], crowd: Crowd) -> str:
    """What is on record of the runs that are complained about."""
    ids = {word.strip(":") for text in complaints[:3] for word in text.split() if word.startswith("run_")}
    lines = [str(line) for line in crowd.lines if line.run_id in ids or any(id in str(line.value) for id in ids)]
    return "\n".join([*complaints, *lines, *(str(entry) for id in ids for entry in crowd.last.histories[id])])


def said(site: Site) -> list[str]:
    """By every process that lived: what it wrote to the standard error."""
    return [path.read_text(errors="replace") for path in (*site.folder.glob("*.errors"), *site.folder.glob("stderr-*"))]


def describe(crowd: Crowd, nemesis: Nemesis, answers: dict[str, Any], *, took: float, lasted: float) -> list[str]:
    what = "postgresql  chaos:"
    acknowledged = {line.run_id for line in crowd.lines if line.event is Event.ACKED}
    lost = [run_id for run_id in acknowledged if crowd.last.runs[run_id].status is not RunStatus.COMPLETED]
    taken = sum(entry.cause in TAKEN for entry in crowd.last.log)
    bodies = count_bodies(crowd)
    faults = ", ".join(f"{times} {kind}" for kind, times in nemesis.done.items())
    return [
        f"{what} seed {SEED}, {lasted:.0f} s: {faults}",
        f"{what} {len(acknowledged)} of {RUNS} runs acknowledged, {len(lost)} of {len(acknowledged)} lost; the client "
        f"asked again {answers.get('asked again', 0)} times; everything over {took:.1f} s after the last fault, "
        f"{answers['longest']:.1f} s for the slowest run",
        f"{what} {bodies.started} bodies started, {bodies.committed} of {RUNS * afar.STEPS} committed, "
        f"{bodies.repeated} repeated: {bodies.after_lost_claims} after a lost claim, {bodies.unexplained} of "
        f"{bodies.repeated} unexplained; {taken} claims taken over; {len(crowd.refused())} stale writes refused",
    ]

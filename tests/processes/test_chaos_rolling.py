"""Servers are replaced one after the other while runs are worked: does anybody notice?"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.processes import Crowd, count_bodies, judge_crowd
from tests.lives.shared_journal import read_shared_journal
from tests.processes import afar
from tests.processes.chaos import MAX_RECOVERIES, SERVERS, Site, opened
from tests.processes.children import PATIENCE, Nursery
from tests.processes.database import Database
from tests.scale import SCALE
from windlass.model.run import TAKEN, RunStatus
from windlass.model.time import SECOND, Duration
from windlass.testing.postgres import PostgresServer

RUNS = 600 * SCALE
EVERY = 0.01  # seconds between two starts
ROUNDS = 2 * SCALE  # in each of which every server is replaced
VISIBILITY = 300.0  # seconds: nobody could wait for the end of such a claim
SLOWEST = 15.0  # seconds from asking for a run to its result, on a machine that has much else to do
LATE = 50


async def roll(site: Site) -> tuple[dict[str, Any], list[float]]:
    answers, gate = site.folder / "answers", site.folder / "gate"
    async with opened(site):
        client = site.start_client(runs=RUNS, late=LATE, every=EVERY, gate=gate, answers=answers)
        stops = [await site.replace_server(place) for _ in range(ROUNDS) for place in range(SERVERS)]
        gate.touch()
        assert await asyncio.to_thread(client.wait, seconds=PATIENCE) == 0, client.complaints
        await site.leave()
    return json.loads(answers.read_text()), stops


@pytest.mark.spec("invariants:I-12", "invariants:I-57")
def test_servers_are_replaced_and_no_caller_hears_of_it(
    postgres_server: PostgresServer, postgres_url: str, nursery: Nursery, folder: Path, figures: list[str]
) -> None:
    site = Site(folder, nursery, postgres_server, url=postgres_url, visibility=VISIBILITY)

    answers, stops = asyncio.run(roll(site))

    with Database("postgresql", site.url) as database:
        last = database.look(life=2**31)
    crowd = Crowd(
        snapshots=(last,),
        lines=read_shared_journal(site.journal),
        killed=frozenset(),
        visibility_for=Duration(round(VISIBILITY * SECOND)),
        max_recoveries=MAX_RECOVERIES,
    )
    bodies, taken = count_bodies(crowd), sum(entry.cause in TAKEN for entry in last.log)
    figures.append(
        f"postgresql  servers replaced {len(stops)} times under load, {max(stops):.1f} s at most to stop: "
        f"{answers['ended']} of {RUNS} runs ended, {answers.get('asked again', 0)} errors reached the caller, "
        f"{taken} claims ran out, {bodies.repeated} of {bodies.started} bodies repeated, "
        f"{answers['longest']:.1f} s for the slowest run"
    )
    assert judge_crowd(crowd) == []
    assert Counter(run.status for run in last.runs.values()) == {RunStatus.COMPLETED: RUNS}
    assert bodies.committed == RUNS * afar.STEPS
    assert answers.get("asked again", 0) == 0, answers["refusals"]
    assert (taken, bodies.repeated) == (0, 0)
    assert answers["longest"] < SLOWEST

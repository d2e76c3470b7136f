"""What becomes of a claim when the history of one of its runs cannot be read?"""

from __future__ import annotations

from typing import Any

import apsw
import asyncpg
import pytest

from tests.integration.conftest import ByHand, OpenHarness, row_of
from windlass import Context
from windlass.client.handle import Handle
from windlass.settings import parse_url
from windlass.store.migrate import SCHEMA
from windlass.testing.harness import Harness

DAMAGE = "update steps set kind = 'unknown' where run_id = '{id}'"
REPAIR = "update steps set kind = 'step' where run_id = '{id}'"


@pytest.fixture
async def shop(open_shared: OpenHarness) -> Harness:
    harness = await open_shared(has_worker=False)

    @harness.app.workflow
    async def order(ctx: Context, number: int = 0) -> int:
        return number

    return harness


async def execute(url: str, text: str) -> None:
    """As another version of the program, or a person, may have changed it."""
    if url.startswith("postgres"):
        connection = await asyncpg.connect(url, server_settings={"search_path": SCHEMA})
        await connection.execute(text)
        await connection.close()
    else:
        database = apsw.Connection(parse_url(url).target)
        database.set_busy_timeout(5_000)
        database.execute(text).fetchall()
        database.close()


async def tried_before(shop: Harness, number: int) -> list[Handle[Any]]:
    """Runs with a step on record, which were given back."""
    workflow = shop.app._registry.find_workflow("order").function
    handles = [await shop.start(workflow, item) for item in range(number)]
    worker = ByHand(shop, "Z")
    for run in await worker.claim():
        await worker.work.complete_step(worker.completion(run))
        await worker.work.release_run(worker.claim_of(run))
    return handles


async def test_neighbours_of_a_run_that_cannot_be_read_are_claimed_and_it_waits(shop: Harness, shared_url: str) -> None:
    bad, *good = await tried_before(shop, 4)
    await execute(shared_url, DAMAGE.format(id=bad.id))

    claimed = await ByHand(shop, "A").claim()

    assert sorted(run.run_id for run in claimed) == sorted(handle.id for handle in good)
    run = await row_of(shop, bad)
    assert (run.status, run.worker, run.recoveries) == ("pending", None, 0)


async def test_a_run_that_could_not_be_read_is_no_crash_loop_and_goes_on_once_it_can(
    shop: Harness, shared_url: str
) -> None:
    (bad,) = await tried_before(shop, 1)
    await execute(shared_url, DAMAGE.format(id=bad.id))
    worker = ByHand(shop, "A")
    for _ in range(15):  # more often than a run may be recovered
        assert await worker.claim() == []
        shop.clock.advance("1m")

    await execute(shared_url, REPAIR.format(id=bad.id))

    (claimed,) = await worker.claim()
    assert (claimed.run_id, claimed.recoveries, len(claimed.history)) == (bad.id, 0, 1)

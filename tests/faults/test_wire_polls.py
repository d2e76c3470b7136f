"""One worker, two servers: of its polls the newest claims, the same again hears what it has claimed, none claims twice.

A worker far away polls with a number that grows. When an answer is lost it asks again with the same number, of another
server too, while the first one may still be at it: stopped, or behind a wire that is silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance.given import (
    NAMESPACE,
    OTHER_WORKER,
    VISIBLE_FOR,
    WORKER,
    finished,
    held,
    poll,
    run_id,
    start,
)
from tests.conformance.test_workers import registering
from tests.lives.faults import Faults, Moment, Point, hear_no_others
from tests.lives.pipeline_hands import CHARGE, PIPELINE, QUEUE, Shop, pipeline
from tests.scale import SCALE
from windlass.embedded import Embedded, open_embedded
from windlass.engine.engine import Engine
from windlass.errors import NotFound, Unavailable
from windlass.model.commands import ClaimedRun
from windlass.model.pipeline import PipelineStatus
from windlass.model.pipeline_work import ClaimedPipeline, ClaimPipelines, PipelineClaim
from windlass.model.run import RunStatus
from windlass.model.time import MINUTE, SECOND, Duration
from windlass.model.worker import ServedPipeline
from windlass.runtime import system_rng
from windlass.settings import Settings, parse_url
from windlass.testing.clock import FakeClock

ROUNDS = 25 * SCALE
PATIENCE = 60.0


class Site:
    """Two engines on one database, as two servers have them."""

    def __init__(self, engines: list[Embedded], clock: FakeClock) -> None:
        self._engines, self.clock = engines, clock
        self._started = 0

    @property
    def one(self) -> Engine:
        return self._engines[0].engine

    @property
    def other(self) -> Engine:
        return self._engines[1].engine

    async def begin(self, count: int) -> list[str]:
        """Runs that are due."""
        ids = [run_id(self._started + number) for number in range(1, count + 1)]
        self._started += count
        for number, id in enumerate(ids):
            await self.other.runs.start_run(start(number, run_id=id))
        return ids

    async def claims(self, id: str) -> int:
        log = await self.one.runs.read_log(NAMESPACE, run_id(int(id[4:])))
        return sum(entry.to_status == "running" for entry in log)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, memory: Path) -> Any:
    if request.param == "sqlite":
        return f"sqlite:///{memory / 'windlass.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
async def site(url: str, clock: FakeClock) -> AsyncIterator[Site]:
    engines = [await open_embedded(parse_url(url), Settings(), clock=clock, rng=system_rng()) for _ in range(2)]
    await engines[0].work.register_worker(registering())
    yield Site(engines, clock)
    for engine in engines:
        await engine.close()


async def ask(engine: Engine, number: int, **fields: Any) -> dict[str, int]:
    """A poll from afar: the runs it brings, with their tokens."""
    async with asyncio.timeout(PATIENCE):
        claimed: list[ClaimedRun] = await engine.work.claim_runs(
            poll(number, **({"is_remote": True, "expects_more": True, "limit": 2} | fields))
        )
    return {run.run_id: run.token for run in claimed}


@pytest.mark.spec("invariants:I-57")
async def test_the_same_poll_at_two_servers_at_once_claims_once(site: Site) -> None:
    for number in range(1, ROUNDS + 1):
        await site.begin(5)

        one, other = await asyncio.gather(ask(site.one, number), ask(site.other, number))

        assert one == other
        assert len(one) == 2
        assert [await site.claims(id) for id in one] == [1, 1]


@pytest.mark.spec("invariants:I-57")
async def test_an_older_poll_claims_nothing_once_a_newer_one_has(site: Site) -> None:
    await site.begin(5)
    newer = await ask(site.other, 7)

    assert len(newer) == 2
    assert await ask(site.one, 6) == {}
    assert await ask(site.one, 1) == {}
    assert await ask(site.one, 7) == newer


@pytest.mark.spec("invariants:I-57")
async def test_an_older_poll_claims_nothing_once_a_newer_one_has_looked(site: Site) -> None:
    """It stood still in a server that was stopped, while its worker went on elsewhere and has found nothing yet."""
    assert await ask(site.other, 7) == {}
    ids = await site.begin(1)

    assert await ask(site.one, 6) == {}
    assert list(await ask(site.other, 7)) == ids


@pytest.mark.spec("invariants:I-57")
async def test_an_older_and_a_newer_poll_at_once_claim_no_run_together(site: Site) -> None:
    for number in range(1, ROUNDS + 1):
        older, newer = 2 * number, 2 * number + 1
        await site.begin(6)

        zombie, living = await asyncio.gather(ask(site.one, older), ask(site.other, newer))

        assert len(living) == 2
        assert not zombie.keys() & living.keys()
        assert {await site.claims(id) for id in (*zombie, *living)} == {1}
        assert await ask(site.one, older) == {}  # from now on


@pytest.mark.spec("invariants:I-57")
async def test_the_same_poll_again_hears_what_it_holds_still_and_for_how_long(site: Site) -> None:
    ids = await site.begin(4)
    first = await ask(site.one, 1, limit=4)
    assert sorted(first) == ids

    # Given one that is over, one that ran out and is somebody else's, and some time that has passed
    over, lost, *kept = ids
    run = (await site.one.runs.get_run(NAMESPACE, run_id(int(over[4:])))).run
    await site.one.work.finish_run(finished(run))
    await site.one.work.register_worker(registering(id=OTHER_WORKER))
    site.clock.advance(VISIBLE_FOR - SECOND)
    for id in kept:
        view = await site.one.runs.get_run(NAMESPACE, run_id(int(id[4:])))
        await site.one.work.renew_claim(held(view.run, visibility_for=MINUTE))
    site.clock.advance(2 * SECOND)
    assert list(await ask(site.other, 1, worker=OTHER_WORKER, limit=1)) == [lost]

    again = await ask(site.other, 1, limit=4)

    assert again == {id: first[id] for id in kept}
    for id in kept:
        view = await site.one.runs.get_run(NAMESPACE, run_id(int(id[4:])))
        assert (view.run.status, view.run.available_at) == (RunStatus.RUNNING, site.clock.now() + VISIBLE_FOR)


@pytest.mark.spec("invariants:I-57")
async def test_a_poll_that_is_called_off_says_what_it_has_claimed_and_claims_nothing_later(site: Site) -> None:
    """Its caller has gone. It may have claimed; or it stands still on its way, and arrives when nobody waits for it."""
    assert await ask(site.one, 1) == {}
    ids = await site.begin(1)

    assert await ask(site.other, 1, is_called_off=True) == {}
    assert await ask(site.one, 1) == {}
    assert list(await ask(site.one, 2)) == ids
    assert list(await ask(site.other, 2, is_called_off=True)) == ids
    assert await site.claims(ids[0]) == 1


@pytest.mark.spec("invariants:I-57")
async def test_a_worker_that_left_or_never_came_claims_nothing(site: Site) -> None:
    await site.begin(2)

    with pytest.raises(NotFound, match="register it again"):
        await ask(site.one, 1, worker=OTHER_WORKER)
    await site.one.work.deregister_worker(NAMESPACE, WORKER)
    with pytest.raises(NotFound, match="register it again"):
        await ask(site.other, 1)

    await site.one.work.register_worker(registering(is_return=True))
    assert len(await ask(site.other, 2)) == 2


@pytest.mark.spec("invariants:I-57")
@pytest.mark.parametrize("moment", Moment)
async def test_a_server_that_dies_while_it_claims_leaves_one_claim_at_most(
    url: str, clock: FakeClock, moment: Moment
) -> None:
    """Whatever became of the first try, the same poll at another server brings each run once."""
    died, loop = asyncio.Event(), asyncio.get_running_loop()
    faults = Faults(crash_at=Point("claim_runs", moment, 1), on_crash=lambda point: _tell(loop, died))
    settings, location = Settings(), parse_url(url)
    dying = await open_embedded(location, settings, clock=clock, rng=system_rng(), hooks=faults)
    living = await open_embedded(location, settings, clock=clock, rng=system_rng())
    site = Site([living, living], clock)
    await living.work.register_worker(registering())
    ids = await site.begin(2)

    store: Any = dying.engine.parts.store
    faults.arm(store)
    asking = asyncio.create_task(ask(dying.engine, 1))
    await asyncio.wait_for(died.wait(), PATIENCE)
    asking.cancel()
    found: dict[str, int] = {}
    async with asyncio.timeout(PATIENCE):
        while not found:  # the transaction of the dead one is still open, and its rows are passed by
            found = await ask(living.engine, 1)

    assert sorted(found) == ids
    assert set(found.values()) == {1}
    assert [await site.claims(id) for id in ids] == [1, 1]
    await asyncio.wait([asking])
    await hear_no_others(dying.engine)
    await living.close()


def _tell(loop: asyncio.AbstractEventLoop, died: asyncio.Event) -> None:
    """From whichever thread it died on."""
    loop.call_soon_threadsafe(died.set)


class Slow:
    """A server whose claim stands still: in front of its transaction, because no connection is free, or behind it.

    Behind it, the answer may be lost, too.
    """

    def __init__(self, engine: Engine, transaction: str, *, is_behind: bool = False, loses: bool = False) -> None:
        self.reached, self.go, self._parts = asyncio.Event(), asyncio.Event(), engine.parts
        store: Any = engine.parts.store
        run_tx = store.run_tx

        async def run_slowly(name: str, fn: Any, **options: Any) -> Any:
            if name != transaction or self.reached.is_set():
                return await run_tx(name, fn, **options)
            result = await run_tx(name, fn, **options) if is_behind else None
            self.reached.set()
            await self.go.wait()
            if loses:
                raise Unavailable("no answer")
            return result if is_behind else await run_tx(name, fn, **options)

        store.run_tx = run_slowly

    async def leave(self, asking: asyncio.Task[Any]) -> None:
        """Its caller does, whose time is over, while it stands still."""
        await asyncio.wait_for(self.reached.wait(), PATIENCE)
        asking.cancel()
        await asyncio.wait([asking])

    async def go_on(self, clock: FakeClock) -> None:
        """To the end of all it has begun."""
        self.go.set()
        async with asyncio.timeout(PATIENCE):
            while background := tuple(self._parts.background):
                await asyncio.wait(background, timeout=0.01)
                clock.advance(SECOND)  # for what is asked again


@pytest.mark.spec("invariants:I-57")
async def test_a_poll_whose_caller_has_gone_gives_back_no_run_that_the_same_poll_was_told_elsewhere(site: Site) -> None:
    ids = await site.begin(1)
    slow = Slow(site.one, "claim_runs")
    await slow.leave(asyncio.create_task(ask(site.one, 1)))
    assert list(await ask(site.other, 1)) == ids

    await slow.go_on(site.clock)

    run = (await site.other.runs.get_run(NAMESPACE, run_id(1))).run
    assert (run.status, run.token) == (RunStatus.RUNNING, 1)


@pytest.mark.spec("invariants:I-57")
async def test_a_poll_whose_caller_has_gone_claims_no_run_from_then_on(site: Site) -> None:
    """Else it would be the one that has claimed, and the same poll at another server would wait for nothing."""
    ids = await site.begin(1)
    slow = Slow(site.one, "claim_runs")
    await slow.leave(asyncio.create_task(ask(site.one, 1)))

    await slow.go_on(site.clock)

    assert await ask(site.other, 1) == {ids[0]: 1}


@pytest.mark.spec("invariants:I-57")
@pytest.mark.parametrize("loses", [False, True])
async def test_a_poll_whose_caller_has_gone_gives_back_the_run_that_it_has_claimed_itself(
    site: Site, loses: bool
) -> None:
    await site.begin(1)
    slow = Slow(site.one, "claim_runs", is_behind=True, loses=loses)
    await slow.leave(asyncio.create_task(ask(site.one, 1)))

    await slow.go_on(site.clock)

    run = (await site.other.runs.get_run(NAMESPACE, run_id(1))).run
    assert (run.status, run.token, run.recoveries) == (RunStatus.PENDING, 1, 0)


async def ask_for_pipelines(engine: Engine, number: int, *, is_called_off: bool = False) -> list[str]:
    return [item.name for item in await claim_pipelines(engine, number, is_called_off=is_called_off)]


async def claim_pipelines(
    engine: Engine, number: int, *, is_called_off: bool = False, revision: str = "1"
) -> list[ClaimedPipeline]:
    served = (ServedPipeline(QUEUE, PIPELINE, revision),)
    command = ClaimPipelines(
        namespace=NAMESPACE,
        worker=WORKER,
        poll=number,
        served=served,
        limit=2,
        visibility_for=VISIBLE_FOR,
        wait_for=Duration(0),
        is_remote=True,
        is_called_off=is_called_off,
    )
    return await engine.work.claim_pipelines(command)


@pytest.mark.spec("invariants:I-57")
async def test_an_older_poll_claims_no_pipeline_once_a_newer_one_has_looked(site: Site) -> None:
    shop = Shop(site.one, pipeline(PIPELINE, replace(CHARGE, prepares=False)))  # nothing to do before there is an event
    await shop.declare()
    assert await ask_for_pipelines(site.other, 7) == []
    await shop.publish("a")

    assert await ask_for_pipelines(site.one, 6) == []
    assert await ask_for_pipelines(site.other, 7) == [PIPELINE]
    assert await ask_for_pipelines(site.one, 7) == [PIPELINE], "the same again hears what it has claimed"
    assert await ask_for_pipelines(site.one, 5) == []


@pytest.mark.spec("invariants:I-57")
async def test_a_poll_for_pipelines_that_is_called_off_claims_nothing_later(site: Site) -> None:
    shop = Shop(site.one, pipeline(PIPELINE, CHARGE))
    await shop.declare()
    await shop.publish("a")

    assert await ask_for_pipelines(site.other, 1, is_called_off=True) == []
    assert await ask_for_pipelines(site.one, 1) == []
    assert await ask_for_pipelines(site.one, 2) == [PIPELINE]
    assert await ask_for_pipelines(site.other, 2, is_called_off=True) == [PIPELINE]


@pytest.mark.spec("invariants:I-57")
async def test_a_poll_whose_caller_has_gone_gives_back_no_pipeline_that_the_same_poll_was_told_elsewhere(
    site: Site,
) -> None:
    shop = Shop(site.one, pipeline(PIPELINE, CHARGE))
    await shop.declare()
    slow = Slow(site.one, "claim_pipelines")
    await slow.leave(asyncio.create_task(claim_pipelines(site.one, 1)))
    (told,) = await claim_pipelines(site.other, 1)

    await slow.go_on(site.clock)

    held = (await shop.piped()).pipelines[PIPELINE]
    assert (held.status, held.token) == (PipelineStatus.RUNNING, told.token)


@pytest.mark.spec("invariants:I-57")
async def test_a_poll_whose_caller_has_gone_claims_no_pipeline_from_then_on(site: Site) -> None:
    await Shop(site.one, pipeline(PIPELINE, CHARGE)).declare()
    slow = Slow(site.one, "claim_pipelines")
    await slow.leave(asyncio.create_task(claim_pipelines(site.one, 1)))

    await slow.go_on(site.clock)

    assert [item.token for item in await claim_pipelines(site.other, 1)] == [1]


@pytest.mark.spec("invariants:I-57")
@pytest.mark.parametrize("loses", [False, True])
async def test_a_poll_whose_caller_has_gone_gives_back_the_pipeline_that_it_has_claimed_itself(
    site: Site, loses: bool
) -> None:
    shop = Shop(site.one, pipeline(PIPELINE, CHARGE))
    await shop.declare()
    slow = Slow(site.one, "claim_pipelines", is_behind=True, loses=loses)
    await slow.leave(asyncio.create_task(claim_pipelines(site.one, 1)))

    await slow.go_on(site.clock)

    free = (await shop.piped()).pipelines[PIPELINE]
    assert (free.status, free.token, free.recoveries) == (PipelineStatus.IDLE, 1, 0)


@pytest.mark.spec("invariants:I-57")
async def test_a_deploy_between_a_claim_and_its_answer_leaves_no_claim_that_nobody_knows_of(site: Site) -> None:
    shop = Shop(site.one, pipeline(PIPELINE, CHARGE))
    await shop.declare()
    await shop.publish("a")
    (lost,) = await claim_pipelines(site.one, 1)
    await Shop(site.one, pipeline(PIPELINE, CHARGE, revision="2")).declare()

    (again,) = await claim_pipelines(site.other, 1)

    assert again.token == lost.token
    assert again.revision == "2", "so whoever asked has other code, and gives it back"
    await site.other.work.release_pipeline(PipelineClaim(namespace=NAMESPACE, pipeline=PIPELINE, token=again.token))
    (fresh,) = await claim_pipelines(site.other, 2, revision="2")
    assert (fresh.token, fresh.recoveries) == (lost.token + 1, 0)


@pytest.mark.spec("invariants:I-57")
async def test_a_worker_that_never_came_claims_no_pipeline(site: Site) -> None:
    await site.one.work.deregister_worker(NAMESPACE, WORKER)

    with pytest.raises(NotFound, match="register it again"):
        await ask_for_pipelines(site.one, 1)

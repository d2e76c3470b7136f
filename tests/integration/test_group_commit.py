"""Are many results one commit, and does every commit have a name?"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.integration.conftest import check_log, log_of, row_of
from windlass import Context, Retry
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.harness import Harness

RUNS, STEPS = 1_000, 10


class Commits:
    """Hooks that count what is committed, by name."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    def before_begin(self, name: str) -> None: ...

    def before_commit(self, name: str) -> None: ...

    def after_commit(self, name: str) -> None:
        self.names[name] += 1


async def add(number: int, step: int) -> int:
    return number + step


async def sum_up(ctx: Context, number: int) -> int:
    for step in range(STEPS):
        number = await ctx.step(add, number, step)
    return number


async def test_a_thousand_runs_of_ten_steps_need_far_fewer_commits_than_results(url: str) -> None:
    commits = Commits()
    async with Harness(url, slots=100, hooks=commits) as harness:
        harness.app.workflow(sum_up)

        handles = await asyncio.gather(*(harness.start(sum_up, number) for number in range(RUNS)))
        results = await asyncio.gather(*(handle.result() for handle in handles))

        assert results == [number + sum(range(STEPS)) for number in range(RUNS)]
        assert commits.names.total() < (RUNS * STEPS + 2 * RUNS) / 8, commits.names
        store = harness.opened.engine.parts.store
        if isinstance(store, SqliteStore):
            assert store.commits == commits.names.total()
        for handle in handles[::97]:
            check_log(await row_of(harness, handle), await log_of(harness, handle.id))
            assert [step.order for step in await harness.steps(handle)] == list(range(STEPS))


@pytest.mark.parametrize("url", ["memory", "disk"], indirect=True)
async def test_every_commit_of_sqlite_is_a_transaction_with_a_name(url: str) -> None:
    commits = Commits()
    async with Harness(url, hooks=commits) as harness:
        store = harness.opened.engine.parts.store
        assert isinstance(store, SqliteStore)

        @harness.app.workflow
        async def everything(ctx: Context) -> int:
            number = await ctx.step(add, 1, 2)
            await ctx.sleep("1h")
            return number

        assert await harness.run(everything, key="once") == 3
        assert await harness.run(everything, key="once") == 3
        await harness.advance("1m")
        await harness.idle()

        assert store.commits == commits.names.total()
        assert {"start_runs", "claim_runs", "complete_steps", "park_run", "finish_runs", "register_worker"} <= {
            name for names in commits.names for name in names.split("+")
        }


async def test_one_step_is_one_commit(url: str) -> None:
    commits = Commits()
    async with Harness(url, slots=1, hooks=commits) as harness:
        harness.app.workflow(sum_up)
        await harness.run(sum_up, 0)
        commits.names.clear()

        await harness.run(sum_up, 1)
        await harness.idle()

        # A claim for it where it did not meet a free slot, and one behind it and behind the run before, to no avail.
        assert commits.names.pop("claim_runs", 0) <= 3
        assert commits.names == {"start_runs": 1, "complete_steps": STEPS, "finish_runs": 1}


class Order(Commits):
    """Also notes which reports were under way when a run was parked."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: Counter[str] = Counter()
        self.parked_over: list[str] = []

    def before_begin(self, name: str) -> None:
        if name == "park_run":
            self.parked_over += ["suspend_steps"] * self.under_way["suspend_steps"]
        self.under_way[name] += 1

    def after_commit(self, name: str) -> None:
        super().after_commit(name)
        self.under_way[name] -= 1


@pytest.mark.parametrize("turns_apart", [0, 1, 3])
async def test_failures_of_one_moment_are_written_together_and_parking_waits_for_them(
    url: str, turns_apart: int
) -> None:
    """Parked over a failure that is still on its way, the run would refuse it and enter that body once more."""
    order, entered = Order(), Counter[int]()

    async def fail(number: int) -> None:
        entered[number] += 1
        for _ in range(number * turns_apart):
            await asyncio.sleep(0)
        raise ValueError(number)

    async with Harness(url, hooks=order) as harness:

        @harness.app.workflow
        async def many(ctx: Context) -> int:
            calls = [ctx.step(fail, number, retry=Retry(2, initial="1s")) for number in range(40)]
            return len(await asyncio.gather(*calls, return_exceptions=True))

        handle = await harness.start(many)
        await harness.idle()

        if turns_apart == 0:  # failures of different moments take as many writes as the store is quick to accept
            assert order.names["suspend_steps"] + order.names["park_run"] == 1, order.names
        await harness.advance("10s")
        assert await handle.result() == 40
        assert order.parked_over == []
        assert entered == dict.fromkeys(range(40), 2)

"""Are many results one commit, and does every commit have a name?"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.integration.conftest import check_log, log_of, row_of
from windlass import Context
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

        assert commits.names["complete_steps"] == STEPS
        assert commits.names.total() <= STEPS + 3  # and the start, at most a claim, and the end

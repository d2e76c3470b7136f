"""Is a database that the bench has filled one that could have come about by itself?"""

from __future__ import annotations

import pytest

from bench.load import KINDS, load, make_app, settle
from bench.signal_load import watch_loaded
from windlass.model.page import ListRuns
from windlass.model.run import RunStatus

COUNT = 30
STATUSES = {
    "tomorrow": RunStatus.PENDING,
    "finished": RunStatus.COMPLETED,
    "others": RunStatus.PENDING,
    "due": RunStatus.PENDING,
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_loaded_database_is_in_order(kind: str, shared_url: str) -> None:
    await load(shared_url, kind, count=COUNT)
    await settle(shared_url)

    async with make_app(shared_url) as app:
        opened = await app._opening.get()
        checkup = await opened.admin.check_up()
        page = await opened.runs.list_runs(ListRuns(namespace="default", limit=COUNT + 10))
    consistency = [check for check in checkup.checks if check.name == "consistency"]
    assert [check.text for check in consistency] == ["every row agrees with every other"]
    assert [run.status for run in page.runs] == [STATUSES[kind]] * (COUNT + 1)  # the copies, and what they are of


async def test_what_is_due_tomorrow_lies_in_ten_priorities(shared_url: str) -> None:
    await load(shared_url, "tomorrow", count=COUNT)

    async with make_app(shared_url) as app:
        opened = await app._opening.get()
        page = await opened.runs.list_runs(ListRuns(namespace="default", limit=COUNT + 10))
    assert len({run.priority for run in page.runs}) == 10


async def test_every_run_of_a_loaded_database_is_watched(shared_url: str) -> None:
    await load(shared_url, "tomorrow", count=COUNT)
    await watch_loaded(shared_url)

    async with make_app(shared_url) as app:
        opened = await app._opening.get()
        checkup = await opened.admin.check_up()
        page = await opened.runs.list_runs(ListRuns(namespace="default", limit=COUNT + 10))
        signals = await app.signals.list(limit=COUNT + 10)
    consistency = [check for check in checkup.checks if check.name == "consistency"]
    assert [check.text for check in consistency] == ["every row agrees with every other"]
    assert sorted((signal.subject, signal.status) for signal in signals) == sorted(
        (run.id, "armed") for run in page.runs
    )

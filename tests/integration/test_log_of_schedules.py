"""Do the JSON records about schedules and duties say, in fields, which one they are about?"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.timetable import Timetable, declare
from windlass.engine.coordinator import expire_runs, expire_workers
from windlass.engine.coordinator.coordinator import Coordinator, CoordinatorSettings
from windlass.logs import configured
from windlass.model.commands import RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.schedule import Timing
from windlass.model.schedule_commands import Declare
from windlass.model.time import SECOND, Duration
from windlass.store.base import Tx
from windlass.testing.harness import Harness

NIGHTLY = {"namespace": "default", "schedule": "nightly"}


class Written:
    """What a process that logs in JSON has written."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def about(self, part: str) -> dict[str, Any]:
        """The fields of the one record whose message holds this part."""
        told = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        (found,) = [item for item in told if part in item["message"]]
        return {name: value for name, value in found.items() if name not in ("at", "level", "logger", "message")}


@pytest.fixture
def written() -> Iterator[Written]:
    found = Written()
    with configured("json", "debug", found.stream):
        yield found


async def test_one_that_fires_or_is_not_looked_at_is_named_with_how_often(written: Written) -> None:
    async with Harness(has_worker=False) as harness:
        table = Timetable(harness)
        _, clean = declare(harness)
        await table.schedules.create(clean, name="nightly", every="1h", overlap="allow")

        await table.fire(after="1h")
        await table.fire(after="4h")

    assert written.about("fired 1, the first") == {**NIGHTLY, "count": 1}
    assert written.about("was not looked at for a while: 3 times are dropped") == {**NIGHTLY, "count": 3}


async def test_one_that_waited_for_its_own_runs_is_named_with_what_it_dropped(written: Written) -> None:
    async with Harness(has_worker=False) as harness:
        table = Timetable(harness)
        _, clean = declare(harness)
        await table.schedules.create(clean, name="nightly", every="1h", overlap="queue")
        for _ in range(3):
            await table.fire(after="1h")
        await table.fire(after="5h")
        await table.work("clean")
        await table.fire()

    fields = written.about("Schedule 'nightly' waited: ")
    assert fields.pop("count") > 1
    assert fields == NIGHTLY


async def test_one_that_is_put_aside_is_named(written: Written) -> None:
    async def damage(tx: Tx) -> None:
        was = await tx.schedules.load("default", "nightly")
        assert was is not None
        await tx.schedules.save(replace(was, timing=Timing(cron="0 25 * * *", tz="Mars/Phobos")), was=was)

    async with Harness(has_worker=False) as harness:
        table = Timetable(harness)
        _, clean = declare(harness)
        await table.schedules.create(clean, name="nightly", cron="0 9 * * *")
        await harness.opened.engine.parts.run_tx("damage", damage)

        await table.fire(after="9h")

    assert written.about("is put aside") == NIGHTLY


async def test_what_a_deploy_changes_names_the_schedule(written: Written) -> None:
    async with Harness(has_worker=False) as harness:
        _, clean = declare(harness)
        harness.app.schedule(every="1h", name="nightly")(clean)
        await harness.app._declare(harness.opened)
        gone = Declare(namespace="default", program=harness.app._program, schedules=(), kept={})
        await harness.opened.schedules.declare(gone)

    assert written.about("Schedule 'nightly' is new.") == NIGHTLY
    assert written.about("Schedule 'nightly' is no longer declared") == NIGHTLY


async def test_a_duty_that_fails_is_named(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> int:
        raise RuntimeError

    monkeypatch.setattr(expire_runs, "tick", refuse)
    async with Harness(has_worker=False) as harness:
        await Coordinator(harness.opened.engine.parts, CoordinatorSettings()).tick()

    fields = written.about("expire_runs failed")
    assert "RuntimeError" in fields.pop("exception")
    assert fields == {"duty": "expire_runs"}


async def test_a_duty_says_how_many_workers_and_runs_it_has_ended(written: Written) -> None:
    command = RegisterWorker(
        namespace="default", id=WorkerId("wrk_01KDVQ0000000000000000000A"), served=(), host="box", pid=71, slots=1
    )
    async with Harness(has_worker=False) as harness:
        _, clean = declare(harness)
        parts = harness.opened.engine.parts
        await parts.run_tx("register", lambda tx: tx.workers.register(command))
        for _ in range(2):
            await harness.start(clean, timeout="1m")
        harness.clock.advance("1h")

        await expire_workers.tick(parts, silent_for=Duration(30 * SECOND), batch=100)
        await expire_runs.tick(parts, batch=100)

    assert written.about("1 worker is marked offline") == {"duty": "expire_workers", "count": 1}
    assert written.about("ended by a time-out") == {"duty": "expire_runs", "count": 2}

"""A tool nobody here wrote reads the document and tries what it allows, and what it does not: never a 5xx."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.integration.server.live import listening
from tests.integration.server.site import DEFAULT, Site
from tests.scale import SCALE
from windlass.assembly import open_engine
from windlass.model.access import Role
from windlass.model.worker import Served
from windlass.runtime import SystemClock, system_rng
from windlass.server.http.openapi import describe
from windlass.server.http.table import ROWS
from windlass.settings import Settings

# A stream does not end, and the upgrade is no answer of HTTP.
LEFT_OUT = ["stream_feed", "stream_signals", "open_socket"]
SCHEMA = schemathesis.openapi.from_dict(describe(ROWS)).exclude(operation_id=LEFT_OUT)
ABOUT_TENANTS = ("enable_namespace", "disable_namespace", "delete_namespace")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
CHECKED = settings(
    max_examples=4 * SCALE, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


class InThread:
    """A server in a thread of its own, with a loop of its own: the tool knows nothing of ours."""

    def __init__(self) -> None:
        self.url = self.token = ""
        self.there: dict[str, str] = {}
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._stop = asyncio.Event()
        self._thread.start()
        assert self._ready.wait(20)

    async def _run(self) -> None:
        clock = SystemClock()
        opened = await open_engine("sqlite:///:memory:", Settings(), clock=clock, rng=system_rng())
        site = Site(opened, clock)
        self.token = await site.token(Role.ADMIN, namespace="*")
        asker = site.asker(self.token)
        run_id = await site.start(asker)
        self.there = {"namespace": "default", "run_id": run_id, "worker_id": await site.serve(Served("mail", "order"))}
        item = (await asker.post(f"{DEFAULT}/items", json={"title": "a leak"})).json()["id"]
        trigger = {"kind": "work_item.status.transition", "item_id": item, "to": ["blocked"]}
        signal = (await asker.post(f"{DEFAULT}/signals", json={"trigger": trigger})).json()["id"]
        self.there |= {"item_id": item, "signal_id": signal}
        async with listening(site) as port:
            self.url = f"http://127.0.0.1:{port}"
            self._ready.set()
            await self._stop.wait()
        await site.close()
        await opened.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        self._loop.close()


@pytest.fixture(scope="module")
def served() -> Iterator[InThread]:
    served = InThread()
    yield served
    served.close()


def _keeps_to(case: schemathesis.Case, served: InThread) -> None:
    if isinstance(case.query, dict) and "wait_secs" in case.query:
        case.query["wait_secs"] = 0
    if isinstance(case.path_parameters, dict) and case.operation.definition.raw["operationId"] not in ABOUT_TENANTS:
        # Else nearly all would be about a namespace and a run that are not there.
        case.path_parameters |= {name: served.there[name] for name in case.path_parameters if name in served.there}
    answer = case.call(base_url=served.url, headers={"authorization": f"Bearer {served.token}"})

    case.validate_response(answer, checks=CHECKS)


def _test_of(operation_id: str) -> Callable[..., None]:
    @SCHEMA.include(operation_id=operation_id).parametrize()
    @CHECKED
    def test(served: InThread, case: schemathesis.Case) -> None:
        _keeps_to(case, served)

    return test


# One by one: what a schema parametrizes has one name for all of its operations, and would be executed once.
OPERATIONS = [row.name for row in ROWS if row.name not in LEFT_OUT]
for operation_id in OPERATIONS:
    globals()[f"test_{operation_id}_is_answered_as_the_document_says"] = _test_of(operation_id)


def test_every_operation_of_the_document_is_tried() -> None:
    assert len(OPERATIONS) == len(list(SCHEMA.get_all_operations())) > 50

"""Wait for runs to end: subscribe, look, and only then wait. Many waiters share one read."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from windlass.engine.again import until_answered
from windlass.engine.endings import Key
from windlass.engine.missing import no_run
from windlass.engine.parts import Parts
from windlass.errors import Unavailable
from windlass.model.commands import Outcome
from windlass.model.run import RunId, RunStatus
from windlass.model.time import Duration
from windlass.notify.local import ended_topic, run_topic
from windlass.store.base import Tx


class Results:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._asked: dict[tuple[str, RunId], asyncio.Future[Outcome | None]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def wait(self, namespace: str, run_id: RunId, wait_for: Duration | None) -> Outcome:
        """Until the run is terminal or paused, at most `wait_for`; then where it stands."""
        clock, longest = self._parts.clock, self._parts.settings.poll_for
        deadline = None if wait_for is None else clock.monotonic() + wait_for
        topics = run_topic(namespace, run_id), ended_topic(namespace)
        with self._parts.hub.subscribe(*topics) as subscription, self._expecting((namespace, run_id)) as find:
            while True:
                subscription.clear()
                outcome = find() or await self._look(namespace, run_id)
                if outcome is None:
                    raise no_run(run_id)
                left = longest if deadline is None else deadline - clock.monotonic()
                if outcome.status.is_terminal or outcome.status is RunStatus.PAUSED or left <= 0:
                    return outcome
                await subscription.wait(clock, min(left, longest))

    @contextmanager
    def _expecting(self, key: Key) -> Iterator[Callable[[], Outcome | None]]:
        endings = self._parts.endings
        endings.expect(key)
        try:
            yield lambda: endings.find(key)
        finally:
            endings.leave(key)

    async def _look(self, namespace: str, run_id: RunId) -> Outcome | None:
        loop = asyncio.get_running_loop()
        future = self._asked.get((namespace, run_id))
        if future is None:
            future = self._asked[namespace, run_id] = loop.create_future()
        if self._reader is None:
            self._begin()
        return await asyncio.shield(future)

    def _begin(self) -> None:
        self._reader = asyncio.get_running_loop().create_task(self._read_all(), context=contextvars.Context())
        self._reader.add_done_callback(self._ended)

    def _ended(self, _: asyncio.Task[None]) -> None:
        """Here and not in the task, which a loop that ends may have cancelled before its first turn."""
        self._reader = None
        if self._asked:
            self._begin()

    async def _read_all(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, {}
            try:
                found = await self._read(asked)
            except Exception as error:
                _fail(asked.values(), error)
                continue
            except BaseException as error:
                _fail(asked.values(), Unavailable(f"The store stopped before it answered ({type(error).__name__})."))
                raise
            for key, future in asked.items():
                if not future.done():
                    future.set_result(found.get(key))

    async def _read(
        self, asked: dict[tuple[str, RunId], asyncio.Future[Outcome | None]]
    ) -> dict[tuple[str, RunId], Outcome]:
        async def read(tx: Tx) -> dict[tuple[str, RunId], Outcome]:
            found: dict[tuple[str, RunId], Outcome] = {}
            for namespace in {key[0] for key in asked}:
                ids = [run_id for owner, run_id in asked if owner == namespace]
                outcomes = await tx.runs.outcomes(namespace, ids=ids)
                found.update({(namespace, RunId(run_id)): outcome for run_id, outcome in outcomes.items()})
            return found

        store, clock = self._parts.store, self._parts.clock
        # Whoever waits for a result waits anyway: a database that is restarted meanwhile is no reason to give up.
        return await until_answered(clock, lambda: store.read("outcomes", read, single=True))


def _fail(futures: Iterable[asyncio.Future[Outcome | None]], error: Exception) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
            future.exception()  # a waiter that gave up must not make the loop complain

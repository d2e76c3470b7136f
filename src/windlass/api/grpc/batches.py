"""Many writes, one call: what gathers while the call before is under way goes out together.

There is no timer: an idle worker adds no latency, a busy one makes far fewer calls than it completes steps.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from windlass.answers import Answer
from windlass.api.grpc.channel import Channel
from windlass.api.grpc.errors import from_detail
from windlass.api.grpc.mirror import Mirror
from windlass.api.grpc.table import FILLED_REQUEST
from windlass.errors import Unavailable
from windlass.model.time import Instant

LOGGER = logging.getLogger("windlass.client")

MOST_ITEMS = 500


class Kind(NamedTuple):
    """One write of the hot path: which call carries it, and how its outcomes are read."""

    service: str
    method: str
    request: Any  # the message; it has a namespace and
    field: str  # a list of items under this name
    mirror: Mirror
    outcomes: Callable[[Any], list[Any]]


class _Item(Answer[Any]):
    __slots__ = ("message", "namespace", "size")

    def __init__(self, namespace: str, message: Any) -> None:
        super().__init__()
        self.namespace, self.message, self.size = namespace, message, message.ByteSize()


class Batches:
    """One kind of write. One call is under way at a time."""

    def __init__(self, channel: Channel, kind: Kind) -> None:
        self._channel, self._kind = channel, kind
        self._queue: deque[_Item] = deque()
        self._task: asyncio.Task[None] | None = None

    def submit(self, namespace: str, command: Any) -> Answer[Any]:
        item = _Item(namespace, self._kind.mirror.to_message(command))
        self._queue.append(item)
        if self._task is None:
            self._begin()
        return item

    async def close(self) -> None:
        """What is still unsent stays unsent, and whoever waits for it hears that."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._fail(self._queue)
        self._queue.clear()

    def _begin(self) -> None:
        # Starts in the next turn of the loop, so that every caller of this turn joins; in an empty context, because the
        # caller may be a run, and the sender is no part of it.
        self._task = asyncio.get_running_loop().create_task(self._send_all(), context=contextvars.Context())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and task.exception() is None and self._queue:
            self._begin()

    async def _send_all(self) -> None:
        while self._queue:
            await self._send(self._next())

    def _next(self) -> list[_Item]:
        first = self._queue.popleft()
        batch, size = [first], first.size
        while self._queue and len(batch) < MOST_ITEMS:
            item = self._queue[0]
            if item.namespace != first.namespace or size + item.size > FILLED_REQUEST:
                break
            size += item.size
            batch.append(self._queue.popleft())
        return batch

    async def _send(self, batch: list[_Item]) -> None:
        kind = self._kind
        request = kind.request(namespace=batch[0].namespace, **{kind.field: [item.message for item in batch]})
        try:
            answer = await self._channel.ask(kind.service, kind.method, lambda is_again: request)
        except Exception as error:
            _settle(batch, [error] * len(batch))
        except BaseException:
            self._fail(batch)
            raise
        else:
            _settle(batch, kind.outcomes(answer))

    def _fail(self, items: Sequence[_Item] | deque[_Item]) -> None:
        error = Unavailable("The connection to the server was closed before it answered.")
        _settle(items, [error] * len(items))


def _settle(items: Sequence[_Item] | deque[_Item], outcomes: Sequence[Any]) -> None:
    for item, outcome in zip(items, outcomes, strict=True):
        try:
            item.settle(outcome)
        except Exception:  # of whoever hears of it: the others are told all the same
            LOGGER.exception("What was made of an answer failed")


def written(answer: Any) -> list[Any]:
    """Of WriteOutcomes: the time of each record, or why it was refused."""
    found: list[Any] = [Instant(at) for at in answer.at]
    for refused in answer.refused:
        found[refused.index] = from_detail(refused.error)
    return found

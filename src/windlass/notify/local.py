"""Who is woken: a hub of hints. A hint carries no truth; losing one costs latency, never correctness.

publish(topic) ──► subscribers in this process      (at once)
              └──► elsewhere: PostgreSQL NOTIFY     (other processes; on SQLite they watch the file)
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from windlass.runtime import Clock

Topic = tuple[str, ...]
EVERYTHING: Topic = ("*",)


def queue_topic(namespace: str, queue: str) -> Topic:
    return ("queue", namespace, queue)


def pipelines_topic(namespace: str, queue: str) -> Topic:
    """Some pipeline of this queue has something to do."""
    return ("pipelines", namespace, queue)


def run_topic(namespace: str, run_id: str) -> Topic:
    return ("run", namespace, run_id)


def ended_topic(namespace: str) -> Topic:
    """For other processes: some run of this namespace ended. One per batch, however many ended in it."""
    return ("ended", namespace)


def worker_topic(namespace: str, worker: str) -> Topic:
    """Something happened to a run that this worker holds."""
    return ("worker", namespace, worker)


def gates_topic(namespace: str) -> Topic:
    """Something that was paused goes on."""
    return ("gates", namespace)


def news_topic(namespace: str) -> Topic:
    """Anything happened in this namespace. Never published: every topic that names the namespace wakes it too."""
    return ("news", namespace)


def schedules_topic() -> Topic:
    """Some schedule, of whatever namespace, is due at another time than before."""
    return ("schedules",)


def items_topic(namespace: str) -> Topic:
    """Some work item of this namespace has entered another state."""
    return ("items", namespace)


def signals_topic() -> Topic:
    """Some signal, of whatever namespace, was armed or let go on, or has fired."""
    return ("signals",)


class Elsewhere(Protocol):
    """How other processes are told, and how this one hears from them."""

    async def open(self, hear: Callable[[Topic], None]) -> None: ...

    def send(self, topic: Topic) -> None: ...

    def waiting(self, *, anyone: bool) -> None:
        """Somebody in this process began to wait for a hint, or nobody waits any more."""
        ...

    async def close(self) -> None: ...


class Subscription:
    """Set once a topic was published since it was last cleared; subscribe first, then look, then wait."""

    def __init__(self, hub: Hub, topics: tuple[Topic, ...]) -> None:
        self._hub, self._topics = hub, topics
        self._is_set = False
        self.is_named = False  # a topic of ours was published since: something is there, and not only something to see
        self._waiters: set[asyncio.Future[None]] = set()

    def __enter__(self) -> Subscription:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        self._hub.add(self, self._topics)

    def close(self) -> None:
        self._hub.remove(self, self._topics)

    def wake(self, *, by_name: bool = False) -> None:
        self._is_set = True
        self.is_named = self.is_named or by_name
        for waiter in tuple(self._waiters):
            _end(waiter)

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiters)

    @property
    def is_set(self) -> bool:
        """Whether somebody said something since it was last cleared."""
        return self._is_set

    def clear(self) -> None:
        self._is_set = self.is_named = False

    async def wait(self, clock: Clock, delay: int) -> None:
        """Return when woken, or after `delay` microseconds."""
        if self._is_set:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)  # a worker from afar may ask again while its first call still waits
        timer = clock.call_later(delay, lambda: _end(waiter))
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiters.discard(waiter)


def _end(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Hub:
    """The subscribers of this process."""

    def __init__(self, elsewhere: Elsewhere | None = None) -> None:
        self.is_suppressed = False  # tests switch every hint off: all work must still be done
        self._elsewhere = elsewhere
        self._subscribers: defaultdict[Topic, set[Subscription]] = defaultdict(set)

    async def open(self) -> None:
        if self._elsewhere is not None:
            await self._elsewhere.open(self.hear)

    async def close(self) -> None:
        if self._elsewhere is not None:
            await self._elsewhere.close()

    def subscribe(self, *topics: Topic) -> Subscription:
        return Subscription(self, topics)

    def publish(self, topic: Topic) -> None:
        self.publish_here(topic)
        self.publish_elsewhere(topic)

    def publish_here(self, topic: Topic) -> None:
        if not self.is_suppressed:
            for subscription in (*self._subscribers.get(topic, ()), *self._subscribers.get(("news", *topic[1:2]), ())):
                subscription.wake(by_name=True)

    def publish_elsewhere(self, topic: Topic) -> None:
        if self._elsewhere is not None and not self.is_suppressed:
            self._elsewhere.send(topic)

    def hear(self, topic: Topic) -> None:
        """A hint from another process. EVERYTHING means: whoever waits, look again."""
        if topic != EVERYTHING:
            return self.publish_here(topic)
        if not self.is_suppressed:
            for subscription in set().union(*self._subscribers.values()):
                subscription.wake()

    def add(self, subscription: Subscription, topics: tuple[Topic, ...]) -> None:
        if not self._subscribers and self._elsewhere is not None:
            self._elsewhere.waiting(anyone=True)
        for topic in topics:
            self._subscribers[topic].add(subscription)

    def remove(self, subscription: Subscription, topics: tuple[Topic, ...]) -> None:
        for topic in topics:
            self._subscribers[topic].discard(subscription)
            if not self._subscribers[topic]:
                del self._subscribers[topic]
        if not self._subscribers and self._elsewhere is not None:
            self._elsewhere.waiting(anyone=False)

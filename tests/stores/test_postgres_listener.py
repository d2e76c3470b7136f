"""Do processes on one PostgreSQL hear each other, and look again after a connection was lost?"""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from windlass.errors import InvalidInput, NotAllowed, StoreRefused
from windlass.model.time import MILLISECOND, SECOND
from windlass.notify.postgres import EVERYTHING, LONGEST_TOPIC, PostgresListener
from windlass.testing.clock import FakeClock

CUT_LISTENERS = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'windlass listener'"


async def hear(topics: asyncio.Queue[str]) -> str:
    return await asyncio.wait_for(topics.get(), timeout=10)


async def next_pause(clock: FakeClock) -> int:
    """Wait until the listener sleeps, and say for how long."""
    for _ in range(1_000):
        if (pause := clock.next_timer()) is not None:
            return pause
        await asyncio.sleep(0.01)  # the server's news comes over a real socket
    raise AssertionError("the listener never noticed that its connection is gone")


async def test_a_topic_is_heard_by_every_listener(postgres_url: str) -> None:
    here, there = asyncio.Queue[str](), asyncio.Queue[str]()
    one, two = PostgresListener(postgres_url), PostgresListener(postgres_url)
    await one.open(here.put_nowait)
    await two.open(there.put_nowait)

    one.send("queue:billing")

    assert [await hear(here), await hear(there)] == ["queue:billing"] * 2
    await one.close()
    await two.close()
    await two.close()


async def test_topics_that_wait_are_sent_once(postgres_url: str) -> None:
    heard = asyncio.Queue[str]()
    listener = PostgresListener(postgres_url)
    for topic in ("a", "b", "a", "a"):
        listener.send(topic)

    await listener.open(heard.put_nowait)
    assert [await hear(heard), await hear(heard)] == ["a", "b"]

    listener.send("c")
    assert await hear(heard) == "c"
    await listener.close()


async def test_a_topic_is_never_longer_than_postgres_takes(postgres_url: str) -> None:
    heard = asyncio.Queue[str]()
    listener = PostgresListener(postgres_url)
    await listener.open(heard.put_nowait)

    with pytest.raises(InvalidInput):
        listener.send("é" * (LONGEST_TOPIC // 2 + 1))
    listener.send("x" * LONGEST_TOPIC)

    assert await hear(heard) == "x" * LONGEST_TOPIC
    await listener.close()


async def test_after_a_lost_connection_everything_is_read_again(postgres_url: str, clock: FakeClock) -> None:
    heard = asyncio.Queue[str]()
    listener = PostgresListener(postgres_url, clock=clock)
    await listener.open(heard.put_nowait)
    administrator = await asyncpg.connect(postgres_url)

    await administrator.execute(CUT_LISTENERS)
    assert await next_pause(clock) == 100 * MILLISECOND
    listener.send("sent meanwhile")
    clock.advance(100 * MILLISECOND)

    assert [await hear(heard), await hear(heard)] == [EVERYTHING, "sent meanwhile"]
    await administrator.close()
    await listener.close()


async def test_pauses_between_attempts_grow_and_are_bounded(
    postgres_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, pauses = asyncio.Queue[str](), list[int]()
    listener = PostgresListener(postgres_url, clock=clock)
    await listener.open(heard.put_nowait)
    administrator = await asyncpg.connect(postgres_url)
    monkeypatch.setattr(listener, "_url", "postgresql://postgres@127.0.0.1:1/windlass")

    await administrator.execute(CUT_LISTENERS)
    while len(pauses) < 8:
        pauses.append(await next_pause(clock))
        clock.advance(pauses[-1])

    tenths = [pause // (100 * MILLISECOND) for pause in pauses]
    assert tenths == [1, 2, 4, 8, 16, 32, 50, 50]
    assert max(pauses) == 5 * SECOND
    assert heard.empty()
    await administrator.close()
    await listener.close()


async def test_a_listener_opens_once_and_says_what_is_wrong(postgres_url: str) -> None:
    listener = PostgresListener(postgres_url)
    await listener.open(lambda topic: None)
    with pytest.raises(NotAllowed):
        await listener.open(lambda topic: None)
    await listener.close()

    with pytest.raises(StoreRefused) as refusal:
        await PostgresListener("postgresql://user:s3cret@127.0.0.1:1/windlass").open(lambda topic: None)
    assert "s3cret" not in str(refusal.value)

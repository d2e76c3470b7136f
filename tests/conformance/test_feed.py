"""Does whoever follows the log see everything once, in one order, and hear of it when something is gone?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.given import NAMESPACE, create, engine_on, new_run, start
from tests.conformance.sound import EngineConformance
from tests.conformance.test_log import append
from tests.conformance.test_log import entry as run_entry
from tests.conformance.test_retention import KEPT, ended, prune
from windlass.engine.engine import Engine
from windlass.errors import CursorExpired, InvalidInput
from windlass.model.feed import FEED_LIMIT, FROM_NOW, FeedEntry, FeedPage, Place, ReadFeed
from windlass.model.time import DAY, HOUR, MINUTE, SECOND, Duration
from windlass.rules.feed import Cursor, write_cursor
from windlass.store.base import Store
from windlass.store.queries.log import NewLogEntry
from windlass.testing.clock import FakeClock

LONG = Duration(DAY)


def entry(cause: str, **fields: Any) -> NewLogEntry:
    """About something of which there need be no row."""
    return run_entry(cause, **({"subject_kind": "gate", "subject_id": "a"} | fields))


async def read(engine: Engine, cursor: str | None = None, **fields: Any) -> FeedPage:
    values: dict[str, Any] = {"namespace": NAMESPACE, "cursor": cursor}
    return await engine.feed.read_feed(ReadFeed(**(values | fields)))


async def follow(engine: Engine, cursor: str | None = None, *, count: int, limit: int = 100) -> list[FeedEntry]:
    """The next entries, waited for: what is committed is told a moment later where others are at work."""
    found: list[FeedEntry] = []
    while len(found) < count:
        page = await read(engine, cursor, limit=limit)
        found, cursor = [*found, *page.entries], page.cursor
        if not page.has_more and len(found) < count:
            await engine.feed.wait_for_news(NAMESPACE, LONG, cursor)
    return found


def causes(entries: list[FeedEntry] | tuple[FeedEntry, ...]) -> list[str]:
    return [item.entry.cause for item in entries]


class TestFeed(EngineConformance):
    # In one order, once

    async def test_everything_is_told_once_in_the_order_it_happened(self, engine: Engine, store: Store) -> None:
        for number in range(30):
            await append(store, entry(f"{number}"))

        in_one_go = await follow(engine, count=30)
        in_bits = await follow(engine, count=30, limit=7)

        assert causes(in_one_go) == [f"{number}" for number in range(30)]
        assert in_bits == [*in_one_go][:30]

    async def test_one_may_go_on_behind_any_entry(self, engine: Engine, store: Store) -> None:
        await append(store, *[entry(f"{number}") for number in range(9)])
        everything = await follow(engine, count=9)

        for number, item in enumerate(everything[:-1]):
            assert causes((await read(engine, item.cursor)).entries) == [f"{n}" for n in range(number + 1, 9)]
        assert (await read(engine, everything[-1].cursor)).entries == ()

    async def test_a_page_says_whether_there_is_more(self, engine: Engine, store: Store) -> None:
        await append(store, *[entry(f"{number}") for number in range(4)])
        await follow(engine, count=4)

        first = await read(engine, limit=2)
        second = await read(engine, first.cursor, limit=2)
        third = await read(engine, second.cursor, limit=2)

        assert [page.has_more for page in (first, second, third)] == [True, False, False]
        assert [len(page.entries) for page in (first, second, third)] == [2, 2, 0]

    async def test_from_now_on_leaves_out_what_was_told(self, engine: Engine, store: Store) -> None:
        await append(store, entry("before"))
        await follow(engine, count=1)

        page = await read(engine, FROM_NOW)
        await append(store, entry("behind"))

        assert (page.entries, page.has_more) == ((), False)
        assert causes(await follow(engine, page.cursor, count=1)) == ["behind"]

    async def test_a_namespace_hears_of_itself_only(self, engine: Engine, store: Store) -> None:
        for number in range(20):
            await append(store, entry(f"{number}", namespace="other"))
            await append(store, entry(f"own {number}"))

        assert causes(await follow(engine, count=20, limit=3)) == [f"own {number}" for number in range(20)]

    # Some of it

    async def test_one_may_follow_one_subject_or_one_kind(self, engine: Engine, store: Store) -> None:
        await append(store, entry("a", subject_kind="schedule"), entry("b"), entry("c", subject_id="b"))
        await append(store, entry("d", subject_kind="schedule"), entry("e"), entry("f", subject_id="b"))
        await follow(engine, count=6)

        of_kind = await read(engine, subject_kind="gate")
        of_subject = await read(engine, subject_kind="gate", subject_id="b")
        its_first = await read(engine, subject_kind="gate", subject_id="b", limit=1)
        its_second = await read(engine, its_first.cursor, subject_kind="gate", subject_id="b")

        assert causes(of_kind.entries) == ["b", "c", "e", "f"]
        assert causes(of_subject.entries) == ["c", "f"]
        assert (causes(its_first.entries), its_first.has_more) == (["c"], True)
        assert (causes(its_second.entries), its_second.has_more) == (["f"], False)

    async def test_what_is_rare_is_found_page_by_page(self, engine: Engine, store: Store) -> None:
        await append(store, *[entry("common") for _ in range(1_500)], entry("rare", subject_kind="schedule"))
        await follow(engine, count=1_501, limit=500)

        first = await read(engine, subject_kind="schedule")
        second = await read(engine, first.cursor, subject_kind="schedule")

        assert (first.entries, first.has_more) == ((), True)
        assert (causes(second.entries), second.has_more) == (["rare"], False)

    # What is gone

    @pytest.mark.spec("security:96")
    async def test_a_cursor_in_front_of_what_was_removed_has_expired(self, engine: Engine, clock: FakeClock) -> None:
        beginning = (await read(engine, FROM_NOW)).cursor
        await ended(engine)
        (*_, last) = await follow(engine, count=3)
        clock.advance(KEPT)
        assert await prune(engine) == 1

        with pytest.raises(CursorExpired, match="not kept any more"):
            await read(engine, beginning)

        assert (await read(engine, last.cursor)).entries == ()  # it has read all that is gone
        assert (await read(engine)).entries == ()

    async def test_reading_what_is_kept_is_not_disturbed_by_what_goes(self, engine: Engine, clock: FakeClock) -> None:
        await engine.runs.start_run(start(1, name="other"))
        await ended(engine, 2)
        await engine.runs.start_run(start(3, name="other"))
        await follow(engine, count=5)
        first = await read(engine, limit=1)
        clock.advance(KEPT)
        assert await prune(engine) == 1

        rest = await read(engine, first.cursor)
        assert [item.entry.cause for item in rest.entries] == ["start"]
        late = await ended(engine, 4)
        await follow(engine, rest.cursor, count=3)
        clock.advance(KEPT)
        assert await prune(engine) == 1
        with pytest.raises(CursorExpired):
            await read(engine, first.cursor)  # of what came since it began
        assert late.finished_at is not None

    async def test_remarks_that_are_removed_count_too(self, engine: Engine, store: Store, clock: FakeClock) -> None:
        cursor = (await read(engine, FROM_NOW)).cursor
        await append(store, entry("a"))
        await append(store, entry("b"))
        first, second = await follow(engine, count=2)
        clock.advance(KEPT)
        await prune(engine)

        assert causes((await read(engine)).entries) == ["b"]  # the last about it stays
        with pytest.raises(CursorExpired):
            await read(engine, cursor)
        assert causes((await read(engine, first.cursor)).entries) == ["b"]
        assert (await read(engine, second.cursor)).entries == ()

    async def test_other_namespaces_do_not_make_it_expire(self, engine: Engine, store: Store, clock: FakeClock) -> None:
        cursor = (await read(engine, FROM_NOW, namespace="other")).cursor
        await ended(engine)
        clock.advance(KEPT)
        assert await prune(engine) == 1

        assert (await read(engine, cursor, namespace="other")).entries == ()

    # What is no cursor

    @pytest.mark.spec("security:S-23", "security:92", "security:96")
    async def test_what_is_no_cursor_is_refused(self, engine: Engine, store: Store) -> None:
        await append(store, entry("a"))
        (item,) = await follow(engine, count=1)
        ahead = write_cursor(Cursor(Place(2**60, 2**60), Place(0, 0)), namespace=NAMESPACE)
        for_ever = write_cursor(Cursor(Place(0, 0), Place(2**60, 2**60)), namespace=NAMESPACE)

        for cursor in ("", "x", item.cursor[:-1], item.cursor + "A", item.cursor.swapcase(), ahead, for_ever):
            with pytest.raises(InvalidInput) as refusal:
                await read(engine, cursor)
            assert (refusal.value.reason, refusal.value.path) == ("invalid_cursor", "cursor")
        with pytest.raises(InvalidInput, match="another namespace"):
            await read(engine, item.cursor, namespace="other")

    @pytest.mark.spec("security:92")
    async def test_limits_and_filters_are_checked(self, engine: Engine) -> None:
        for limit in (0, -1, FEED_LIMIT + 1, 10**9):
            with pytest.raises(InvalidInput) as refusal:
                await read(engine, limit=limit)
            assert refusal.value.path == "limit"
        with pytest.raises(InvalidInput, match="kind"):
            await read(engine, subject_id="x")

    # Waiting

    async def test_whoever_waits_hears_of_what_others_write(
        self, engine: Engine, store: Store, second_store: Store
    ) -> None:
        cursor = (await read(engine, FROM_NOW)).cursor
        waiting = asyncio.ensure_future(engine.feed.wait_for_news(NAMESPACE, LONG, cursor))
        await asyncio.sleep(0)

        await create(second_store, new_run(1))

        await waiting
        assert causes(await follow(engine, cursor, count=1)) == ["start"]

    async def test_what_came_meanwhile_is_not_slept_over(self, engine: Engine, store: Store) -> None:
        cursor = (await read(engine, FROM_NOW)).cursor
        await append(store, entry("a"))

        await engine.feed.wait_for_news(NAMESPACE, LONG, cursor)

        assert causes((await read(engine, cursor)).entries) == ["a"]

    async def test_nobody_waits_for_longer_than_they_want(self, engine: Engine, clock: FakeClock) -> None:
        waiting = [
            asyncio.ensure_future(engine.feed.wait_for_news(NAMESPACE, Duration(seconds * SECOND)))
            for seconds in (0, 1, 60)
        ]
        await waiting[0]

        clock.advance(SECOND)
        await waiting[1]
        assert not waiting[2].done()
        clock.advance(MINUTE)
        await waiting[2]

    async def test_a_thousand_who_wait_cost_one_look(self, store: Store, clock: FakeClock) -> None:
        engine, looks = engine_on(store, clock), 0
        (cursor,) = {(await read(engine, FROM_NOW)).cursor}
        asked = store.read

        async def counted(name: str, *arguments: object, **options: object) -> object:
            nonlocal looks
            looks += name == "newest_of_feed"
            return await asked(name, *arguments, **options)  # type: ignore[arg-type]

        store.read = counted  # type: ignore[method-assign, assignment]
        try:
            waiting = [asyncio.ensure_future(engine.feed.wait_for_news(NAMESPACE, LONG, cursor)) for _ in range(1_000)]
            await asyncio.sleep(0)
            await append(store, entry("a"))
            await asyncio.gather(*waiting)
        finally:
            store.read = asked  # type: ignore[method-assign]

        assert 1 <= looks < 20
        await engine.feed.close()

    async def test_closing_lets_everybody_go(self, store: Store, clock: FakeClock) -> None:
        engine = engine_on(store, clock)
        waiting = asyncio.ensure_future(engine.feed.wait_for_news(NAMESPACE, Duration(HOUR)))
        await asyncio.sleep(0)

        await engine.feed.close()

        await waiting

"""Does a worker that is not told its queues serve every queue its app names, and one that is told no other?"""

from __future__ import annotations

import logging

import pytest

import windlass
from tests.integration.conftest import eventually
from tests.programs import nothing, returns, runs
from windlass.testing.harness import Harness


async def ship(ctx: windlass.Context, id: str) -> str:
    return f"{id} shipped"


async def served(harness: Harness) -> list[list[str]]:
    """The queues that are on record, of each worker."""
    workers = await harness.opened.runs.list_workers("default")
    return [sorted({lane.queue for lane in (*row.served, *row.pipelines)}) for row in workers]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    told = [record.getMessage() for record in caplog.records if record.name.startswith("windlass")]
    return [text for text in told if "erv" in text and "queue" in text]


async def test_every_queue_is_served_whoever_names_it(idle_harness: Harness) -> None:
    app = idle_harness.app
    took: list[str] = []
    letters = app.topic("letters", str)
    app.workflow(ship)
    lower = app.workflow(queue="light")(returns("lowered"))
    lift = app.workflow(queue="heavy")(runs(lower))
    release = app.graph("release", queue="builds")

    @release.job(queue="arm")
    async def test(ctx: windlass.JobContext) -> str:
        return "green"

    @app.pipeline("post", queue="post").consumer(letters)
    async def sort(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None:
        took.extend(event.id for event in events)

    @app.schedule(every="1h")
    @app.workflow(queue="nightly")
    async def clean(ctx: windlass.Context) -> None:
        took.append("cleaned")

    @app.on(lift, enters="completed")
    @app.workflow(queue="alarms")
    async def tell(ctx: windlass.Context) -> None:
        took.append("told")

    async with app.worker():
        assert await (await app.start(ship, "7")).result() == "7 shipped"
        assert await (await app.start(ship, "8", queue="heavy")).result() == "8 shipped"
        assert await (await app.start(lift)).result() == "lowered"
        assert (await (await app.start(release)).result()).completed == 1
        await app.publish(letters, "hello", id="letter")
        await eventually(lambda: {"letter", "told"} <= set(took))
        idle_harness.clock.advance("1h")
        await eventually(lambda: "cleaned" in took)
        queues = await served(idle_harness)

    assert queues == [["alarms", "arm", "builds", "default", "heavy", "light", "nightly", "post"]]


async def test_what_is_declared_later_is_served_where_it_belongs(
    idle_harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    app = idle_harness.app
    took: list[str] = []
    letters = app.topic("letters", str)
    app.workflow(ship)

    with caplog.at_level(logging.INFO, logger="windlass"):
        async with app.worker(slots=7):
            await (await app.start(ship, "7")).result()
            mail = app.workflow(queue="mail")(returns("mailed"))

            assert await (await app.start(mail)).result() == "mailed"

            @app.pipeline("post", queue="post").consumer(letters)
            async def sort(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None:
                took.extend(event.id for event in events)

            async def is_entered() -> bool:
                return "post" in {info.name for info in await app.pipelines.list()}

            await eventually(is_entered)
            await app.publish(letters, "hello", id="letter")
            await eventually(lambda: took == ["letter"])
            queues = await served(idle_harness)

    assert queues == [["default", "mail", "post"]]
    first, *later = said(caplog)
    assert first == "Serving queues default, 7 slots"
    assert [text.partition(" serves ")[2] for text in later] == [
        "queues 'default', 'mail' by now.",
        "queues 'default', 'mail', 'post' by now.",
    ]


async def test_a_program_without_anything_yet_serves_what_it_declares_then(idle_harness: Harness) -> None:
    app = idle_harness.app

    async with app.worker():
        mail = app.workflow(queue="mail")(returns("mailed"))

        assert await (await app.start(mail)).result() == "mailed"


async def test_queues_that_are_given_stay_as_they_are(idle_harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    app = idle_harness.app
    app.workflow(ship)
    letters = app.topic("letters", str)

    @app.pipeline("post", queue="post").consumer(letters)
    async def sort(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None: ...

    with caplog.at_level(logging.INFO, logger="windlass"):
        async with app.worker(queues=["mail"]):
            left = await app.start(ship, "7")
            other = app.workflow(queue="other")(nothing)
            mail = app.workflow(queue="mail")(returns("mailed"))
            elsewhere = await app.start(other)
            await (await app.start(mail)).result()
            statuses = [await left.status(), await elsewhere.status()]
            queues = await served(idle_harness)

    assert (statuses, queues) == (["pending", "pending"], [["mail"]])
    assert said(caplog) == ["Serving queues mail, 100 slots"]


async def test_a_web_app_serves_every_queue_too(idle_harness: Harness) -> None:
    app = idle_harness.app
    app.workflow(ship, queue="mail")

    async with app.lifespan():
        assert await (await app.start(ship, "7")).result() == "7 shipped"


async def test_more_lanes_than_a_server_takes_are_served_where_they_belong(idle_harness: Harness) -> None:
    app = idle_harness.app
    for number in range(100):
        app.workflow(ship, name=f"ship-{number}", queue=f"queue-{number // 10}")

    async with app.worker():
        first, last = await app.start("ship-0", "7"), await app.start("ship-99", "8")
        moved = await app.start("ship-50", "9", queue="default")

        assert [await handle.result() for handle in (first, last, moved)] == ["7 shipped", "8 shipped", "9 shipped"]

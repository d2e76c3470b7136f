"""A worker whose key is good for some queues serves those of them that its app names, and says what it leaves out."""

from __future__ import annotations

import logging

import pytest

import windlass
from tests.integration.conftest import eventually
from tests.integration.server.wire import Wire
from windlass.errors import Forbidden
from windlass.model.access import Role
from windlass.settings import Settings
from windlass.settings_values import Secret

ROLES = (Role.WORKER, Role.CLIENT, Role.OPERATOR)


async def ship(ctx: windlass.Context, id: str) -> str:
    return f"{id} shipped"


async def app_with_key(wire: Wire, *queues: str) -> windlass.App:
    """An app that names three queues, and whose key is good for these."""
    _, token = await wire.key(*ROLES, queues=queues)
    app = windlass.App(f"grpc://{wire.address}", settings=Settings(token=Secret(token)))
    app.workflow(ship, name="mail", queue="mail")
    app.workflow(ship, name="bill", queue="billing")
    return app


async def served(wire: Wire) -> list[list[str]]:
    workers = await wire.opened.runs.list_workers("default")
    return [sorted({lane.queue for lane in (*row.served, *row.pipelines)}) for row in workers]


def said(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno == level]
    return [text.partition(" may not serve ")[2] or text for text in found if "erv" in text and "queue" in text]


async def test_a_key_for_some_queues_serves_those_of_them_that_the_app_names(
    live_wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    app = await app_with_key(live_wire, "mail", "post", "elsewhere")
    took: list[str] = []
    letters, parcels = app.topic("letters", str), app.topic("parcels", str)

    @app.pipeline("letters", queue="post").consumer(letters)
    async def sort(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None:
        took.extend(event.id for event in events)

    @app.pipeline("parcels", queue="depot").consumer(parcels)
    async def load(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None:
        took.extend(event.id for event in events)

    with caplog.at_level(logging.INFO, logger="windlass"):
        async with app, app.worker():
            await app.publish(parcels, "heavy", id="parcel")
            await app.publish(letters, "hello", id="letter")
            left = await app.start("bill", "7")
            assert await (await app.start("mail", "8")).result() == "8 shipped"
            await eventually(lambda: bool(took))
            status, queues = await left.status(), await served(live_wire)

    assert (status, took, queues) == ("pending", ["letter"], [["mail", "post"]])
    assert said(caplog, logging.INFO) == ["Serving queues mail, post, 100 slots"]
    assert said(caplog, logging.WARNING) == [
        "queues 'billing', 'default', 'depot': left out, though the app names them."
    ]


async def test_what_is_declared_later_is_narrowed_as_well(live_wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    app = await app_with_key(live_wire, "mail", "post")

    with caplog.at_level(logging.INFO, logger="windlass"):
        async with app, app.worker():
            app.workflow(ship, name="parcel", queue="post")
            app.workflow(ship, name="secret", queue="vault")
            left = await app.start("secret", "7")
            assert await (await app.start("parcel", "8")).result() == "8 shipped"
            status, queues = await left.status(), await served(live_wire)

    assert (status, queues) == ("pending", [["mail", "post"]])
    assert said(caplog, logging.WARNING) == [
        "queues 'billing', 'default': left out, though the app names them.",
        "queue 'vault': left out, though the app names it.",
    ]


async def test_where_nothing_is_left_it_ends_with_one_line_that_says_why(live_wire: Wire) -> None:
    app = await app_with_key(live_wire, "vault")

    with pytest.raises(Forbidden) as refused:
        async with app.worker():
            raise AssertionError("It serves nothing.")

    assert str(refused.value) == (
        "This key may serve queue 'vault' only, and this worker serves 'billing', 'default', 'mail': nothing is left. "
        "Use a key for these, or declare with queue='vault' what it is to execute."
    )
    assert await served(live_wire) == []
    await app.aclose()


async def test_queues_that_are_given_are_refused_if_the_key_does_not_allow_one(live_wire: Wire) -> None:
    app = await app_with_key(live_wire, "mail")

    with pytest.raises(Forbidden, match="This key may not serve queue 'billing'"):
        async with app.worker(queues=["mail", "billing"]):
            raise AssertionError("It serves less than it was told.")

    await app.aclose()


async def test_a_worker_that_comes_back_serves_what_it_served(live_wire: Wire) -> None:
    app = await app_with_key(live_wire, "mail")

    async with app, app.worker():
        (worker,) = app._workers
        await live_wire.opened.work.deregister_worker("default", worker.id)
        await worker._presence.come_back()

        assert await served(live_wire) == [["mail"]]
        assert await (await app.start("mail", "7")).result() == "7 shipped"

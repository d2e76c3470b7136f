"""Which queues a worker serves by what it was given, what its app names, and what a server said about its key."""

from __future__ import annotations

import pytest

import windlass
from windlass.model.run import WorkerId
from windlass.model.worker import Served
from windlass.rules.workers import MOST_LANES
from windlass.worker.lanes import Lanes

WORKER = WorkerId("wrk_" + "0" * 26)


async def work(ctx: windlass.Context) -> None: ...


def app_of(*queues: str) -> windlass.App:
    app = windlass.App(":memory:")
    for queue in queues:
        app.workflow(work, name=f"of-{queue}", queue=queue)
    return app


def enter(lanes: Lanes, *left_out: str) -> None:
    lanes.enter(lanes.wanted, left_out=left_out, worker=WORKER)


def test_a_queue_that_is_declared_later_is_served_once_the_worker_is_entered_for_it() -> None:
    app = app_of("mail")
    lanes = Lanes(app._registry, given=None)
    enter(lanes)

    app.workflow(work, name="late", queue="post")
    before = (lanes.queues, lanes.is_behind)
    enter(lanes)

    assert before == (("default", "mail"), True)
    assert (lanes.queues, lanes.is_behind) == (("default", "mail", "post"), False)


def test_the_answer_to_an_older_registration_changes_nothing() -> None:
    app = app_of("mail")
    lanes = Lanes(app._registry, given=None)
    older = lanes.wanted
    app.workflow(work, name="late", queue="post")
    enter(lanes)

    lanes.enter(older, left_out=(), worker=WORKER)

    assert lanes.queues == ("default", "mail", "post")


def test_what_the_key_does_not_allow_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    lanes = Lanes(app_of("mail", "vault")._registry, given=None)

    for _ in range(2):  # as after a silence
        enter(lanes, "default", "vault")

    assert lanes.queues == ("mail",)
    assert [record.getMessage() for record in caplog.records] == [
        f"The key of worker {WORKER} may not serve queues 'default', 'vault': left out, though the app names them."
    ]


def test_every_workflow_is_served_in_every_queue_up_to_what_a_server_takes() -> None:
    few, many = app_of("a", "b"), app_of(*(f"q{number}" for number in range(32)))

    small, large = (Lanes(app._registry, given=None) for app in (few, many))
    given = Lanes(many._registry, given=many._registry.queues)
    for lanes in (small, large, given):
        enter(lanes)

    assert len(small.served()) == 2 * 3
    assert len(large.served()) == 2 * 32  # each in its own, and in "default"
    assert {Served("q7", "of-q7"), Served("default", "of-q7")} <= set(large.served())
    assert len(given.served()) == 32 * 33 > MOST_LANES  # as it was told; a server refuses that

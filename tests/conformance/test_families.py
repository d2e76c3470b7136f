"""Is a child created once, is its end heard of once, and does a cancel reach exactly those who follow?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.given import (
    FAILURE,
    NAMESPACE,
    claim_one,
    engine_on,
    finished,
    new_run,
    poll,
    resuming,
    start,
    while_time_passes,
)
from tests.conformance.hooks import raising, record
from tests.conformance.interleaving import Blocked, meanwhile
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import (
    cancelling,
    deed,
    found,
    parking,
    path,
    pausing,
    run_in,
    wait_for,
)
from windlass.engine.engine import Engine
from windlass.errors import ClaimLost, Unavailable
from windlass.model.commands import StartChild, Suspended, WaitStep
from windlass.model.run import Deed, Run, RunId, RunStatus
from windlass.model.step import StepKind
from windlass.model.time import HOUR
from windlass.model.worker import Served
from windlass.store.base import Store, Tx
from windlass.testing.clock import FakeClock

LETTERS = (Served("mail", "letter"),)


def child_wait(run: Run, key: str = "letter", *, follows: bool = True, **fields: Any) -> WaitStep:
    """Start a letter and wait for it; with kind START, without waiting for it."""
    child = StartChild(command=start(name="letter", queue="mail"), follows_parent=follows)
    values: dict[str, Any] = {"kind": StepKind.CHILD, "key": key, "child": child}
    return wait_for(run, **(values | fields))


async def children_of(store: Store, parent: RunId) -> dict[str, RunId]:
    return await store.read("children", lambda tx: tx.runs.children(NAMESPACE, parent=parent))


async def parent_of(engine: Engine, store: Store, *keys: str, **fields: Any) -> tuple[Run, dict[str, RunId]]:
    """A run that waits for a child under each of these keys."""
    run = await run_in(engine, RunStatus.RUNNING)
    await engine.work.suspend_run(parking(run, *(child_wait(run, key) for key in keys), **fields))
    return run, await children_of(store, run.id)


async def claim_child(engine: Engine, id: RunId, number: int = 1) -> Run:
    claimed = await engine.work.claim_runs(poll(1000 + number, served=LETTERS, limit=1000))
    assert id in {run.run_id for run in claimed}
    return await found(engine, id)


async def end(engine: Engine, run: Run, status: RunStatus = RunStatus.COMPLETED) -> None:
    ends: dict[str, Any] = {} if status is RunStatus.COMPLETED else {"output": None, "failure": FAILURE}
    await engine.work.finish_run(finished(run, status=status, parent=run.parent, **ends))


async def statuses(engine: Engine, *ids: RunId) -> list[RunStatus]:
    return [(await found(engine, id)).status for id in ids]


class TestFamilies(EngineConformance):
    # Created once, and heard of

    @pytest.mark.spec("invariants:I-14")
    @pytest.mark.parametrize("park", [True, False])
    @pytest.mark.parametrize("point", ["before_commit", "after_commit"])
    async def test_a_child_is_created_once_even_if_the_answer_is_lost(
        self, store: Store, engine: Engine, clock: FakeClock, point: str, park: bool
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        asked = parking(run, child_wait(run, "a"), child_wait(run, "b"), park=park)
        record(store).at[point] = raising(Unavailable("cut"), times=1)

        await while_time_passes(clock, engine.work.suspend_run(asked))

        children = await children_of(store, run.id)
        assert sorted(children) == ["a", "b"]
        steps = {step.key: step.awaits for step in await engine.runs.list_steps(NAMESPACE, run.id)}
        assert steps == children
        for child in children.values():
            assert await path(engine, child) == [(None, "pending", "start")]

    @pytest.mark.spec("invariants:I-14")
    async def test_a_recovered_parent_that_asks_again_gets_the_child_it_has(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, child_wait(run), park=False))
        children = await children_of(store, run.id)
        clock.advance(HOUR)
        again = await claim_one(engine, 2)

        await engine.work.suspend_run(parking(again, child_wait(again)))

        assert await children_of(store, run.id) == children
        (step,) = await engine.runs.list_steps(NAMESPACE, run.id)
        assert step.awaits == children["letter"]

    @pytest.mark.spec("invariants:I-14")
    async def test_a_parent_goes_on_when_its_child_ends_and_not_before(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run, children = await parent_of(engine, store, "letter")
        clock.advance(HOUR)
        assert (await found(engine, run.id)).status is RunStatus.WAITING
        assert await engine.work.claim_runs(poll(2)) == []

        await end(engine, await claim_child(engine, children["letter"]))

        again = await claim_one(engine, 3)
        assert (await path(engine, run.id))[-2:] == [("waiting", "pending", "child"), ("pending", "running", "claim")]
        (settled,) = (await engine.work.suspend_run(parking(again, also=("letter",)))).settled
        assert (settled.key, settled.output, settled.failure) == ("letter", b"42", None)

    @pytest.mark.spec("invariants:I-14")
    async def test_a_child_that_ended_before_its_parent_parks_is_not_waited_for(
        self, store: Store, engine: Engine
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, child_wait(run), park=False))
        child = (await children_of(store, run.id))["letter"]
        await end(engine, await claim_child(engine, child), RunStatus.FAILED)

        answer = await engine.work.suspend_run(parking(run, also=("letter",)))

        assert not answer.is_parked
        (settled,) = answer.settled
        assert settled.failure is not None
        assert (settled.failure.type, settled.failure.message) == (FAILURE.type, FAILURE.message)

    @pytest.mark.spec("invariants:I-14")
    async def test_a_parent_that_parks_while_its_child_ends_misses_nothing(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        run = await run_in(engine, RunStatus.RUNNING)
        await engine.work.suspend_run(parking(run, child_wait(run), park=False))
        child = await claim_child(engine, (await children_of(store, run.id))["letter"])

        async def finish(tx: Tx) -> None:
            await tx.runs.lock_all(NAMESPACE, ids=[run.id, child.id])
            assert await tx.runs.finish([finished(child)])

        parked = parking(run, also=("letter",))
        answer = await meanwhile(second_store, finish, lambda: engine.work.suspend_run(parked), until_blocked)

        assert isinstance(answer, Suspended)
        assert [settled.key for settled in answer.settled] == ["letter"]
        assert (await found(other, run.id)).status is RunStatus.RUNNING

    async def test_the_first_of_several_waits_that_ends_wakes_the_parent(self, store: Store, engine: Engine) -> None:
        run, children = await parent_of(engine, store, "a", "b")

        await end(engine, await claim_child(engine, children["b"]))

        assert (await found(engine, run.id)).status is RunStatus.PENDING

    async def test_the_last_child_of_a_map_wakes_the_parent(self, store: Store, engine: Engine) -> None:
        run, children = await parent_of(engine, store, "a", "b", "c", together=True)
        await claim_child(engine, children["a"])

        for key, left in (("b", 2), ("a", 1)):
            await end(engine, await found(engine, children[key]))
            parent = await found(engine, run.id)
            assert (parent.status, parent.unmet) == (RunStatus.WAITING, left)
        await end(engine, await found(engine, children["c"]))

        assert (await found(engine, run.id)).status is RunStatus.PENDING

    @pytest.mark.parametrize("how", ["fails", "is cancelled"])
    async def test_the_first_child_of_a_map_that_fails_wakes_the_parent(
        self, store: Store, engine: Engine, how: str
    ) -> None:
        run, children = await parent_of(engine, store, "a", "b", "c", together=True)
        child = await claim_child(engine, children["b"])

        if how == "fails":
            await end(engine, child, RunStatus.FAILED)
        else:
            await engine.control.cancel_run(cancelling(child.id))

        assert (await found(engine, run.id)).status is RunStatus.PENDING

    async def test_children_that_end_together_wake_the_parent_once(self, store: Store, engine: Engine) -> None:
        keys = [f"letter:{number}" for number in range(20)]
        run, children = await parent_of(engine, store, *keys, together=True)
        await claim_child(engine, children[keys[0]])

        await asyncio.gather(*[end(engine, await found(engine, id)) for id in children.values()])

        assert [cause for _, _, cause in await path(engine, run.id)] == ["start", "claim", "child", "child"]
        assert (await found(engine, run.id)).status is RunStatus.PENDING

    async def test_a_run_that_was_started_only_is_known_at_once_and_not_waited_for(
        self, store: Store, engine: Engine
    ) -> None:
        run = await run_in(engine, RunStatus.RUNNING)

        answer = await engine.work.suspend_run(parking(run, child_wait(run, kind=StepKind.START)))

        child = (await children_of(store, run.id))["letter"]
        (settled,) = answer.settled
        assert (answer.is_parked, settled.output) == (False, b'"%s"' % child.encode())

    # Cancelled together

    @pytest.mark.spec("invariants:I-13", "invariants:I-14")
    async def test_a_cancel_reaches_every_follower_and_nobody_else(self, store: Store, engine: Engine) -> None:
        """root ─┬─ follower ─┬─ deep (follows)        cancelled: root, follower, deep
        │            └─ loose
        ├─ loose ──── below (follows)
        └─ done ───── left (follows)
        """
        root = await run_in(engine, RunStatus.RUNNING)
        first = parking(
            root, child_wait(root, "follower"), child_wait(root, "loose", follows=False), child_wait(root, "done")
        )
        await engine.work.suspend_run(first)
        ids = await children_of(store, root.id)
        follower = await claim_child(engine, ids["follower"])
        loose, done = await found(engine, ids["loose"]), await found(engine, ids["done"])
        await engine.work.suspend_run(
            parking(follower, child_wait(follower, "deep"), child_wait(follower, "loose", follows=False))
        )
        await engine.work.suspend_run(parking(loose, child_wait(loose, "below")))
        await engine.work.suspend_run(parking(done, child_wait(done, "left", kind=StepKind.START), park=False))
        await end(engine, done)
        below, left = await children_of(store, loose.id), await children_of(store, done.id)
        deep = await children_of(store, follower.id)

        answer = await engine.control.cancel_run(cancelling(root.id, by="ann", note="stop"))

        assert answer.children == tuple(sorted((follower.id, deep["deep"])))
        cancelled = await statuses(engine, root.id, follower.id, deep["deep"])
        assert cancelled == [RunStatus.CANCELLED] * 3
        assert await statuses(engine, loose.id, deep["loose"], below["below"], left["left"], done.id) == [
            RunStatus.WAITING,
            RunStatus.PENDING,
            RunStatus.PENDING,
            RunStatus.PENDING,
            RunStatus.COMPLETED,
        ]
        for id, expected in (
            (root.id, Deed(by="ann", note="stop")),
            (follower.id, Deed(by="ann", run=root.id)),
            (deep["deep"], Deed(by="ann", run=follower.id)),
        ):
            last = (await engine.runs.read_log(NAMESPACE, id))[-1]
            assert (last.cause, deed(last)) == ("cancel", expected)

    @pytest.mark.spec("invariants:I-13", "invariants:I-14")
    async def test_a_parent_that_waits_for_a_cancelled_child_goes_on(self, store: Store, engine: Engine) -> None:
        run, children = await parent_of(engine, store, "letter")

        await engine.control.cancel_run(cancelling(children["letter"]))

        again = await claim_one(engine, 2)
        (settled,) = (await engine.work.suspend_run(parking(again, also=("letter",)))).settled
        assert settled.failure is not None
        assert (again.id, settled.failure.type) == (run.id, "RunCancelled")

    @pytest.mark.spec("invariants:I-13")
    async def test_a_child_that_is_executed_learns_of_the_cancel_of_its_parent(
        self, store: Store, engine: Engine
    ) -> None:
        run, children = await parent_of(engine, store, "letter")
        child = await claim_child(engine, children["letter"])

        await engine.control.cancel_run(cancelling(run.id))

        with pytest.raises(ClaimLost):
            await end(engine, child)
        assert await statuses(engine, run.id, child.id) == [RunStatus.CANCELLED] * 2
        assert [cause for _, _, cause in await path(engine, run.id)] == ["start", "claim", "child", "cancel"]

    @pytest.mark.spec("invariants:I-13", "invariants:I-14")
    async def test_a_child_that_is_created_while_its_parent_is_cancelled_is_cancelled_too(
        self, store: Store, second_store: Store, clock: FakeClock, until_blocked: Blocked
    ) -> None:
        engine = engine_on(store, clock)
        run = await run_in(engine, RunStatus.RUNNING)

        async def add_child(tx: Tx) -> None:
            await tx.runs.lock(NAMESPACE, id=run.id)  # as parking does
            await tx.runs.create([new_run(7, parent=run.id, parent_step="letter", follows_parent=1)])

        cancel = cancelling(run.id)
        answer = await meanwhile(second_store, add_child, lambda: engine.control.cancel_run(cancel), until_blocked)

        (child,) = answer.children
        assert await statuses(engine, run.id, child) == [RunStatus.CANCELLED] * 2

    @pytest.mark.spec("invariants:I-57")
    async def test_a_cancel_of_a_family_whose_answer_was_lost_names_the_children_all_the_same(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run, children = await parent_of(engine, store, "a", "b")
        record(store).at["after_commit"] = raising(Unavailable("cut"), times=1)

        answer = await while_time_passes(clock, engine.control.cancel_run(cancelling(run.id)))

        assert (answer.is_done, set(answer.children)) == (True, set(children.values()))

    async def test_a_paused_parent_hears_of_its_child_when_it_is_resumed(
        self, store: Store, engine: Engine, clock: FakeClock
    ) -> None:
        run, children = await parent_of(engine, store, "letter")
        await engine.control.pause_run(pausing(run.id))
        await end(engine, await claim_child(engine, children["letter"]))
        assert (await found(engine, run.id)).status is RunStatus.PAUSED

        resumed = (await engine.control.resume_run(resuming(run.id))).run

        assert (resumed.status, resumed.available_at) == (RunStatus.PENDING, clock.now())

    @pytest.mark.spec("invariants:I-13", "invariants:I-14")
    async def test_children_that_end_while_their_parents_are_cancelled_end_one_way(
        self, store: Store, second_store: Store, clock: FakeClock
    ) -> None:
        engine, other = engine_on(store, clock), engine_on(second_store, clock)
        families = [await parent_of(engine, store, *"abcde", together=True) for _ in range(4)]
        children = [id for _, ids in families for id in ids.values()]
        await claim_child(engine, children[0])
        runs = [await found(engine, id) for id in children]

        await asyncio.gather(
            *(end(engine, run) for run in runs[::2]),
            *(other.control.cancel_run(cancelling(parent.id)) for parent, _ in families),
            *(end(engine, run) for run in reversed(runs[1::2])),
            return_exceptions=True,
        )

        assert await statuses(engine, *(parent.id for parent, _ in families)) == [RunStatus.CANCELLED] * 4
        for id in children:
            entries = await path(engine, id)
            assert [cause for _, _, cause in entries[:2]] == ["start", "claim"]
            assert entries[2:] in ([("running", "completed", "finish")], [("running", "cancelled", "cancel")])

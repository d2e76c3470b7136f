"""Does a worker reach only the children of the run that it holds, whatever ids it names?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.conftest import HASH, ByHand
from tests.programs import nothing
from windlass.errors import NotFound, WrongState
from windlass.model.commands import (
    BeginStep,
    CancelRun,
    ClaimedRun,
    LookAtClaims,
    OpenWait,
    RetryRun,
    SendEvent,
    StartChild,
    StartRun,
    Suspended,
    WaitStep,
)
from windlass.model.run import RunId, RunStatus
from windlass.model.step import StepKind
from windlass.store.base import Tx
from windlass.testing.harness import Harness

SECRET = b'"the combination of the safe"'
NOBODY = RunId("run_" + "0" * 26)


class Mail(ByHand):
    """A worker that holds a run of its own, beside runs that are none of its business."""

    mine: ClaimedRun

    def __init__(self, harness: Harness) -> None:
        super().__init__(harness)
        self.other = ByHand(harness, "B")

    async def start(self, queue: str) -> RunId:
        handle = await self.harness.start(self.harness.app._registry.find_workflow("order").function, queue=queue)
        return RunId(handle.id)

    async def begin(self) -> None:
        await self.start("mail")
        self.mine = await self.claim_one(queues=("mail",))

    async def vault(self, *, is_over: bool = True) -> RunId:
        """A run of another queue, which another worker has in its hands."""
        run_id = await self.start("vault")
        run = await self.other.claim_one(queues=("vault",))
        if is_over:
            await self.work.finish_run(replace(self.finish(run), output=SECRET))
        return run_id

    async def child(self) -> RunId:
        """A child of its own that has ended."""
        starting = self.wait(StepKind.START, key="letter", child=self.brings())
        answer = await self.suspend(starting, order=1)
        run_id = RunId(answer.settled[0].awaits or "")
        run = await self.claim_one(queues=("letters",))
        assert run.run_id == run_id
        await self.work.finish_run(replace(self.finish(run), output=b'"sent"'))
        return run_id

    def brings(self) -> StartChild:
        command = StartRun(
            namespace="default", name="order", version="", queue="letters", priority=0, input=b"[]", input_hash=HASH
        )
        return StartChild(command=command)

    def wait(self, kind: StepKind, awaits: str | None = None, *, key: str = "wait", **fields: Any) -> WaitStep:
        held = {"namespace": "default", "run_id": self.mine.run_id, "token": self.mine.token}
        return WaitStep(**held, key=key, kind=kind, input_hash=HASH, awaits=awaits, **fields)

    async def suspend(self, *waits: WaitStep, order: int = 2, **fields: Any) -> Suspended:
        opened = tuple(OpenWait(key=wait.key, order=order + place) for place, wait in enumerate(waits))
        return await self.work.suspend_run(self.suspension(self.mine, **({"waits": waits, "open": opened} | fields)))


Way = Callable[[Mail, RunId], Awaitable[Any]]


async def waits(mail: Mail, id: RunId) -> None:
    await mail.suspend(mail.wait(StepKind.CHILD, id))


async def parks_without_a_look(mail: Mail, id: RunId) -> None:
    await mail.suspend(mail.wait(StepKind.CHILD, id), open=(), park=True)


async def maps(mail: Mail, id: RunId) -> None:
    own = mail.wait(StepKind.CHILD, key="map", child=mail.brings())
    await mail.suspend(own, mail.wait(StepKind.CHILD, id, key="map#2"), together=True, park=True)


async def says_that_it_started_it(mail: Mail, id: RunId) -> None:
    await mail.suspend(mail.wait(StepKind.START, id))


async def sends(mail: Mail, id: RunId) -> None:
    event = SendEvent(namespace="default", run_id=id, event="open", id="1", payload=b"1", payload_hash=HASH)
    await mail.work.send_to_child(mail.claim_of(mail.mine), event)


async def cancels(mail: Mail, id: RunId) -> None:
    command = CancelRun(namespace="default", run_id=id, by=mail.mine.run_id)
    await mail.work.cancel_child(mail.claim_of(mail.mine), command)


WAYS: list[Way] = [waits, parks_without_a_look, maps, says_that_it_started_it, sends, cancels]


@pytest.fixture
async def mail(idle_harness: Harness) -> Mail:
    idle_harness.app.workflow(name="order")(nothing)
    mail = Mail(idle_harness)
    await mail.begin()
    return mail


@pytest.mark.spec("invariants:I-58")
@pytest.mark.parametrize("way", WAYS)
async def test_a_run_that_is_no_child_is_refused_as_one_that_does_not_exist(mail: Mail, way: Way) -> None:
    runs, told = mail.harness.opened.runs, set[str]()
    others = {"over": await mail.vault(), "running": await mail.vault(is_over=False), "nobody": NOBODY}
    before = {name: await runs.get_run("default", id) for name, id in others.items() if id != NOBODY}

    for id in others.values():
        with pytest.raises(NotFound) as refused:
            await way(mail, id)
        told.add(str(refused.value).replace(id, "RUN"))

    assert len(told) == 1
    assert "only runs that it has started itself" in told.pop()
    assert {name: await runs.get_run("default", id) for name, id in others.items() if id != NOBODY} == before
    assert await runs.list_steps("default", mail.mine.run_id) == ()
    assert (await mail.work.look_at_claims(looking(mail)))[0].is_lost is False


async def test_a_wait_that_was_recorded_as_something_else_tells_nothing_of_another_run(mail: Mail) -> None:
    """A body that is said to be a child, and then an event of the name of a run: as worker never does it."""
    told = []

    for order, id in enumerate([await mail.vault(), NOBODY]):
        held = {"namespace": "default", "run_id": mail.mine.run_id, "token": mail.mine.token}
        body = BeginStep(**held, key=id, kind=StepKind.CHILD, attempt=1, failures=0, input_hash=HASH)
        await mail.work.begin_step(body)
        await mail.suspend(mail.wait(StepKind.EVENT, id, key=id), open=())
        (state,) = await mail.work.look_at_claims(looking(mail))
        (settled,) = (await mail.suspend(open=(OpenWait(key=id, order=order),))).settled
        assert settled.failure is not None
        told.append((state.has_news, settled.output, settled.failure.message.replace(id, "RUN")))

    assert told == [(False, None, "Run RUN is not there any more.")] * 2


@pytest.mark.spec("invariants:I-57")
async def test_a_child_that_is_over_is_waited_for_by_its_id_also_by_a_retry_and_asked_again(mail: Mail) -> None:
    child = await mail.child()
    asked = mail.wait(StepKind.CHILD, child, key="letter/result")

    answers = [await mail.suspend(asked), await mail.suspend(asked, is_again=True)]

    assert [answer.settled[0].output for answer in answers] == [b'"sent"', b'"sent"']
    for _ in range(2):  # a retry, and a retry of that
        await mail.work.finish_run(mail.finish(mail.mine, RunStatus.FAILED))
        await mail.harness.opened.control.retry_run(RetryRun(namespace="default", run_id=mail.mine.run_id))
        mail.mine = await mail.claim_one(queues=("mail",))
        answer = await mail.suspend(mail.wait(StepKind.CHILD, child, key="once more"), order=9)
        assert answer.settled[0].output == b'"sent"'
        with pytest.raises(WrongState, match="is completed"):
            await sends(mail, child)


async def test_a_wait_for_a_child_that_was_removed_is_over_and_says_so(mail: Mail) -> None:
    child = await mail.child()

    async def remove(tx: Tx) -> None:
        await tx.prune.remove(await tx.prune.lock_ended("default", ids=[child]))

    await mail.harness.opened.engine.parts.store.run_tx("remove", remove)

    (settled,) = (await mail.suspend(mail.wait(StepKind.CHILD, child, key="letter/result"), park=True)).settled

    assert settled.failure is not None
    assert settled.failure.message == f"Run {child} is not there any more."


def looking(mail: Mail) -> LookAtClaims:
    return LookAtClaims(namespace="default", claims=((mail.mine.run_id, mail.mine.token),))

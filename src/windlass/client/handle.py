"""A run, held from outside: wait for its result, ask where it stands, let it go on."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from windlass.api.service import Control, Graphs, Runs
from windlass.client.inside import refuse_inside_a_workflow
from windlass.codec import Codec
from windlass.define.event import Event
from windlass.define.registry import Registry
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import NotAllowed, NotFound, ReplayMismatch, ResultTimeout, RunCancelled, RunFailed, WrongState
from windlass.model.commands import CancelRun, Decide, Outcome, PauseRun, ResumeRun, RetryRun, SendEvent
from windlass.model.duration import to_duration
from windlass.model.explanation import UNSERVED, Explanation, Situation
from windlass.model.failure import Failure
from windlass.model.message import Decision
from windlass.model.run import RunId, RunStatus
from windlass.model.signal import TriggerKind
from windlass.model.time import SECOND, Duration
from windlass.rules.limits import check_key, check_note, check_person, check_step_reference
from windlass.runtime import Clock

R = TypeVar("R")
T = TypeVar("T")

WARN_AFTER = Duration(3 * SECOND)  # a run nobody serves is said so this long into result()

log = logging.getLogger("windlass.client")


class Door(Struct, frozen=True, kw_only=True):
    """What a handle needs to ask: the way to the runs, and how to read what comes back."""

    runs: Callable[[], Awaitable[Runs]]  # opens on first use
    namespace: str
    codec: Codec
    registry: Registry
    clock: Clock
    control: Callable[[], Awaitable[Control]]
    to_change: Callable[[], Awaitable[object]]  # awaited before anything else by what changes something
    new_id: Callable[[], str]  # for events that are sent without one
    worker_command: Callable[[str], str]  # workflow name → "windlass worker shop:app"
    graphs: Callable[[], Awaitable[Graphs]] | None = None  # for those who look into them


class HeldRun:
    """A run that is held, by code that awaits or by code that blocks: what `app.when` can watch, and send to."""

    async def _watched(self) -> tuple[TriggerKind, RunId]:
        """As what it is watched, and its id. Raises NotFound if there is no such run."""
        raise NotImplementedError


class Handle(HeldRun, Generic[R]):
    """A run that was started, by anyone: `await handle.result()` has the workflow's return type.

    Example: `print(await app.handle(order, key="order-7").result(timeout="1m"))`
    """

    def __init__(
        self,
        door: Door,
        *,
        run_id: RunId | None = None,
        key: str | None = None,
        definition: WorkflowDefinition | None = None,
        is_known: bool = False,
    ) -> None:
        self._door, self._run_id, self._key, self._definition = door, run_id, key, definition
        self._is_known = is_known  # the run was seen to exist

    @property
    def id(self) -> str:
        """The run's id. Raises NotAllowed while a handle made from a key has not been awaited."""
        if self._run_id is None:
            raise NotAllowed(f"The run of key {self._key!r} is not looked up yet: await handle.status() first.")
        return self._run_id

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind}({self._run_id!r})" if self._run_id is not None else f"{kind}(key={self._key!r})"

    async def result(self, timeout: str | int | float | timedelta | None = None) -> R:  # noqa: ASYNC109
        """Wait for the run to end and answer with what it returned.

        Raises RunFailed if it failed, RunCancelled if it was cancelled, ReplayMismatch if it is paused because the code
        changed under it, WrongState if a person has paused it, ResultTimeout if `timeout` passed first (it goes on).
        """
        left = None if timeout is None else to_duration(timeout, what="timeout")
        runs, run_id = await self._reach("result")
        look_in: Duration | None = WARN_AFTER
        while True:  # also because a remote door may answer earlier than asked
            wait_for = min((span for span in (left, look_in) if span is not None), default=None)
            outcome = await runs.wait_for_result(self._door.namespace, run_id, wait_for)
            left = None if left is None or wait_for is None else Duration(left - wait_for)
            if _is_settled(outcome.status) or left == 0:
                return self._read(run_id, outcome)
            look_in = None if look_in is None else await self._warn_if_unserved(runs, run_id)

    async def status(self) -> RunStatus:
        """Where the run stands now: a text such as "running" or "completed"."""
        runs, run_id = await self._reach("status")
        return (await runs.get_run(self._door.namespace, run_id)).run.status

    async def explain(self) -> str:
        """Why the run is not running, or who executes it, in one paragraph; the same that `windlass explain` says.

        For people. What it waits for, since when, who holds it, and what it would take.
        """
        runs, run_id = await self._reach("explain")
        return str(await runs.explain_run(self._door.namespace, run_id))

    async def send(self, event: Event[T] | str, payload: T, /, *, id: str | None = None) -> bool:
        """Send an event to the run: kept until it is received, once. False: this `id` was sent before.

        Raises NotFound if this app does not declare the event, InvalidInput if the payload is not of its type,
        WrongState if the run is over.
        """
        _, run_id = await self._reach("send", changes=True)
        declared = self._door.registry.find_event(event, verb="send")
        what = f"Event {declared.name!r}"
        self._door.codec.check_arguments((payload,), (declared.type,), ("payload",), what=what)
        stored, hashed = self._door.codec.encode_hashed(payload)
        control = await self._door.control()
        sent = await control.send_event(
            SendEvent(
                namespace=self._door.namespace,
                run_id=run_id,
                event=declared.name,
                id=self._door.new_id() if id is None else check_key(id, what="id"),
                payload=stored,
                payload_hash=hashed,
            )
        )
        return not sent.is_repeat

    async def approve(self, *, by: str | None = None, note: str | None = None, step: str | None = None) -> Decision:
        """Say yes to what the run waits for; `step` names the approval where there are several."""
        return await self._decide("approve", by, note, step)

    async def reject(self, *, by: str | None = None, note: str | None = None, step: str | None = None) -> Decision:
        """Say no to what the run waits for. Raises WrongState if it waits for no approval."""
        return await self._decide("reject", by, note, step)

    async def cancel(self, *, by: str | None = None, note: str | None = None) -> bool:
        """End the run, and the children that follow it. False: it was over before, and stays as it is.

        A body that is at work may still end, but its result is refused.
        """
        _, run_id = await self._reach("cancel", changes=True)
        control = await self._door.control()
        by, note = check_person(by), check_note(note)
        return (await control.cancel_run(CancelRun(**self._about(run_id), by=by, note=note))).is_done

    async def retry(self, *, from_step: str | None = None, by: str | None = None) -> Handle[R]:
        """Try a run that failed or was cancelled again, as a new run that keeps its completed steps.

        With `from_step` that step and all after it are done again. A second retry answers with the first.
        """
        _, run_id = await self._reach("retry", changes=True)
        control = await self._door.control()
        if from_step is not None:
            check_step_reference(from_step)
        command = RetryRun(**self._about(run_id), from_step=from_step, by=check_person(by))
        started = await control.retry_run(command)
        return Handle(self._door, run_id=started.run_id, definition=self._definition, is_known=True)

    async def pause(self, *, by: str | None = None, note: str | None = None) -> None:
        """Hold the run until `resume()`. What is at work ends first."""
        _, run_id = await self._reach("pause", changes=True)
        control = await self._door.control()
        await control.pause_run(PauseRun(**self._about(run_id), by=check_person(by), note=check_note(note)))

    async def resume(self, *, by: str | None = None) -> None:
        """Let a paused run go on. Raises WrongState if it is not paused."""
        _, run_id = await self._reach("resume", changes=True)
        control = await self._door.control()
        await control.resume_run(ResumeRun(**self._about(run_id), by=check_person(by)))

    async def _watched(self) -> tuple[TriggerKind, RunId]:
        _, run_id = await self._reach("when", changes=True)
        return TriggerKind.RUN, run_id

    async def _decide(self, name: str, by: str | None, note: str | None, step: str | None) -> Decision:
        _, run_id = await self._reach(name, changes=True)
        control = await self._door.control()
        if step is not None:
            check_step_reference(step)
        by, note = check_person(by), check_note(note)
        about = self._about(run_id)
        return await control.decide(Decide(**about, is_approved=name == "approve", by=by, note=note, step=step))

    def _about(self, run_id: RunId) -> dict[str, Any]:
        return {"namespace": self._door.namespace, "run_id": run_id}

    async def _reach(self, name: str, *, changes: bool = False) -> tuple[Runs, RunId]:
        """Open the door and make sure the run exists: waiting for one that does not would never end."""
        refuse_inside_a_workflow(name, verb=f"handle.{name}()")
        if changes:
            await self._door.to_change()
        runs = await self._door.runs()
        if self._run_id is not None and self._is_known:
            return runs, self._run_id
        if self._run_id is None:
            run = (await runs.find_run(self._door.namespace, self._key or "")).run
            if self._definition is not None and run.name != self._definition.name:
                raise NotFound(f"Run of workflow {self._definition.name!r} with key", self._key or "")
        else:
            run = (await runs.get_run(self._door.namespace, self._run_id)).run
            if self._definition is not None and run.name != self._definition.name:
                raise NotFound(f"Run of workflow {self._definition.name!r} with id", self._run_id)
            self._definition = self._door.registry.workflow_or_none(run.name, run.version)
        self._run_id, self._is_known = run.id, True
        return runs, run.id

    def _read(self, run_id: RunId, outcome: Outcome) -> R:
        if not _is_settled(outcome.status):
            raise ResultTimeout(run_id, outcome.status)
        failure = outcome.failure
        if outcome.status is RunStatus.COMPLETED:
            expected = Any if self._definition is None else self._definition.return_type
            value: Any = self._door.codec.decode(outcome.output, expected) if outcome.output else None  # of a graph
            return cast("R", value)
        if outcome.status is RunStatus.FAILED and failure is not None:
            raise self._failed(run_id, failure)
        if outcome.status is RunStatus.CANCELLED:
            raise RunCancelled(run_id)
        if failure is not None and failure.type.rpartition(".")[2] == ReplayMismatch.__name__:
            raise ReplayMismatch(failure.message, step=failure.step)
        hint = f"Let it go on: windlass resume {run_id}" if outcome.status is RunStatus.PAUSED else ""
        raise WrongState("Run", run_id, outcome.status, wanted=RunStatus.COMPLETED, hint=hint)

    def _failed(self, run_id: RunId, failure: Failure) -> RunFailed:
        name = "" if self._definition is None else f" ({self._definition.name!r})"
        return RunFailed(
            failure.type,
            failure.message,
            data=None if failure.data is None else self._door.codec.decode(failure.data),
            traceback=failure.traceback,
            kind=failure.kind,
            reason=failure.reason,
            subject=f"Run {run_id}{name}",
        )

    async def _warn_if_unserved(self, runs: Runs, run_id: RunId) -> Duration | None:
        """Answers with when to look again, if that makes sense."""
        self._warned(await runs.explain_run(self._door.namespace, run_id))
        return None

    def _warned(self, found: Explanation) -> bool:
        """Say it if nobody serves what this is about."""
        if found.status is not RunStatus.PENDING or found.code not in UNSERVED:
            return False
        if found.code is not Situation.NO_WORKER:  # there are some, where this run does not look for them
            log.warning("%s", found)
            return True
        log.warning(
            'Run %s (%r) is pending and no live worker runs %r. Start one: %s, or "async with app.worker():".',
            found.run_id,
            found.name,
            found.name,
            self._door.worker_command(found.name),
        )
        return True


def _is_settled(status: RunStatus) -> bool:
    return status.is_terminal or status is RunStatus.PAUSED

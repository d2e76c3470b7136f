"""How a run of the reference waits: for a time, for something sent to it, for a person, for another run.

A wait is a step that stands open. It is decided when the code stands at it and asks; until then what has come is kept.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import msgspec

from tests.model.rows import Blame, Message, Run, Settled, Step, Suspended, Verdict
from tests.model.state import ANYTHING, TERMINAL, WAITS, StepName, due
from tests.model.turns import Turns
from windlass.model.commands import BeginStep, CompleteStep, FailStep, Suspend, WaitStep
from windlass.model.duration import from_instant
from windlass.model.failure import Failure
from windlass.model.message import Decision
from windlass.model.time import Instant

RETRIED = ("transient", "timeout")


class Waits(Turns):
    def suspend_run(self, command: Suspend) -> Suspended:
        run = self.held(command)
        failed = [self._failed(item) for item in command.failures]
        fresh = iter(list(self.fresh_ids))
        asked = [*failed, *(self._waiting(run, item, next(fresh) if item.child else "") for item in command.waits)]
        places = [(step.run_id, step.key, step.attempt) for step in asked]
        for place, step in zip(places, asked, strict=True):
            known = self.steps.get(place)
            if known is None or known.status in ("running", "waiting"):
                self.write(place, step)
        # What failed for good is heard of first: the code may then wait for something else.
        is_final = any(step.due_at is None for step in failed)
        orders = {} if is_final else {item.key: item.order for item in command.open}
        self._drop(run, command, asked=orders.keys())
        settled = self._settle(run, orders)
        open_still = self.open_waits(run)
        # A failure for good is an answer the code waits for, as is a wait that is over: the run is not given back.
        if command.park and not settled and not is_final:
            self._park(run, open_still, command)
            return Suspended(is_parked=True, verdicts=())
        # As recorded where that still waits: asked again, it says what is left of the first delay.
        recorded = {(step.run_id, step.key, step.attempt): step for step in open_still}
        over = {item.key for item in settled}  # which is where the answer says so
        verdicts = tuple(
            Verdict(ANYTHING if step.key in over else self.left(recorded.get(place, step).due_at), self.now)
            for place, step in zip(places, asked, strict=True)
        )
        return Suspended(is_parked=False, verdicts=verdicts, settled=tuple(settled))

    def _drop(self, run: Run, command: Suspend, *, asked: Collection[str]) -> None:
        """Given up with every try that was to come. What the code stands at is not given up, whatever it was before."""
        for step in self.steps.values():
            if step.run_id == run.id and (
                step.status == "waiting" or (step.status == "failed" and step.due_at is not None)
            ):
                step.is_dropped = step.key in command.dropped or (step.is_dropped and step.key not in asked)

    def _park(self, run: Run, waits: list[Step], command: Suspend) -> None:
        if run.is_held:
            self.pause(run, cause="pause")
            return
        timed = sorted((step for step in waits if step.due_at is not None), key=due)
        first = next((step for step in waits if step.kind in WAITS), timed[0] if timed else None)
        self.until_next_wait(run, waits, cause="release" if first is None else first.kind)
        children = sum(step.kind == "child" for step in waits)
        run.unmet = children if command.together else 0

    # Whether a wait is over

    def _settle(self, run: Run, orders: dict[str, int]) -> list[Settled]:
        """Those of the waits asked about that are over by now; and only those that were before, if there are any."""
        known = {step.key: step for step in self.latest(run.id)}
        if any(key in known and known[key].order is not None for key in orders):
            return self._over(run, orders)
        waits = {step.key: step for step in self.open_waits(run) if step.status == "waiting" and step.kind in WAITS}
        asked = [waits[key] for key in sorted(orders, key=lambda key: orders[key]) if key in waits]
        promised = self._promised(run, asked)
        for step in asked:
            if step.key not in promised:
                self._decide(run, step, orders[step.key], self._result(run, step))
        # Of events only one is handed over, and only if the code hears of nothing before it: what it hears may make it
        # give up the branch that waits for the next.
        for key in [*promised][:1]:
            if any(step.order is not None and step.order < orders[key] for step in asked):
                break
            promised[key].taken_by = key
            self._decide(run, waits[key], orders[key], promised[key].payload)
        return self._over(run, orders)

    def _over(self, run: Run, orders: dict[str, int]) -> list[Settled]:
        known = {step.key: step for step in self.latest(run.id)}
        over = [known[key] for key in sorted(orders) if key in known and known[key].order is not None]
        return [
            Settled(step.key, step.order or 0, step.awaits, step.output, step.failure, step.finished_at or 0)
            for step in over
        ]

    def _promised(self, run: Run, asked: list[Step]) -> dict[str, Message]:
        """Who asked first gets what came first, by the keys of the steps in the order in which they ask."""
        unread = [item for item in self.inbox.get(run.id, []) if item.kind == "event" and item.taken_by is None]
        found = {}
        for step in asked:
            message = next((item for item in unread if step.kind == "event" and item.name == step.awaits), None)
            if message is not None:
                unread.remove(message)
                found[step.key] = message
        return found

    def _decide(self, run: Run, step: Step, order: int, result: bytes | Failure | Blame | None) -> None:
        """What is here wins over a deadline that has passed."""
        if result is None and step.due_at is not None and step.due_at <= self.now:
            result = self._too_late(step)
        if result is None:
            return
        step.order, step.token, step.finished_at = order, run.token, self.now
        if isinstance(result, bytes):
            step.status, step.output = "completed", result
        else:
            step.status, step.failure, step.failures, step.due_at = "failed", result, step.failures + 1, None

    def _result(self, run: Run, step: Step) -> bytes | Failure | Blame | None:
        if step.kind == "approval":
            message = self.unread(run, step)
            if message is not None:
                message.taken_by = step.key
            return None if message is None else message.payload
        return None if step.kind == "event" else self._of_run(step)

    def _of_run(self, step: Step) -> bytes | Failure | Blame | None:
        assert step.awaits is not None
        if step.kind == "start":
            return msgspec.json.encode(step.awaits)
        child, payload = self.runs[step.awaits], self.payloads[step.awaits]
        if child.status == "completed":
            return payload.output
        if child.status == "failed" and isinstance(payload.failure, Failure):
            return msgspec.structs.replace(payload.failure, is_final=True, step=step.key)
        if child.status == "failed" and payload.failure is not None:
            return replace(payload.failure, is_final=True, step=step.key)
        return Blame("internal", "RunCancelled", step.key, is_final=True) if child.status in TERMINAL else None

    def _too_late(self, step: Step) -> bytes | Blame:
        if step.kind == "approval":
            return msgspec.json.encode(Decision(outcome="expired", at=from_instant(Instant(due(step)))))
        return Blame("timeout", "WaitTimeout", step.key, is_final=True)

    def unread(self, run: Run, step: Step) -> Message | None:
        """The oldest message that this wait is for and that nobody has received."""
        name = step.awaits if step.kind == "event" else step.key
        for message in self.inbox.get(run.id, []):
            if (message.kind, message.name, message.taken_by) == (step.kind, name, None):
                return message
        return None

    def is_anything_here(self, run: Run) -> bool:
        for step in self.open_waits(run):
            if step.kind in ("event", "approval") and self.unread(run, step) is not None:
                return True
            if step.kind == "child" and step.awaits and self.runs[step.awaits].status in TERMINAL:
                return True
        return False

    # Who is woken

    def wake(self, run: Run, /, *, cause: str, **deed: str | None) -> None:
        self.unclaim(run, "pending", self.now, cause=cause, **deed)

    def tell_parent(self, run: Run) -> None:
        """A run is over: whoever waits for it goes on, or counts it if it waits for several together."""
        parent = self.runs.get(run.parent or "")
        if parent is None or parent.status != "waiting":
            return
        if not any(step.kind == "child" and step.awaits == run.id for step in self.open_waits(parent)):
            return
        if parent.unmet > 1 and run.status == "completed":
            parent.unmet -= 1
        else:
            self.wake(parent, cause="child")

    # Steps as they are written

    def _failed(self, command: FailStep) -> Step:
        failures = command.failures + 1
        delay = self._delay(command, failures)
        return self.new_step(
            command,
            status="failed",
            failures=failures,
            order=command.order if delay is None else None,
            failure=command.failure,
            due_at=None if delay is None else self.now + delay,
            started_at=self.now - command.ran_for,
            finished_at=self.now,
        )

    def _delay(self, command: FailStep, failures: int) -> int | None:
        """Doubled with every failure, capped, then up to a tenth more; None if this one was the last."""
        failure, retry = command.failure, command.retry
        if failure.is_final or failure.kind not in RETRIED or failures >= retry.max_attempts:
            return None
        if failure.retry_after is not None:
            return failure.retry_after
        delay = retry.initial_for
        for _ in range(failures - 1):
            delay = type(delay)(min(int(delay * retry.factor), retry.max_for))
        delay = min(delay, retry.max_for)
        return delay + int(delay * self.jitter) // 10

    def _waiting(self, run: Run, command: WaitStep, fresh_id: str) -> Step:
        due_at: int | None = command.due_at
        if due_at is None and (command.due_for is not None or command.kind not in WAITS):
            due_at = self.now + (command.due_for or 0)
        return Step(
            run_id=command.run_id,
            key=command.key,
            attempt=1,
            kind=command.kind,
            status="waiting",
            token=command.token,
            failures=0,
            input_hash=command.input_hash,
            started_at=self.now,
            due_at=due_at,
            awaits=command.awaits if command.child is None else self._child(run, command, fresh_id),
            detail=command.detail,
        )

    def _child(self, run: Run, command: WaitStep, fresh_id: str) -> str:
        """Created once for each step of its parent."""
        assert command.child is not None
        for known in self.runs.values():
            if (known.parent, known.parent_step) == (run.id, command.key):
                return known.id
        self.create(fresh_id, command.child.command, parent=run.id, parent_step=command.key)
        if command.child.follows_parent:
            self.followers.add(fresh_id)
        return fresh_id

    def new_step(self, command: BeginStep | CompleteStep | FailStep, **fields: object) -> Step:
        values: dict[str, object] = {
            "run_id": command.run_id,
            "key": command.key,
            "attempt": command.attempt,
            "kind": command.kind,
            "token": command.token,
            "failures": command.failures,
            "input_hash": command.input_hash,
        }
        return Step(**(values | fields))  # type: ignore[arg-type]

    def write(self, place: StepName, step: Step) -> None:
        """Over a start or a wait that is known: a wait keeps the due time it had, and when it began."""
        known = self.steps.get(place)
        if known is not None:
            if known.status == "waiting":
                step.started_at = known.started_at
            if step.status in ("waiting", "completed") and known.due_at is not None:
                step.due_at = known.due_at
            step.kind, step.detail = known.kind, known.detail
            step.is_dropped = known.is_dropped and step.status == "completed"  # a result says nothing about that
            step.awaits = step.awaits if known.awaits is None else known.awaits
        self.steps[place] = step

"""What the engine should do, said a second time: dictionaries, no SQL, no transaction, no lock.

It has the methods of the doors (`api/service.py`), under the same names and with the same commands, and imports neither
rules nor engine: it is an independent statement. Time stands still within a call; the test sets `now` between calls.

    answer          a value, or Refused with the code of the error
    state           rows as they must stand in the database; each field that is named here is compared
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

from tests.model.rows import (
    Blame,
    Claimed,
    Entry,
    Key,
    Outcome,
    Payload,
    Probed,
    Recorded,
    Run,
    RunRow,
    Started,
    Step,
    Suspended,
    Verdict,
    View,
    Worker,
)
from windlass.model.commands import (
    BeginStep,
    Claim,
    ClaimRuns,
    CompleteStep,
    FailStep,
    FinishRun,
    Heartbeat,
    HoldRun,
    ProbeWorkers,
    RegisterWorker,
    StartRun,
    Suspend,
    WaitStep,
)
from windlass.model.page import ListRuns

TERMINAL = ("completed", "failed")
ACCEPTED = object()  # an answer of which only this is said
RETRIED = ("transient", "timeout")


class Refused(Exception):
    """An error of the door, by its code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


StepName = tuple[str, str, int]  # run, key, attempt


@dataclass
class Reference:
    """The store and the engine in one: what is written is written, what is answered is answered."""

    max_recoveries: int
    keys_expire_for: int
    now: int = 0
    fresh_id: str = ""  # of the run that the next start creates; how ids are made is not our business
    jitter: float = 0.0
    runs: dict[str, Run] = field(default_factory=dict)
    payloads: dict[str, Payload] = field(default_factory=dict)
    steps: dict[StepName, Step] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)
    log: dict[str, list[Entry]] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)  # workers whose lock the living process holds
    hashes: dict[str, bytes] = field(default_factory=dict)  # of the results of runs that are over

    def rows(self, table: str) -> dict[Any, Any]:
        if table == "runs":
            return {id: RunRow(run, self.hashes.get(id)) for id, run in self.runs.items()}
        found: dict[Any, Any] = getattr(self, table)
        return found

    def do(self, name: str, *arguments: Any) -> Any:
        """Any method by its name, as the subjects are asked."""
        method: Callable[..., Any] = getattr(self, name)
        return method(*arguments)

    # For those who ask

    def start_run(self, command: StartRun) -> Started:
        owner = self.keys.get(command.key or "")
        if command.key is not None and owner is not None and owner.expires_at > self.now:
            owned = (owner.name, owner.version, owner.input_hash)
            if owned != (command.name, command.version, command.input_hash):
                raise Refused("already_exists")
            return Started(owner.run_id, is_repeat=True)
        id = self.fresh_id
        assert id not in self.runs, "An id was made twice."
        if command.key is not None:
            self.keys[command.key] = Key(
                key=command.key,
                name=command.name,
                version=command.version,
                input_hash=command.input_hash,
                run_id=id,
                created_at=self.now,
                expires_at=self.now + self.keys_expire_for,
            )
        self.runs[id] = Run(
            id=id,
            name=command.name,
            version=command.version,
            queue=command.queue,
            priority=command.priority,
            status="",
            available_at=command.at if command.at is not None else self.now + (command.delay_for or 0),
            created_at=self.now,
        )
        self.payloads[id] = Payload(run_id=id, start_key=command.key, input=command.input)
        self._move(self.runs[id], "pending", cause="start", was=None)
        return Started(id, is_repeat=False)

    def get_run(self, namespace: str, run_id: str) -> View:
        if run_id not in self.runs:
            raise Refused("not_found")
        payload = self.payloads[run_id]
        return View(replace(self.runs[run_id]), payload.start_key, payload.input, payload.output, payload.failure)

    def find_run(self, namespace: str, key: str) -> View:
        if key not in self.keys:
            raise Refused("not_found")
        return self.get_run(namespace, self.keys[key].run_id)

    def wait_for_result(self, namespace: str, run_id: str, wait_for: int) -> Outcome:
        view = self.get_run(namespace, run_id)
        return Outcome(view.run.status, view.output, view.failure)

    def walk_runs(self, query: ListRuns) -> list[list[str]]:
        """Every page of a list, newest first, as ids. A page that is full is followed by another."""
        wanted = {"status": query.status, "name": query.name, "queue": query.queue}
        found = [
            run.id
            for run in sorted(self.runs.values(), key=lambda run: run.id, reverse=True)
            if all(value is None or getattr(run, field) == value for field, value in wanted.items())
        ]
        return [found[start : start + query.limit] for start in range(0, len(found), query.limit)] or [[]]

    def list_steps(self, namespace: str, run_id: str) -> tuple[Step, ...]:
        steps = [step for step in self.steps.values() if step.run_id == run_id]
        return tuple(sorted(steps, key=lambda step: (step.started_at, step.order or 0, step.key, step.attempt)))

    def read_log(self, namespace: str, run_id: str) -> tuple[Entry, ...]:
        return tuple(self.log.get(run_id, []))

    def resume_run(self, namespace: str, run_id: str) -> View:
        run = self.runs.get(run_id)
        if run is None:
            raise Refused("not_found")
        if run.status != "paused":
            raise Refused("wrong_state")
        self.payloads[run.id].failure = None
        self._until_next_wait(run, self._open_waits(run), cause="resume")
        return self.get_run(namespace, run_id)

    def list_workers(self, namespace: str) -> tuple[Worker, ...]:
        living = [worker for worker in self.workers.values() if worker.stopped_at is None]
        return tuple(sorted(living, key=lambda worker: (-worker.seen_at, worker.id)))

    # For those who execute

    def register_worker(self, command: RegisterWorker) -> object:
        self.workers[command.id] = Worker(
            id=command.id,
            host=command.host,
            pid=command.pid,
            served=command.served,
            slots=command.slots,
            started_at=self.now,
            seen_at=self.now,
        )
        self.locked.add(command.id)
        return ACCEPTED

    def heartbeat(self, command: Heartbeat) -> None:
        worker = self.workers.get(command.id)
        if worker is None or worker.stopped_at is not None:
            raise Refused("not_found")
        worker.seen_at = self.now
        worker.active, worker.completed, worker.failed = command.active, command.completed, command.failed

    def deregister_worker(self, namespace: str, id: str) -> None:
        worker = self.workers.get(id)
        if worker is not None and worker.stopped_at is None:
            self._stop(worker)
            for run in self.runs.values():
                if run.worker == id:  # what it could not give back before
                    self._give_back(run, "pending", self.now, cause="release")
        self.locked.discard(id)

    def probe_workers(self, command: ProbeWorkers) -> Probed:
        """Who has not stopped, and whose lock nobody holds, is dead: what it held goes back. Whoever asks lives."""
        self.locked.add(command.worker)
        there = sorted((item for item in self.workers.values() if item.stopped_at is None), key=_seen)
        dead = []
        for worker in there:
            held = sorted((run for run in self.runs.values() if run.worker == worker.id), key=lambda run: run.id)
            would_matter = bool(held) and bool(set(worker.served) & set(command.served))
            if worker.id == command.worker or worker.id in self.locked or not (command.everyone or would_matter):
                continue
            self._stop(worker)
            for run in held:
                deaths = run.recoveries + 1
                pause = 0 if deaths == 1 else min(1_000_000 * 2 ** (deaths - 2), 60_000_000)
                spread = 0.5 + crc32(f"{run.id} {deaths - 1}".encode()) / 2**32
                self._give_back(run, "pending", self.now + int(pause * spread), cause="death")
                run.recoveries = deaths  # nobody gave it back
            dead.append(worker.id)
        return Probed(is_registered=any(item.id == command.worker for item in there), dead=tuple(dead))

    def die(self) -> None:
        """The process ends, and with it its locks."""
        self.locked.clear()

    def _stop(self, worker: Worker) -> None:
        worker.stopped_at = worker.seen_at = self.now
        worker.active = 0

    def claim_runs(self, command: ClaimRuns) -> list[Claimed]:
        """Due runs of the lanes served: the most urgent first, then the longest due, then by id."""
        lanes = {(served.queue, served.name, served.version) for served in command.served}
        due = [
            (-run.priority, run.available_at, run.id)
            for run in self.runs.values()
            if (run.queue, run.name, run.version) in lanes
            and run.available_at is not None
            and run.available_at <= self.now
        ]
        taken = [self._claim(self.runs[id], command) for *_, id in sorted(due)[: command.limit]]
        return [claimed for claimed in taken if claimed is not None]

    def begin_step(self, command: BeginStep) -> int:
        self._held(command)
        place = (command.run_id, command.key, command.attempt)
        known = self.steps.get(place)
        if known is None:
            self.steps[place] = self._new_step(command, status="running", started_at=self.now)
        elif known.status == "running":
            known.token = command.token
        return self.now

    def complete_step(self, command: CompleteStep) -> int:
        """A result, for ever. The same result under the same token is a repeat, also when the claim is gone."""
        place = (command.run_id, command.key, command.attempt)
        known = self.steps.get(place)
        if known is not None and known.status == "completed":
            if (known.token, known.output) == (command.token, command.output):
                assert known.finished_at is not None
                return known.finished_at
            raise Refused("claim_lost")
        run = self._held(command)
        if known is not None and known.status == "failed":
            raise Refused("claim_lost")
        result = self._new_step(
            command,
            status="completed",
            order=command.order,
            output=command.output,
            started_at=self.now - command.ran_for,
            finished_at=self.now,
        )
        self._write(place, result)
        if command.renew_for is not None:
            self._renew(run, command.renew_for)
        return self.now

    def suspend_run(self, command: Suspend) -> Suspended:
        run = self._held(command)
        failed = [self._failed(item) for item in command.failures]
        settled = [*failed, *(self._waiting(item) for item in command.waits)]
        places = [(step.run_id, step.key, step.attempt) for step in settled]
        for place, step in zip(places, settled, strict=True):
            known = self.steps.get(place)
            if known is None or known.status in ("running", "waiting"):
                self._write(place, step)
        # As recorded where that still waits: asked again, it says what is left of the first delay.
        waiting = {(step.run_id, step.key, step.attempt): step for step in self._open_waits(run)}
        verdicts = tuple(
            Verdict(self._due_in(waiting.get(place, step)), self.now)
            for place, step in zip(places, settled, strict=True)
        )
        # A failure for good is an answer the code waits for, so such a run is not given back.
        if not command.park or any(step.due_at is None for step in failed):
            return Suspended(is_parked=False, verdicts=verdicts)
        waits = [step for step in self._open_waits(run) if step.key not in command.dropped]
        self._until_next_wait(run, waits, cause=min(waits, key=_due).kind if waits else "release")
        return Suspended(is_parked=True, verdicts=())

    def finish_run(self, command: FinishRun) -> int:
        run = self.runs.get(command.run_id)
        if run is not None and run.status in TERMINAL:
            ending = (run.status, run.token, self.hashes[run.id])
            if ending == (command.status, command.token, command.result_hash):
                return self.now  # the same end once more
        run = self._held(command)
        self._finish(run, command.status, output=command.output, failure=command.failure, hash=command.result_hash)
        return self.now

    def hold_run(self, command: HoldRun) -> None:
        run = self._held(command)
        self.payloads[run.id].failure = command.reason
        self._give_back(run, "paused", None, cause="mismatch")

    def release_run(self, claim: Claim) -> None:
        self._give_back(self._held(claim), "pending", self.now + claim.delay_for, cause="release")

    def renew_claim(self, claim: Claim) -> None:
        self._renew(self._held(claim), claim.visibility_for)

    # What they are made of

    def _held(self, command: Any) -> Run:
        """The run, if this token still holds it."""
        run = self.runs.get(command.run_id)
        if run is None or run.status != "running" or run.token != command.token:
            raise Refused("claim_lost")
        return run

    def _claim(self, run: Run, command: ClaimRuns) -> Claimed | None:
        was, visibility_for = run.status, command.visibilities.get(run.name, command.visibility_for)
        run.token, run.attempts = run.token + 1, run.attempts + 1
        run.recoveries += was == "running"  # nobody gave it back
        run.worker, run.poll = command.worker, command.poll
        run.available_at = self.now + visibility_for
        run.started_at = self.now if run.started_at is None else run.started_at
        self._move(run, "running", cause="recover" if was == "running" else "claim", was=was)
        if run.recoveries > self.max_recoveries:
            self._finish(run, "failed", output=None, failure=self._blame(run), hash=b"")
            return None
        payload = self.payloads[run.id]
        return Claimed(
            run_id=run.id,
            name=run.name,
            version=run.version,
            queue=run.queue,
            token=run.token,
            attempts=run.attempts,
            recoveries=run.recoveries,
            key=payload.start_key,
            input=payload.input,
            started_at=run.started_at,
            visibility_for=visibility_for,
            history=tuple(self._recorded(step) for step in sorted(self.latest(run.id), key=_delivery)),
        )

    def _blame(self, run: Run) -> Blame:
        """The step that was seen to start under the last claim that saw one."""
        entered = [step for step in self.latest(run.id) if step.status == "running"]
        last = sorted(entered, key=lambda step: (-step.token, -step.attempt, step.key))
        return Blame(step=last[0].key if last else "")

    def _finish(self, run: Run, status: str, *, output: bytes | None, failure: Any, hash: bytes) -> None:
        payload = self.payloads[run.id]
        payload.output, payload.failure = output, failure
        self.hashes[run.id] = hash
        run.available_at, run.worker, run.finished_at = None, None, self.now
        self._move(run, status, cause="finish", was="running")

    def _give_back(self, run: Run, status: str, available_at: int | None, *, cause: str) -> None:
        """Whoever gives a run back ends the count of recoveries."""
        run.available_at, run.worker, run.recoveries = available_at, None, 0
        self._move(run, status, cause=cause, was=run.status)

    def _until_next_wait(self, run: Run, waits: list[Step], *, cause: str) -> None:
        if not waits:
            self._give_back(run, "pending", self.now, cause=cause)
            return
        first = min(waits, key=_due)
        status = "sleeping" if first.kind == "sleep" else "pending"
        self._give_back(run, status, max(self.now, _due(first)), cause=cause)

    def _move(self, run: Run, status: str, *, cause: str, was: str | None) -> None:
        run.status = status
        self.log.setdefault(run.id, []).append(Entry(run.id, was, status, cause, self.now))

    def _renew(self, run: Run, visibility_for: int) -> None:
        """From now on, and never back."""
        assert run.available_at is not None
        run.available_at = max(run.available_at, self.now + visibility_for)

    def latest(self, run_id: str) -> list[Step]:
        """The last attempt of every step of a run, by key."""
        found: dict[str, Step] = {}
        for step in sorted(self.steps.values(), key=lambda step: (step.key, step.attempt)):
            if step.run_id == run_id:
                found[step.key] = step
        return list(found.values())

    def _open_waits(self, run: Run) -> list[Step]:
        return [
            step
            for step in self.latest(run.id)
            if step.status == "waiting" or (step.status == "failed" and step.due_at is not None)
        ]

    def _new_step(self, command: BeginStep | CompleteStep | FailStep, **fields: Any) -> Step:
        values: dict[str, Any] = {
            "run_id": command.run_id,
            "key": command.key,
            "attempt": command.attempt,
            "kind": command.kind,
            "token": command.token,
            "failures": command.failures,
            "input_hash": command.input_hash,
        }
        return Step(**(values | fields))

    def _failed(self, command: FailStep) -> Step:
        failures = command.failures + 1
        delay = self._delay(command, failures)
        return self._new_step(
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

    def _waiting(self, command: WaitStep) -> Step:
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
            due_at=command.due_at if command.due_at is not None else self.now + (command.due_for or 0),
        )

    def _write(self, place: StepName, step: Step) -> None:
        """Over a start or a wait that is known: a wait keeps the due time it had, and when it began."""
        known = self.steps.get(place)
        if known is not None:
            if known.status == "waiting":
                step.started_at = known.started_at
            if step.status in ("waiting", "completed") and known.due_at is not None:
                step.due_at = known.due_at
            step.kind = known.kind
        self.steps[place] = step

    def _due_in(self, step: Step) -> int | None:
        return None if step.due_at is None else max(0, step.due_at - self.now)

    def _recorded(self, step: Step) -> Recorded:
        return Recorded(
            key=step.key,
            kind=step.kind,
            attempt=step.attempt,
            status=step.status,
            order=step.order,
            failures=step.failures,
            input_hash=step.input_hash,
            output=step.output,
            failure=step.failure,
            due_in=self._due_in(step),
            finished_at=step.finished_at,
        )


def _due(step: Step) -> int:
    assert step.due_at is not None
    return step.due_at


def _delivery(step: Step) -> tuple[bool, int, str]:
    """Results in the order they reached the code, then what is open."""
    return (step.order is None, step.order or 0, step.key)


def _seen(worker: Worker) -> tuple[int, str]:
    return worker.seen_at, worker.id

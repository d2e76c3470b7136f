"""What the engine should do, said a second time: dictionaries, no SQL, no transaction, no lock.

It has the methods of the doors (`api/service.py`), under the same names and with the same commands, and imports neither
rules nor engine: it is an independent statement. Time stands still within a call; the test sets `now` between calls.

    answer          a value, or Refused with the code of the error
    state           rows as they must stand in the database; each field that is named here is compared

    state.py        the tables, and how a run moves
    waits.py        how it waits
    turns.py        whose turn it is among runs of a schedule
    steering.py     the door for those who steer runs
    planning.py     the door for those who plan them
    reference.py    the doors for those who ask and for those who execute
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

from tests.model.planning import Planning
from tests.model.rows import (
    Blame,
    Claimed,
    Entry,
    Gate,
    Heartbeaten,
    Key,
    Looked,
    Message,
    Outcome,
    Probed,
    Recorded,
    Run,
    Started,
    Step,
    View,
    Worker,
)
from tests.model.state import ANYTHING, TERMINAL, Refused
from windlass.model.commands import (
    BeginStep,
    Claim,
    ClaimRuns,
    CompleteStep,
    FinishRun,
    Heartbeat,
    HoldRun,
    LookAtClaims,
    ProbeWorkers,
    RegisterWorker,
    StartRun,
)
from windlass.model.page import ListRuns


class Reference(Planning):
    """The store and the engine in one: what is written is written, what is answered is answered."""

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
        id = self.fresh_ids[0]
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
        self.create(id, command, key=command.key)
        return Started(id, is_repeat=False)

    def get_run(self, namespace: str, run_id: str) -> View:
        return self.view(self.existing(run_id))

    def find_run(self, namespace: str, key: str) -> View:
        if key not in self.keys:
            raise Refused("not_found")
        return self.get_run(namespace, self.keys[key].run_id)

    def wait_for_result(self, namespace: str, run_id: str, wait_for: int) -> Outcome:
        view = self.get_run(namespace, run_id)
        return Outcome(view.run.status, view.output, view.failure)

    def walk_runs(self, query: ListRuns) -> list[list[str]]:
        """Every page of a list, newest first, as ids. A page that is full is followed by another."""
        wanted = {"status": query.status, "name": query.name, "queue": query.queue, "parent": query.parent}
        found = [
            run.id
            for run in sorted(self.runs.values(), key=lambda run: run.id, reverse=True)
            if all(value is None or getattr(run, field) == value for field, value in wanted.items())
            and (query.created_after is None or run.created_at >= query.created_after)
        ]
        return [found[start : start + query.limit] for start in range(0, len(found), query.limit)] or [[]]

    def list_steps(self, namespace: str, run_id: str) -> tuple[Step, ...]:
        steps = [step for step in self.steps.values() if step.run_id == run_id]
        return tuple(sorted(steps, key=lambda step: (step.started_at, step.order or 0, step.key, step.attempt)))

    def read_log(self, namespace: str, run_id: str) -> tuple[Entry, ...]:
        return tuple(self.log.get(run_id, []))

    def list_messages(self, namespace: str, run_id: str) -> tuple[Message, ...]:
        return tuple(self.inbox.get(run_id, []))

    def list_workers(self, namespace: str) -> tuple[Worker, ...]:
        living = [self._counted(worker) for worker in self.workers.values() if worker.stopped_at is None]
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
            is_draining=command.is_return and command.id in self.workers and self.workers[command.id].is_draining,
        )
        self.locked.add(command.id)
        self.watched.add(command.id)
        for queue, name in ((served.queue, served.name) for served in command.served):
            for gate in (("namespace", command.namespace), ("queue", queue), ("workflow", name)):
                self.gates.setdefault(gate, Gate(*gate))
        return ANYTHING

    def heartbeat(self, command: Heartbeat) -> Heartbeaten:
        worker = self.workers.get(command.id)
        if worker is None or worker.stopped_at is not None:
            raise Refused("not_found")
        worker.seen_at = self.now
        worker.active, worker.completed, worker.failed = command.active, command.completed, command.failed
        worker.is_draining = worker.is_draining or command.is_draining
        return Heartbeaten(worker.is_draining)

    def deregister_worker(self, namespace: str, id: str) -> None:
        worker = self.workers.get(id)
        if worker is not None:
            self._stop(worker, is_goodbye=True)
        for run in sorted(self.runs.values(), key=lambda run: run.id):
            if run.worker == id:  # what it could not give back before
                self.give_back(run, "pending", self.now, cause="release")
        self.locked.discard(id)

    def expire_workers(self, silent_for: int, batch: int) -> int:
        """Whoever has been silent for too long counts as offline. Its runs, and its lock, stay as they are."""
        silent = [
            item for item in self.workers.values() if item.stopped_at is None and item.seen_at < self.now - silent_for
        ]
        for worker in sorted(silent, key=_seen)[:batch]:
            worker.stopped_at = self.now
        return min(len(silent), batch)

    def probe_workers(self, command: ProbeWorkers) -> Probed:
        """Whose lock nobody holds is dead: what it held goes back. Whoever asks lives; whoever counts as offline is
        looked at as long as it holds something."""
        self.locked.add(command.worker)
        there = {item.id for item in self.workers.values() if item.stopped_at is None}
        dead = []
        for worker in sorted((item for item in self.workers.values() if item.id in self.watched), key=_seen):
            held = sorted((run for run in self.runs.values() if run.worker == worker.id), key=lambda run: run.id)
            would_matter = command.everyone or bool(set(worker.served) & set(command.served))
            is_asked = bool(held) or (command.everyone and worker.id in there)
            if worker.id == command.worker or worker.id in self.locked or not (is_asked and would_matter):
                continue
            self._stop(worker, is_goodbye=False)
            for run in held:
                deaths = run.recoveries + 1
                pause = 0 if deaths == 1 else min(1_000_000 * 2 ** (deaths - 2), 60_000_000)
                spread = 0.5 + crc32(f"{run.id} {deaths - 1}".encode()) / 2**32
                self.give_back(run, "pending", self.now + int(pause * spread), cause="death")
                if run.status != "paused":
                    run.recoveries = deaths  # nobody gave it back
            dead.append(worker.id)
        return Probed(is_registered=command.worker in there, dead=tuple(dead))

    def die(self) -> None:
        """The process ends, and with it its locks."""
        self.locked.clear()

    def _stop(self, worker: Worker, *, is_goodbye: bool) -> None:
        if worker.stopped_at is not None and worker.seen_at >= worker.stopped_at:
            return
        if is_goodbye:
            worker.stopped_at = worker.seen_at = self.now
        elif worker.stopped_at is None:
            worker.stopped_at = self.now
        worker.active = 0
        self.watched.discard(worker.id)

    def claim_runs(self, command: ClaimRuns) -> list[Claimed]:
        """Due runs of the lanes served: the most urgent first, then the longest due, then by id."""
        lanes = {(served.queue, served.name, served.version) for served in command.served}
        due = [
            (-run.priority, run.available_at, run.id)
            for run in self.runs.values()
            if (run.queue, run.name, run.version) in lanes
            and run.available_at is not None
            and run.available_at <= self.now
            and not self.is_behind_a_gate(run)
        ]
        runs = [self.runs[id] for *_, id in sorted(due)[: command.limit]]
        living = {run.id for run in runs if run.status == "running" and self._lives(run.worker, command.worker)}
        for run in runs:
            self._claim(run, command)
        endings = ((run.id, self._ending(run, holder_lived=run.id in living)) for run in runs)
        ends = {id: failure for id, failure in endings if failure is not None}
        entered = [run for run in runs if run.id not in ends and not run.is_held]
        for run in runs:
            if run.is_held and run.id not in ends:  # its last holder never came to that
                self.pause(run, cause="pause")
        answer = [self._claimed(run, command) for run in entered]
        # A transaction of its own: whoever dies in between leaves these to the next claim.
        for run in runs if not self.is_cut_short else ():
            if run.id in ends:
                self._finish(run, "failed", output=None, failure=ends[run.id], hash=b"")
        return answer

    def begin_step(self, command: BeginStep) -> int:
        self.held(command)
        place = (command.run_id, command.key, command.attempt)
        known = self.steps.get(place)
        if known is None:
            self.steps[place] = self.new_step(command, status="running", started_at=self.now)
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
        run = self.held(command)
        if known is not None and known.status == "failed":
            raise Refused("claim_lost")
        result = self.new_step(
            command,
            status="completed",
            order=command.order,
            output=command.output,
            started_at=self.now - command.ran_for,
            finished_at=self.now,
        )
        self.write(place, result)
        if command.renew_for is not None:
            self.renew(run, command.renew_for)
        return self.now

    def finish_run(self, command: FinishRun) -> int:
        run = self.runs.get(command.run_id)
        if run is not None and run.status in TERMINAL:
            ending = (run.status, run.token, self.hashes.get(run.id))
            if ending == (command.status, command.token, command.result_hash):
                return self.now  # the same end once more
        run = self.held(command)
        self._finish(run, command.status, output=command.output, failure=command.failure, hash=command.result_hash)
        return self.now

    def hold_run(self, command: HoldRun) -> None:
        run = self.held(command)
        self.payloads[run.id].failure = command.reason
        self.pause(run, cause="mismatch")

    def release_run(self, claim: Claim) -> None:
        self.give_back(self.held(claim), "pending", self.now + claim.delay_for, cause="release")

    def renew_claim(self, claim: Claim) -> None:
        self.renew(self.held(claim), claim.visibility_for)

    def look_at_claims(self, command: LookAtClaims) -> tuple[Looked, ...]:
        found = []
        for run_id, token in command.claims:
            run = self.runs.get(run_id)
            if run is None or (run.status, run.token) != ("running", token):
                found.append(Looked(run_id, is_lost=True))
            else:
                found.append(Looked(run_id, False, run.is_held, self.is_anything_here(run)))
        return tuple(found)

    # What they are made of

    def _claim(self, run: Run, command: ClaimRuns) -> None:
        was, ends_at = run.status, self.now + command.visibilities.get(run.name, command.visibility_for)
        run.token, run.attempts = run.token + 1, run.attempts + 1
        run.recoveries += was == "running"  # nobody gave it back
        run.worker, run.poll, run.unmet = command.worker, command.poll, 0
        run.available_at = ends_at if run.expires_at is None else min(ends_at, max(run.expires_at, self.now))
        run.started_at = self.now if run.started_at is None else run.started_at
        self.move(run, "running", cause="recover" if was == "running" else "claim", was=was)

    def _lives(self, holder: str | None, claimant: str) -> bool:
        """Whoever asks lives. Of another one its lock says so."""
        return holder == claimant or (holder in self.workers and holder in self.locked)

    def _ending(self, run: Run, *, holder_lived: bool) -> Blame | None:
        """How a run ends that is claimed and not entered. That it is too late is tested first."""
        if run.expires_at is not None and run.expires_at <= self.now:
            return Blame("timeout", "TimeoutError")
        if run.recoveries > self.max_recoveries:
            # The step that was seen to start under the last claim that saw one.
            entered = [step for step in self.latest(run.id) if step.status == "running"]
            last = sorted(entered, key=lambda step: (-step.token, -step.attempt, step.key))
            kind, type = ("timeout", "ClaimRanOut") if holder_lived else ("crash_loop", "CrashLoop")
            return Blame(kind, type, last[0].key if last else "")
        return None

    def _claimed(self, run: Run, command: ClaimRuns) -> Claimed:
        assert run.started_at is not None
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
            visibility_for=command.visibilities.get(run.name, command.visibility_for),
            history=tuple(self._recorded(step) for step in sorted(self.latest(run.id), key=_delivery)),
            expires_in=self.left(run.expires_at),
            parent=run.parent,
            origin=run.origin,
            begun_at=run.begun_at,
            schedule=run.schedule,
            scheduled_at=run.scheduled_at,
        )

    def _finish(self, run: Run, status: str, *, output: bytes | None, failure: Any, hash: bytes) -> None:
        payload = self.payloads[run.id]
        payload.output, payload.failure = output, failure
        self.hashes[run.id] = hash
        run.available_at, run.worker, run.finished_at = None, None, self.now
        run.is_held, run.unmet = False, 0
        self.move(run, status, cause="finish", was="running")
        self.tell_parent(run)
        self.release_next(run.schedule)

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
            due_in=self.left(step.due_at),
            finished_at=step.finished_at,
            awaits=step.awaits,
            is_copied=step.token == 0,
        )


def _delivery(step: Step) -> tuple[bool, int, str]:
    """Results in the order they reached the code, then what is open."""
    return (step.order is None, step.order or 0, step.key)


def _seen(worker: Worker) -> tuple[int, str]:
    return worker.seen_at, worker.id

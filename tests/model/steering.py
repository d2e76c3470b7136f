"""The door `Control` of the reference: what people and other programs do to runs."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from tests.model.rows import Cancelled, Entry, Gate, Message, Run, Sent, Started, Step, View, Worker
from tests.model.state import ANYTHING, TERMINAL, Refused
from tests.model.waits import Waits
from windlass.model.commands import CancelRun, Decide, PauseRun, ResumeRun, RetryRun, SendEvent, SetGate
from windlass.model.duration import from_instant
from windlass.model.message import Decision
from windlass.model.time import Instant


class Steering(Waits):
    def view(self, run: Run) -> View:
        payload = self.payloads[run.id]
        return View(replace(run), payload.start_key, payload.input, payload.output, payload.failure)

    # What is sent

    def send_event(self, command: SendEvent) -> Sent:
        """Kept until it is received. The same id is the same event, also after the run is over."""
        run = self.existing(command.run_id)
        for known in self.inbox.get(run.id, []):
            if (known.kind, known.id) == ("event", command.id):
                if (known.name, known.payload) != (command.event, command.payload):
                    raise Refused("already_exists")
                return Sent(is_repeat=True)
        if run.status in TERMINAL:
            raise Refused("wrong_state")
        self._put(run, "event", command.event, command.id, command.payload)
        waits = self.open_waits(run)
        if run.status == "waiting" and any((step.kind, step.awaits) == ("event", command.event) for step in waits):
            self.wake(run, cause="event")
        return Sent(is_repeat=False)

    def decide(self, command: Decide) -> Decision:
        run = self.existing(command.run_id)
        step = self._meant(command, run)
        wanted = "approved" if command.is_approved else "rejected"
        made = self._decision_on(run, step)
        if made is not None:
            if made.outcome != wanted or command.by not in (None, made.by):
                raise Refused("wrong_state")
            return made  # the same once more
        if run.status in TERMINAL or step.status != "waiting":
            raise Refused("wrong_state")
        if step.due_at is not None and step.due_at <= self.now:
            raise Refused("wrong_state")
        at = from_instant(Instant(self.now))
        decision = Decision(
            outcome="approved" if command.is_approved else "rejected", by=command.by, note=command.note, at=at
        )
        self._put(run, "approval", step.key, ANYTHING, msgspec.json.encode(decision))
        cause = "approve" if command.is_approved else "reject"
        deed = {"by": command.by, "note": command.note, "step": step.key}
        if run.status == "waiting":
            self.wake(run, cause=cause, **deed)
        else:
            self.note(run, cause=cause, **deed)
        return decision

    def _meant(self, command: Decide, run: Run) -> Step:
        """The one named; else the only one undecided; else the last that was asked for."""
        asked = [step for step in self.latest(run.id) if step.kind == "approval" and not step.is_dropped]
        if command.step is not None:
            named = [step for step in asked if step.key == command.step]
            if not named:
                raise Refused("not_found")
            return named[0]
        waiting = [step for step in asked if step.status == "waiting" and self._decision_on(run, step) is None]
        if len(waiting) > 1:
            raise Refused("invalid_input")
        if waiting and any(self._is_like(command, message) for message in self.inbox.get(run.id, [])):
            raise Refused("invalid_input")  # perhaps a second click, and not meant for the next approval
        if not asked:
            raise Refused("wrong_state")
        return waiting[0] if waiting else max(asked, key=lambda step: (step.started_at, step.order or 0))

    def _is_like(self, command: Decide, message: Message) -> bool:
        if message.kind != "approval":
            return False
        decision = msgspec.json.decode(message.payload, type=Decision)
        return (decision.outcome == "approved", decision.by) == (command.is_approved, command.by)

    def _decision_on(self, run: Run, step: Step) -> Decision | None:
        for message in self.inbox.get(run.id, []):
            if (message.kind, message.name) == ("approval", step.key):
                return msgspec.json.decode(message.payload, type=Decision)
        return None

    def _put(self, run: Run, kind: str, name: str, id: str, payload: bytes) -> None:
        inbox = self.inbox.setdefault(run.id, [])
        inbox.append(Message(run.id, inbox[-1].seq + 1 if inbox else 1, kind, name, id, payload, self.now))

    # Whether a run goes on

    def pause_run(self, command: PauseRun) -> str:
        run = self.existing(command.run_id)
        if run.status in TERMINAL:
            raise Refused("wrong_state")
        if run.status == "running" and not run.is_held:
            run.is_held = True  # until its holder gives it back
            self.note(run, cause="pause", by=command.by, note=command.note)
        elif run.status not in ("running", "paused"):
            self.pause(run, cause="pause", by=command.by, note=command.note)
        return run.status

    def resume_run(self, command: ResumeRun) -> View:
        """Due times live on the waits. A run that has not begun waits for its own time.

        Only one that had parked by itself has come to a stop: any other may have more to do than its waits say.
        """
        run = self.existing(command.run_id)
        if run.status == "running" and run.is_held:
            run.is_held = False
            self.note(run, cause="resume", by=command.by)
            return self.view(run)
        if run.status != "paused":
            raise Refused("wrong_state")
        self.payloads[run.id].failure = None
        if self.is_queued(run):
            self.move(run, "waiting", cause="resume", was="paused", by=command.by)
            return self.view(run)
        has_work = run.attempts > 0 and self.paused_from[run.id] not in ("sleeping", "waiting")
        if self.is_anything_here(run) or has_work:
            self.unclaim(run, "pending", self.now, cause="resume", by=command.by)
        elif run.attempts == 0 and run.starts_at is not None:
            self.unclaim(run, "pending", max(self.now, run.starts_at), cause="resume", by=command.by)
        else:
            self.until_next_wait(run, self.open_waits(run), cause="resume", by=command.by)
        return self.view(run)

    def cancel_run(self, command: CancelRun) -> Cancelled:
        run = self.existing(command.run_id)
        if run.status in TERMINAL:
            return Cancelled(run.status, is_done=False, children=())
        children = self._cancel_tree(run, cause="cancel", by=command.by, note=command.note)
        self.release_next(run.schedule)
        return Cancelled("cancelled", is_done=True, children=children)

    def _cancel_tree(self, run: Run, /, *, cause: str, **deed: str | None) -> tuple[str, ...]:
        """The run, whatever follows it, and whatever follows that; who waits for the run goes on."""
        tree = self._following(run)
        self._cancel(run, cause=cause, **deed)
        for child in tree:
            self._cancel(child, cause="cancel", by=deed.get("by"), run=child.parent)
        self.tell_parent(run)
        return tuple(sorted(child.id for child in tree))

    def _following(self, run: Run) -> list[Run]:
        own = [
            child
            for child in self.runs.values()
            if child.parent == run.id and child.id in self.followers and child.status not in TERMINAL
        ]
        return [*own, *(below for child in own for below in self._following(child))]

    def _cancel(self, run: Run, /, *, cause: str, **deed: str | None) -> None:
        self.payloads[run.id].failure = None
        run.available_at, run.worker, run.finished_at = None, None, self.now
        run.is_held, run.unmet = False, 0
        self.move(run, "cancelled", cause=cause, was=run.status, **deed)

    # Once more

    def retry_run(self, command: RetryRun) -> Started:
        """A new run that begins with what the old one has done. No row leaves a terminal status."""
        run = self.existing(command.run_id)
        known = [other for other in self.runs.values() if other.retry_of == run.id]
        if known:
            return Started(known[0].id, is_repeat=True)
        if run.status not in ("failed", "cancelled", "paused"):
            raise Refused("wrong_state")
        self._check_overlap(run)
        self._kept(run, command.from_step)  # or no such step
        new_id, begins_at = self.fresh_ids[0], run.created_at if run.starts_at is None else run.starts_at
        if run.status == "paused":
            self._cancel_tree(run, cause="retry", by=command.by, run=new_id)
        kept = self._kept(run, command.from_step)
        self.runs[new_id] = Run(
            id=new_id,
            name=run.name,
            version=run.version,
            queue=run.queue,
            priority=run.priority,
            status="",
            available_at=self.now,
            created_at=self.now,
            expires_at=None if run.expires_at is None else self.now + run.expires_at - begins_at,
            retry_of=run.id,
            origin=run.id if run.origin is None else run.origin,
            begun_at=run.started_at if run.begun_at is None else run.begun_at,
            schedule=run.schedule,
            scheduled_at=run.scheduled_at,
        )
        old = self.payloads[run.id]
        self.payloads[new_id] = replace(old, run_id=new_id, output=None, failure=None)
        for step in kept:
            copied = replace(step, run_id=new_id, attempt=1, token=0, failures=0, is_dropped=False)
            self.steps[new_id, step.key, 1] = copied
            for child in self.runs.values():
                if step.kind == "start" and child.id == step.awaits and child.status not in TERMINAL:
                    child.parent = new_id  # it has started it too
        self._copy_inbox(run, new_id, {step.key for step in kept}, command.from_step)
        if old.start_key is not None and self.keys[old.start_key].run_id == run.id:
            self.keys[old.start_key].run_id = new_id
        self.move(self.runs[new_id], "pending", cause="retry", was=None, by=command.by, run=run.id)
        return Started(new_id, is_repeat=False)

    def _check_overlap(self, run: Run) -> None:
        """It takes the place of the old one, and no other of its schedule may be at work unless they may overlap."""
        plan = self.schedules.get(run.schedule or "")
        if plan is None or plan.overlap == "allow":
            return
        if any(other is not run and not self.is_queued(other) for other in self.open_runs(plan.name)):
            raise Refused("wrong_state")

    def _kept(self, run: Run, from_step: str | None) -> list[Step]:
        """What is done, up to the step from which everything is done again. Children that ended badly start again."""
        done = [step for step in self.latest(run.id) if step.status == "completed" and not self._is_in_vain(step)]
        if from_step is None:
            return done
        chosen = [step for step in self.latest(run.id) if step.key == from_step]
        if not chosen:
            raise Refused("not_found")
        place = chosen[0].order
        return [step for step in done if place is None or (step.order or 0) < place]

    def _is_in_vain(self, step: Step) -> bool:
        return step.kind == "start" and self.runs[step.awaits or ""].status in ("failed", "cancelled", "skipped")

    def _copy_inbox(self, run: Run, new_id: str, kept: set[str], from_step: str | None) -> None:
        """What a step received that is done again comes again; a decision does not: it is asked for again.

        Nor does what the step received from which on all is done again: somebody wants another one.
        """
        copies = self.inbox.setdefault(new_id, [])
        for message in self.inbox.get(run.id, []):
            is_kept = message.taken_by in kept
            if message.taken_by is not None and message.taken_by == from_step:
                continue
            if message.kind == "event" or message.taken_by is None or is_kept:
                taken_by = message.taken_by if is_kept else None
                copies.append(replace(message, run_id=new_id, taken_by=taken_by))

    # What is paused as a whole

    def set_gate(self, command: SetGate) -> Gate:
        """Closed by several, it names the first; the first to open it opens it for all. A namespace has one."""
        if command.kind == "namespace" and command.name != command.namespace:
            raise Refused("invalid_input")
        gate = self.gates.setdefault((command.kind, command.name), Gate(command.kind, command.name))
        if gate.is_paused != command.is_paused:
            deed = {"by": command.by, "note": command.note}
            known = {name: value for name, value in deed.items() if value is not None}
            words = ("open", "paused", "pause") if command.is_paused else ("paused", "open", "resume")
            subject = f"{command.kind.value}/{command.name}"
            data = msgspec.json.encode(known) if known else None
            self.log.setdefault(subject, []).append(Entry(subject, *words, self.now, data))
            self.gates[command.kind, command.name] = gate = Gate(
                command.kind,
                command.name,
                command.is_paused,
                command.by if command.is_paused else None,
                command.note if command.is_paused else None,
                self.now if command.is_paused else None,
            )
        return gate

    def drain_worker(self, namespace: str, id: str, by: str | None = None) -> Worker:
        """Asked once, it stays asked. Nothing that it holds changes."""
        worker = self.workers.get(id)
        if worker is None:
            raise Refused("not_found")
        if worker.stopped_at is not None:
            raise Refused("wrong_state")
        if not worker.is_draining:
            worker.is_draining = True
            data = None if by is None else msgspec.json.encode({"by": by})
            self.log.setdefault(id, []).append(Entry(id, "online", "draining", "drain", self.now, data))
        return self._counted(worker)

    def _counted(self, worker: Worker) -> Worker:
        """How many of its slots are in use now; the row has what it said last."""
        return replace(worker, active=sum(run.worker == worker.id for run in self.runs.values()))

    def list_gates(self, namespace: str) -> tuple[Gate, ...]:
        return tuple(gate for _, gate in sorted(self.gates.items()) if gate.is_paused)

    def is_behind_a_gate(self, run: Run) -> bool:
        stands_behind = {("queue", run.queue), ("workflow", run.name)}
        return any(
            gate.is_paused and (gate.kind == "namespace" or (gate.kind, gate.name) in stands_behind)
            for gate in self.gates.values()
        )

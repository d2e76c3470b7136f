"""The only door: what clients, workers, the command line and pages may ask.

In process the engine itself stands behind these protocols; remotely, a client of the wire.
Nothing above this file sees a row, a connection or a transaction.
"""

from __future__ import annotations

from typing import Protocol

from windlass.answers import Answer
from windlass.api.graph_service import Graphs as Graphs
from windlass.api.graph_service import JobWork
from windlass.api.pipeline_service import PipelineControl as PipelineControl
from windlass.api.pipeline_service import Pipelines as Pipelines
from windlass.api.pipeline_service import PipelineWork
from windlass.api.signal_service import Items as Items
from windlass.api.signal_service import Signals as Signals
from windlass.model.access import AuditPage, CreateKey, Key, ListAudit
from windlass.model.checkup import Checkup
from windlass.model.claims import RenewClaims, RenewedClaims
from windlass.model.commands import (
    BeginStep,
    Cancelled,
    CancelRun,
    Claim,
    ClaimedRun,
    ClaimRuns,
    ClaimState,
    CompleteStep,
    Decide,
    FinishRun,
    Heartbeat,
    Heartbeaten,
    HoldRun,
    LookAtClaims,
    Outcome,
    PauseRun,
    Probed,
    ProbeWorkers,
    RegisterWorker,
    Registration,
    ResumeRun,
    RetryRun,
    SendEvent,
    Sent,
    SetGate,
    Started,
    StartRun,
    Suspend,
    Suspended,
)
from windlass.model.explanation import Explanation
from windlass.model.feed import FeedPage, ReadFeed
from windlass.model.gate import Gate
from windlass.model.message import Decision, Message
from windlass.model.namespace import CreateNamespace, Namespace, NamespacePage
from windlass.model.page import ListRuns, RunPage
from windlass.model.queue import QueueView
from windlass.model.run import LogEntry, RunId, RunStatus, RunView, WorkerId
from windlass.model.schedule import ScheduleView
from windlass.model.schedule_commands import (
    Declare,
    DeleteSchedule,
    PauseSchedule,
    PutSchedule,
    ResumeSchedule,
    TriggerSchedule,
)
from windlass.model.step import Step, StepRecord
from windlass.model.time import Duration, Instant
from windlass.model.worker import EndedRuns, Worker


class Runs(Protocol):
    """For those who start runs and wait for them."""

    def start_run(self, command: StartRun) -> Answer[Started]:
        """Create the run, or answer with the one its key belongs to. Raises AlreadyExists on other input."""
        ...

    async def wait_for_result(self, namespace: str, run_id: RunId, wait_for: Duration | None) -> Outcome:
        """Wait until the run is terminal or held, at most `wait_for`; then say where it stands."""
        ...

    async def get_run(self, namespace: str, run_id: RunId) -> RunView: ...

    async def find_run(self, namespace: str, key: str) -> RunView:
        """The run a start key belongs to. Raises NotFound."""
        ...

    async def list_runs(self, query: ListRuns) -> RunPage: ...

    async def list_steps(self, namespace: str, run_id: RunId) -> tuple[Step, ...]:
        """Every attempt of every step, in the order they began."""
        ...

    async def read_log(self, namespace: str, run_id: RunId) -> tuple[LogEntry, ...]: ...

    async def explain_run(self, namespace: str, run_id: RunId) -> Explanation:
        """Why it is not running, or who executes it: what it waits for, since when, and what it would take."""
        ...

    async def list_messages(self, namespace: str, run_id: RunId) -> tuple[Message, ...]:
        """What was sent to a run, received or not, in the order it was accepted."""
        ...

    async def list_workers(self, namespace: str, stopped_since: Instant | None = None) -> tuple[Worker, ...]:
        """Workers that have not stopped, the most recently seen first; behind them those that have since then."""
        ...

    async def list_queues(self, namespace: str) -> tuple[QueueView, ...]:
        """Every queue that holds something, is served, is paused or was at work just now, by name."""
        ...


class Control(Protocol):
    """For those who steer runs. A call repeated after a lost answer has the effect of one."""

    async def send_event(self, command: SendEvent) -> Sent:
        """Put an event into a run's inbox, to be received once. Raises WrongState if the run is over, AlreadyExists if
        the id was used for another payload."""
        ...

    async def decide(self, command: Decide) -> Decision:
        """Approve or reject. The same decision again is a repeat; another one, or none asked for, is WrongState."""
        ...

    async def cancel_run(self, command: CancelRun) -> Cancelled:
        """End a run, and the children that follow it. One that is over stays as it is, and the answer says so."""
        ...

    async def retry_run(self, command: RetryRun) -> Started:
        """Raises WrongState unless it failed, was cancelled or is paused. A second retry answers with the first."""
        ...

    async def pause_run(self, command: PauseRun) -> RunStatus:
        """Hold a run until it is resumed. One that is executed now is paused as soon as its bodies have ended."""
        ...

    async def resume_run(self, command: ResumeRun) -> RunView:
        """Let a paused run go on. Raises WrongState if it is not paused."""
        ...

    async def set_gate(self, command: SetGate) -> Gate:
        """Pause or resume a queue, a workflow or the namespace."""
        ...

    async def list_gates(self, namespace: str) -> tuple[Gate, ...]:
        """What is paused as a whole."""
        ...

    async def drain_worker(self, namespace: str, id: WorkerId, by: str | None = None) -> Worker:
        """Ask a worker to leave: it claims nothing new, and goes once what it holds is done or its grace is over.

        Raises NotFound if it is unknown, WrongState if it has stopped.
        """
        ...

    async def move_cursor(self, namespace: str, name: str, seq: int) -> int:
        """Say that a reader of this name has read the log up to `seq`: nothing behind that is removed from it.

        A cursor never goes back; answers with where it stands.
        """
        ...

    async def drop_cursor(self, namespace: str, name: str) -> bool:
        """Forget a reader of the log, so that nothing is kept for it any more. False: it is not known."""
        ...


class Schedules(Protocol):
    """For those who say when runs are started. A call repeated after a lost answer has the effect of one."""

    async def declare(self, command: Declare) -> None:
        """Enter what the code of a program says. What it said before and says no more is paused, never deleted."""
        ...

    async def put_schedule(self, command: PutSchedule) -> ScheduleView:
        """Create a schedule. Raises AlreadyExists if there is another one of that name, unless it may be replaced."""
        ...

    async def get_schedule(self, namespace: str, name: str) -> ScheduleView: ...

    async def list_schedules(self, namespace: str) -> tuple[ScheduleView, ...]:
        """All of a namespace, by name."""
        ...

    async def read_schedule_log(self, namespace: str, name: str) -> tuple[LogEntry, ...]:
        """What became of its definition and its status, oldest first; also of one that is deleted."""
        ...

    async def pause_schedule(self, command: PauseSchedule) -> ScheduleView:
        """Fire no slot until it is resumed. What was started goes on."""
        ...

    async def resume_schedule(self, command: ResumeSchedule) -> ScheduleView:
        """Go on with the next slot. Raises WrongState if the code of its program declares it no more."""
        ...

    async def trigger_schedule(self, command: TriggerSchedule) -> Started:
        """Start a run of it now, also while it is paused. Raises WrongState where it may not overlap."""
        ...

    async def delete_schedule(self, command: DeleteSchedule) -> None:
        """Forget a schedule. Its runs stay; one that waits for another of them is cancelled."""
        ...


class Workers(Protocol):
    """For workers, about themselves."""

    async def register_worker(self, command: RegisterWorker) -> Registration: ...

    async def heartbeat(self, command: Heartbeat) -> Heartbeaten:
        """Say that the worker lives, and hear whether it should drain. Touches its own row only.

        Raises NotFound if the worker is unknown, or counts as offline: then it has to register anew.
        """
        ...

    async def deregister_worker(self, namespace: str, id: WorkerId, ended: EndedRuns | None = None) -> None:
        """A goodbye; `ended` is what it has to say about itself for the last time."""
        ...

    async def probe_workers(self, command: ProbeWorkers) -> Probed:
        """Look for dead workers, and make what they held claimable again."""
        ...

    async def listen(self, namespace: str, worker: WorkerId, wait_for: Duration) -> bool:
        """Return when something may have happened to a run this worker holds, at the latest after `wait_for`.

        Answers whether the worker should drain.
        """
        ...

    async def renew_claims(self, command: RenewClaims) -> RenewedClaims:
        """Move the ends of claims to now + visibility while bodies are at work. Answers with those that are lost."""
        ...


class Work(Workers, JobWork, PipelineWork, Protocol):
    """For those who execute runs. Every method that takes a token raises ClaimLost when the token is old."""

    async def claim_runs(self, command: ClaimRuns) -> list[ClaimedRun]:
        """Claim due runs, the most urgent first; wait for some if there are none."""
        ...

    def begin_step(self, command: BeginStep) -> Answer[Instant]: ...

    def complete_step(self, command: CompleteStep) -> Answer[Instant]:
        """Record a result for ever. Answers with the time of the record."""
        ...

    async def suspend_run(self, command: Suspend) -> Suspended:
        """Raises NotFound if a wait names a run that the one held under this claim has not started."""
        ...

    def finish_run(self, command: FinishRun) -> Answer[Instant]: ...

    async def hold_run(self, command: HoldRun) -> None: ...

    async def release_run(self, claim: Claim) -> None:
        """Give a run back, claimable at once. Costs no retry."""
        ...

    async def renew_claim(self, claim: Claim) -> None:
        """Move the end of the claim to now + visibility; it never moves back."""
        ...

    async def read_history(self, claim: Claim) -> tuple[StepRecord, ...]:
        """What is on record of a run that is held under this claim."""
        ...

    async def send_to_child(self, claim: Claim, command: SendEvent) -> Sent:
        """Send something to a run that the one held under this claim has started. Raises NotFound if it has not."""
        ...

    async def cancel_child(self, claim: Claim, command: CancelRun) -> Cancelled:
        """Cancel a run that the one held under this claim has started. Raises NotFound if it has not."""
        ...

    async def look_at_claims(self, command: LookAtClaims) -> tuple[ClaimState, ...]:
        """What became of these claims: lost, held by a person, or something has come that their runs wait for."""
        ...


class Admin(Protocol):
    """For those who look after the database."""

    async def check_up(self) -> Checkup:
        """Look whether the database is in order. Reads whole tables, and changes nothing."""
        ...


class Feed(Protocol):
    """For those who follow what happens."""

    async def read_feed(self, command: ReadFeed) -> FeedPage:
        """The log from a cursor on. Raises CursorExpired if what follows it is gone, InvalidInput if it is none."""
        ...

    async def wait_for_news(self, namespace: str, wait_for: Duration, cursor: str | None = None) -> None:
        """Return when the log may have grown behind a cursor, or without one since now; at the latest after `wait_for`.

        Pass the cursor of the page that was read last: what came meanwhile is then not slept over.
        """
        ...


class Namespaces(Protocol):
    """For those who look after the tenants. A call repeated after a lost answer has the effect of one."""

    async def create_namespace(self, command: CreateNamespace) -> Namespace:
        """Raises AlreadyExists if there is one of that name with another note."""
        ...

    async def get_namespace(self, name: str) -> Namespace: ...

    async def list_namespaces(self, after: str | None = None, limit: int = 100) -> NamespacePage:
        """By name. One that was used before there were servers is among them."""
        ...

    async def set_enabled(self, name: str, *, is_enabled: bool) -> Namespace:
        """Disable: nothing is started, claimed or fired in it until it is enabled again. What is in it stays."""
        ...

    async def delete_namespace(self, name: str) -> None:
        """Raises WrongState unless it is disabled, and nothing but its log is in it."""
        ...


class Access(Protocol):
    """For those who say who may do what."""

    async def create_key(self, command: CreateKey) -> Key:
        """Raises NotFound if there is no such namespace, AlreadyExists if the id is taken by another key."""
        ...

    async def list_keys(self, namespace: str | None = None) -> tuple[Key, ...]:
        """Of one namespace, or all; the newest first, revoked ones too, without the hashes of their secrets."""
        ...

    async def revoke_key(self, id: str, by: str | None = None) -> Key:
        """From now on nobody gets in with it. One that is revoked stays as it is."""
        ...

    async def find_key(self, id: str) -> Key | None:
        """With its hash: for the gate, which never crosses the wire."""
        ...

    async def list_audit(self, query: ListAudit) -> AuditPage: ...

    async def note_refusal(self, namespace: str, *, actor: str, action: str, reason: str, request_id: str) -> None:
        """Put a caller that was turned away into the audit."""
        ...


class Service(Protocol):
    """All doors to one database."""

    @property
    def runs(self) -> Runs: ...

    @property
    def control(self) -> Control: ...

    @property
    def schedules(self) -> Schedules: ...

    @property
    def graphs(self) -> Graphs: ...

    @property
    def pipelines(self) -> Pipelines: ...

    @property
    def pipeline_control(self) -> PipelineControl: ...

    @property
    def items(self) -> Items: ...

    @property
    def signals(self) -> Signals: ...

    @property
    def work(self) -> Work: ...

    @property
    def feed(self) -> Feed: ...

    @property
    def namespaces(self) -> Namespaces: ...

    @property
    def access(self) -> Access: ...

    @property
    def admin(self) -> Admin: ...

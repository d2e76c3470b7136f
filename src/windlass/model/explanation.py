"""Why a run or a pipeline is not running, or what it does: the answer to `explain`."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from windlass.model.run import RunId, RunStatus, WorkerId
from windlass.model.time import Instant


class Situation(StrEnum):
    """What a run waits for. Stable: programs compare these, people read the text."""

    SLEEPING = "sleeping"
    BACKING_OFF = "backing_off"  # a step failed and is tried again later
    STARTS_LATER = "starts_later"  # it was started with a delay
    GIVEN_BACK = "given_back"  # a worker could not go on with it just now
    WORKERS_DYING = "workers_dying"  # it was taken from dead ones again and again, and waits longer each time
    WAITING = "waiting"  # for what it needs
    WAITING_FOR_EVENT = "waiting_for_event"
    WAITING_FOR_CHILD = "waiting_for_child"  # or for children of one map
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    WAITING_FOR_SEVERAL = "waiting_for_several"  # of these, and perhaps a time, at once
    WAITING_FOR_TURN = "waiting_for_turn"  # behind another run of its schedule, or behind siblings of its matrix
    WAITING_FOR_NEEDS = "waiting_for_needs"  # a job: for other jobs of its graph
    WAITING_FOR_JOBS = "waiting_for_jobs"  # a graph
    CANCELLING = "cancelling"  # a graph that was cancelled: jobs that clean up are not over
    PAUSED = "paused"  # by a person
    PAUSING = "pausing"  # a person wants it paused; its worker has not come to that yet
    MISMATCH = "mismatch"  # paused: the code changed under it
    HELD = "held"  # by a live worker: it is at work
    LONG_STEP = "long_step"  # by a live worker, and a step takes much longer than it did before
    TASK_FAILED = "task_failed"  # it waits, or is at work, and a task ended with an error that no task has retrieved
    HELD_SILENT = "held_silent"  # by a worker that has not been heard of for a while
    HELD_STOPPED = "held_stopped"  # by a worker that has stopped
    CLAIM_ENDED = "claim_ended"  # its holder said nothing in time; workers are there to take it over
    DUE = "due"  # for a worker that has a free slot
    WORKERS_FULL = "workers_full"
    NO_WORKER = "no_worker"  # runs this workflow
    OTHER_QUEUE = "other_queue"  # is where workers run this workflow
    OTHER_VERSION = "other_version"  # is what workers run of this workflow
    GATE_CLOSED = "gate_closed"  # it is due, and its queue, its workflow or everything is paused
    EXPIRED = "expired"  # its time-out has passed, and nobody has claimed it to end it
    COMPLETED = "completed"
    FAILED = "failed"
    CRASH_LOOP = "crash_loop"  # failed: every worker that executed it disappeared
    TIMED_OUT = "timed_out"  # failed: it did not end within its time-out
    DRIFT = "drift"  # failed: no code that is there executes it any more
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    # Of a pipeline only
    IDLE = "idle"  # nothing is due
    RECONCILING = "reconciling"  # it is being found out whether an effect happened
    REPAIRING = "repairing"  # `on_logic_error` is asked
    INDETERMINATE = "indeterminate"  # a person has to say whether an effect happened
    NEEDS_PERSON = "needs_person"  # it stopped, and goes on when something is put right
    UNDECLARED = "undeclared"  # its code is gone
    # Of a signal only
    ARMED = "armed"  # it waits for what it watches
    FIRING = "firing"  # what it has fired waits for a coordinator
    FIRED = "fired"
    GAVE_UP = "gave_up"  # paused: what it has fired could not be done
    NEVER = "never"  # what it watches is over, or gone


UNSERVED = frozenset({Situation.NO_WORKER, Situation.OTHER_QUEUE, Situation.OTHER_VERSION})


class Explanation(Struct, frozen=True, kw_only=True):
    """As text it is one paragraph: "Run run_01J… ('order') is sleeping. It …". That of a pipeline has no run."""

    run_id: RunId  # "" of a pipeline
    name: str
    status: RunStatus  # of a pipeline the nearest: running, waiting, sleeping until it is tried again, or paused
    code: Situation
    text: str  # whole sentences about "it", not escaped: names in it come from users
    at: Instant  # when this was true
    since: Instant | None = None  # it has been so
    until: Instant | None = None  # then it ends by itself
    worker: WorkerId | None = None  # that holds it
    step: str | None = None  # it is about; of a pipeline the handler
    brief: str = ""  # the same in a few words for a table, where the row of the run does not tell
    signal: str = ""  # the id of a signal, if it is about one; `name` is what it watches and does then

    @property
    def title(self) -> str:
        if self.signal:
            return f"Signal {self.signal} is {self.brief}."
        if not self.run_id:
            return f"Pipeline {self.name!r} is {self.status.value}."
        return f"Run {self.run_id} ({self.name!r}) is {self.status.value}."

    def __str__(self) -> str:
        return f"{self.title} {self.text}"

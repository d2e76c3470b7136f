"""What a worker gives to every run it executes."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from windlass.api.service import Work
from windlass.codec import Codec
from windlass.define.registry import Registry
from windlass.model.time import DAY, Duration
from windlass.runtime import Clock
from windlass.telemetry.observer import Observer, WorkerWatch
from windlass.worker.failures import Classify
from windlass.worker.runners import Runners
from windlass.worker.tasks import LoopThread
from windlass.worker.tenure import Tenure
from windlass.worker.threads import Threads
from windlass.worker.turns import Turns

if TYPE_CHECKING:
    from windlass.worker.execute import Execution


LONGEST_STEP_FOR = Duration(DAY)


class Doors(NamedTuple):
    """What a worker may ask, and whom it tells."""

    work: Work
    observer: Observer | None = None  # nobody, unless metrics or traces are switched on


class Durations(NamedTuple):
    """How long a worker's claims last, how long it waits, and how often it looks around."""

    visibility_for: Duration
    poll_for: Duration
    probe_for: Duration  # between two looks for dead workers; 0: never
    grace_for: Duration  # for bodies, once it is asked to leave
    heartbeat_for: Duration
    longest_step_for: Duration = LONGEST_STEP_FOR


@dataclass(slots=True, kw_only=True)
class Host:
    work: Work
    namespace: str
    registry: Registry
    codec: Codec
    clock: Clock
    classify: Classify | None
    context: contextvars.Context  # empty of any run: what the worker itself does is no part of one
    observe: Callable[[], None]  # look in a moment at bodies that are still at work
    left: Callable[[Execution], None]  # nothing of this run is at work here any more
    interrupt: Callable[[BaseException], None]  # a body asked the process to stop
    lose_store: Callable[[Exception], bool]  # called with what the store refuses; true: it is gone, so ask no more
    is_ending: Callable[[], bool]  # told to stop, or cancelled with everything else on the loop
    threads: Threads
    loop: LoopThread
    turns: Turns
    runners: Runners
    watch_claim: Callable[[Tenure], None]  # look at this claim when half of it has passed
    longest_step_for: Duration  # how long a body may be at work that was given no time-out
    is_draining: bool = False
    watch: WorkerWatch | None = None  # from its start on, if anyone is told

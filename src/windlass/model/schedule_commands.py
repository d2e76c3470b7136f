"""What may be asked about schedules."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.run import RunId
from windlass.model.schedule import CatchUp, Overlap, Timing
from windlass.model.time import Duration


class PutSchedule(Struct, frozen=True, kw_only=True):
    """What a schedule is to be."""

    namespace: str
    name: str
    workflow: str
    version: str
    queue: str
    input: bytes
    input_hash: bytes
    timeout_for: Duration | None
    timing: Timing
    catch_up: CatchUp
    max_catch_up: int
    overlap: Overlap
    jitter: Duration
    may_replace: bool = False  # else a schedule of that name and another definition is refused
    by: str | None = None


class Declare(Struct, frozen=True, kw_only=True):
    """What the code of a program says: its schedules, and how long ended runs of its workflows are kept."""

    namespace: str
    program: str
    schedules: tuple[PutSchedule, ...]
    kept: dict[str, Duration | None]  # by workflow; none: as long as all the others


class PauseSchedule(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    by: str | None = None
    note: str | None = None


class ResumeSchedule(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    backfill: bool = False  # treat what passed meanwhile as missed
    by: str | None = None


class TriggerSchedule(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    by: str | None = None
    run_id: RunId | None = None  # chosen by whoever asks from afar: asked again after a lost answer, it is the same run


class DeleteSchedule(Struct, frozen=True, kw_only=True):
    namespace: str
    name: str
    by: str | None = None

"""What was declared about times: which workflow, with which arguments, and when."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar

from msgspec import Struct

from windlass.codec import Codec
from windlass.define.options import DurationLike, shorten
from windlass.define.starting import check_arguments
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput
from windlass.model.duration import to_duration
from windlass.model.schedule import CatchUp, Overlap, Timing
from windlass.model.schedule_commands import PutSchedule
from windlass.model.time import Duration
from windlass.rules.limits import check_name
from windlass.rules.schedule_limits import check_jitter, check_max_catch_up, check_timing

CatchUpLike: TypeAlias = Literal["none", "latest", "all"]
OverlapLike: TypeAlias = Literal["allow", "skip", "queue"]
Member = TypeVar("Member", bound=StrEnum)

CAUGHT_UP = 100  # missed slots that catch_up="all" fires at most, unless the schedule says otherwise


class ScheduleOptions(TypedDict, total=False):
    """What `app.schedule` and `app.schedules.create` take."""

    cron: str | None
    every: DurationLike | None
    tz: str
    catch_up: CatchUpLike
    max_catch_up: int
    overlap: OverlapLike
    jitter: DurationLike | None


class Plan(Struct, frozen=True, kw_only=True):
    """The options, checked."""

    timing: Timing
    catch_up: CatchUp
    max_catch_up: int
    overlap: Overlap
    jitter: Duration


class ScheduleDefinition(Struct, frozen=True, kw_only=True):
    """One declaration in the code. The workflow is looked up when it is entered: a notebook may declare it anew."""

    name: str
    workflow: str
    version: str
    args: tuple[Any, ...]
    plan: Plan
    location: str


def read_plan(
    *,
    cron: str | None = None,
    every: DurationLike | None = None,
    tz: str = "UTC",
    catch_up: str = "latest",
    max_catch_up: int = CAUGHT_UP,
    overlap: str = "skip",
    jitter: DurationLike | None = None,
) -> Plan:
    """Check the options of a schedule. Raises InvalidInput, naming the one that is wrong."""
    timing = check_timing(
        Timing(cron=cron, every=None if every is None else to_duration(every, what="every", allow_zero=True), tz=tz)
    )
    jitter_for = Duration(0) if jitter is None else to_duration(jitter, what="jitter")
    return Plan(
        timing=timing,
        catch_up=_member(CatchUp, catch_up, what="catch_up"),
        max_catch_up=check_max_catch_up(max_catch_up),
        overlap=_member(Overlap, overlap, what="overlap"),
        jitter=check_jitter(jitter_for, timing),
    )


def check_args(args: object) -> tuple[Any, ...]:
    """Text is a sequence too, and its letters are never meant."""
    if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
        raise InvalidInput(
            f"args takes a tuple of arguments, not {shorten(args)}: args=({shorten(args)},).",
            reason="invalid_option",
            path="args",
        )
    return tuple(args)


def schedule_command(
    name: str,
    workflow: WorkflowDefinition,
    args: Sequence[Any],
    plan: Plan,
    *,
    namespace: str,
    codec: Codec,
    may_replace: bool = False,
) -> PutSchedule:
    """What the engine is asked. Raises InvalidInput for arguments that the workflow does not take."""
    call = ", ".join([workflow.function.__name__, *workflow.argument_names])
    check_arguments(workflow, args, codec=codec, call=f"app.schedules.create({call}, …)")
    encoded, hashed = codec.encode_hashed(tuple(args))
    return PutSchedule(
        namespace=namespace,
        name=check_name(name, what="schedule name"),
        workflow=workflow.name,
        version=workflow.version,
        queue=workflow.queue,
        input=encoded,
        input_hash=hashed,
        timeout_for=workflow.timeout_for,
        timing=plan.timing,
        catch_up=plan.catch_up,
        max_catch_up=plan.max_catch_up,
        overlap=plan.overlap,
        jitter=plan.jitter,
        may_replace=may_replace,
    )


def _member(kind: type[Member], value: object, *, what: str) -> Member:
    known = [member.value for member in kind]
    if isinstance(value, str) and value in known:
        return kind(value)
    close = difflib.get_close_matches(value, known, n=1) if isinstance(value, str) else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InvalidInput(
        f"{what} must be one of {', '.join(map(repr, known))}, not {shorten(value)}.{hint}",
        reason="invalid_schedule",
        path=what,
    )

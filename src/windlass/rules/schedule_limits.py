"""What a schedule may look like: everything is refused here, before anything is written."""

from __future__ import annotations

from windlass.errors import InvalidInput
from windlass.model.duration import describe
from windlass.model.schedule import Timing
from windlass.model.schedule_commands import PutSchedule
from windlass.model.time import DAY, Duration
from windlass.rules.cron import check_cron
from windlass.rules.limits import check_limit, check_name, check_namespace, check_queue
from windlass.rules.slots import check_every
from windlass.rules.zones import check_zone

MOST_CAUGHT_UP = 10_000
LONGEST_JITTER = DAY


def check_schedule(command: PutSchedule) -> None:
    """Raises InvalidInput, naming the field."""
    check_namespace(command.namespace)
    check_name(command.name, what="schedule name")
    check_name(command.workflow, what="workflow name")
    check_queue(command.queue)
    check_timing(command.timing)
    check_max_catch_up(command.max_catch_up)
    check_jitter(command.jitter, command.timing)


def check_timing(timing: Timing) -> Timing:
    if (timing.cron is None) == (timing.every is None):
        given = "neither was" if timing.cron is None else "both were"
        raise InvalidInput(
            f"A schedule takes cron or every, and {given} given: cron='0 9 * * *' or every='10m'.",
            reason="invalid_schedule",
            path="cron",
        )
    zone = check_zone(timing.tz)
    if timing.cron is not None:
        return Timing(cron=check_cron(timing.cron), tz=zone)
    assert timing.every is not None
    return Timing(every=check_every(timing.every), tz=zone)


def check_max_catch_up(value: int) -> int:
    return check_limit(value, what="max_catch_up", low=1, high=MOST_CAUGHT_UP)


def check_jitter(jitter: Duration, timing: Timing) -> Duration:
    """A day at most, and no longer than an interval: runs would else change places."""
    limit = LONGEST_JITTER if timing.every is None else min(LONGEST_JITTER, timing.every)
    if not 0 <= jitter <= limit:
        raise InvalidInput(
            f"jitter must be between 0 and {describe(limit)}, not {describe(jitter)}.",
            reason="invalid_schedule",
            path="jitter",
        )
    return jitter

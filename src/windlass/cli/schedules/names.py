"""Which schedule is meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from windlass.api.service import Schedules
from windlass.cli.session import Text
from windlass.errors import NotFound
from windlass.model.schedule import ScheduleView
from windlass.rules.limits import check_name

Command = TypeVar("Command", bound=Callable[..., Any])


def check_schedule_name(name: str) -> str:
    return check_name(name, what="schedule name")


def name_argument(command: Command) -> Command:
    return click.argument("name", metavar="NAME", type=Text(check_schedule_name))(command)


async def find_or_none(schedules: Schedules, namespace: str, name: str) -> ScheduleView | None:
    try:
        return await schedules.get_schedule(namespace, name)
    except NotFound:
        return None

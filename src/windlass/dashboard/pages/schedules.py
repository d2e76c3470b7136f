"""Schedules: when they fire next, what they have started, and why one does not fire."""

from __future__ import annotations

from typing import Any

from windlass.api.checks import check
from windlass.dashboard.asking import Ask, Page, Redirect, View
from windlass.dashboard.payloads import payload
from windlass.model.page import ListRuns
from windlass.model.schedule import ScheduleView
from windlass.model.schedule_commands import PauseSchedule, ResumeSchedule, TriggerSchedule
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules import schedule_words as words
from windlass.rules.limits import check_name

GRACE = Duration(10 * SECOND)  # how late is still on time: two looks of a coordinator


async def show_all(ask: Ask) -> Page:
    found = await ask.service.schedules.list_schedules(ask.namespace)
    schedules = [described(view, now=ask.now) for view in found]
    return Page("schedules.html", {"title": "Schedules", "place": "schedules", "schedules": schedules})


def described(view: ScheduleView, *, now: Instant) -> dict[str, Any]:
    standing = words.standing(view.schedule, now=now, grace=GRACE)
    why = words.why_not(view)
    if standing is words.Standing.LATE:
        why = words.why_late(view.schedule, now=now, has_workers=True)
    return {
        "schedule": view.schedule,
        "standing": standing.value,
        "words": words.in_words(view.schedule),
        "why": why,
        "next": view.next if why is None else (),
        "active": view.active,
        "last_run": view.last_run,
    }


async def show(ask: Ask) -> Page:
    view = await ask.service.schedules.get_schedule(ask.namespace, _name(ask))
    runs = await ask.service.runs.list_runs(ListRuns(namespace=ask.namespace, schedule=view.schedule.name, limit=25))
    values = {
        "title": view.schedule.name,
        "place": "schedules",
        "schedule": view.schedule,
        "item": described(view, now=ask.now),
        "times": words.times(view.schedule.timing),
        "catching": words.catching_up(view.schedule),
        "overlapping": words.overlapping(view.schedule),
        "spreading": words.spreading(view.schedule),
        "input": payload(view.schedule.input, is_call=True),
        "runs": runs.runs,
    }
    return Page("schedule.html", values)


def _name(ask: Ask) -> str:
    return check_name(ask.path["name"], what="schedule name")


async def pause(ask: Ask) -> Redirect:
    command = PauseSchedule(namespace=ask.namespace, name=_name(ask), by=ask.caller.key, note=ask.typed("note"))
    await ask.service.schedules.pause_schedule(check(command))
    return Redirect(ask.to("schedules", _name(ask)), "paused")


async def resume(ask: Ask) -> Redirect:
    command = ResumeSchedule(namespace=ask.namespace, name=_name(ask), by=ask.caller.key)
    await ask.service.schedules.resume_schedule(check(command))
    return Redirect(ask.to("schedules", _name(ask)), "resumed")


async def trigger(ask: Ask) -> Redirect:
    command = TriggerSchedule(namespace=ask.namespace, name=_name(ask), by=ask.caller.key)
    started = await ask.service.schedules.trigger_schedule(check(command))
    return Redirect(ask.to("runs", started.run_id), "triggered")


SCHEDULE = "/schedules/{name}"
VIEWS = (
    View(path="/schedules", operation="list_schedules", handler=show_all),
    View(path=SCHEDULE, operation="get_schedule", handler=show),
    View(path=f"{SCHEDULE}/pause", operation="pause_schedule", handler=pause, method="POST"),
    View(path=f"{SCHEDULE}/resume", operation="resume_schedule", handler=resume, method="POST"),
    View(path=f"{SCHEDULE}/trigger", operation="trigger_schedule", handler=trigger, method="POST"),
)

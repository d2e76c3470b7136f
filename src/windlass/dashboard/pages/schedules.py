"""Schedules: when they fire next, what they have started, and why one does not fire."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from windlass.api.checks import check
from windlass.dashboard import first
from windlass.dashboard.asking import Ask, Page, Redirect, View
from windlass.dashboard.payloads import payload
from windlass.model.page import ListRuns
from windlass.model.schedule import Schedule, ScheduleView
from windlass.model.schedule_commands import DeleteSchedule, PauseSchedule, ResumeSchedule, TriggerSchedule
from windlass.model.time import Instant
from windlass.rules import schedule_words as words
from windlass.rules.limits import check_name
from windlass.rules.workers import is_live


async def show_all(ask: Ask) -> Page:
    found = await ask.service.schedules.list_schedules(ask.namespace)
    late = await _why_late(ask)
    schedules = [described(view, now=ask.now, late=late) for view in found]
    values = {"title": "Schedules", "place": "schedules", "schedules": schedules, "first_schedule": first.SCHEDULE}
    return Page("schedules.html", values)


async def _why_late(ask: Ask) -> Callable[[Schedule], str]:
    """What to say of one that nobody fires."""
    workers = await ask.service.runs.list_workers(ask.namespace)
    has_workers = any(is_live(worker, now=ask.now) for worker in workers)
    is_enabled = (await ask.service.namespaces.get_namespace(ask.namespace)).is_enabled
    return partial(words.why_late, now=ask.now, has_workers=has_workers, is_disabled=not is_enabled)


def described(view: ScheduleView, *, now: Instant, late: Callable[[Schedule], str]) -> dict[str, Any]:
    standing = words.standing(view.schedule, now=now, grace=words.ON_TIME)
    why = words.why_not(view)
    if standing is words.Standing.LATE:
        why = late(view.schedule)
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
        "item": described(view, now=ask.now, late=await _why_late(ask)),
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


async def delete(ask: Ask) -> Redirect:
    command = DeleteSchedule(namespace=ask.namespace, name=_name(ask), by=ask.caller.key)
    await ask.service.schedules.delete_schedule(check(command))
    return Redirect(ask.to("schedules"), "deleted")


SCHEDULE = "/schedules/{name}"
VIEWS = (
    View(path="/schedules", operation="list_schedules", handler=show_all),
    View(path=SCHEDULE, operation="get_schedule", handler=show),
    View(path=f"{SCHEDULE}/pause", operation="pause_schedule", handler=pause, method="POST"),
    View(path=f"{SCHEDULE}/resume", operation="resume_schedule", handler=resume, method="POST"),
    View(path=f"{SCHEDULE}/trigger", operation="trigger_schedule", handler=trigger, method="POST"),
    View(path=f"{SCHEDULE}/delete", operation="delete_schedule", handler=delete, method="POST"),
)

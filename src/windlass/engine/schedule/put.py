"""Say what a schedule is to be: created, replaced, or declared by the code of a program."""

from __future__ import annotations

import logging

from msgspec.structs import replace

from windlass.engine.audit import Audit
from windlass.engine.parts import Parts
from windlass.engine.schedule.noting import noted
from windlass.engine.schedule.release import Released, release_all, tell_of_release
from windlass.errors import AlreadyExists
from windlass.model.run import Deed
from windlass.model.schedule import Overlap, Schedule, ScheduleStatus
from windlass.model.schedule_commands import Declare, PutSchedule
from windlass.model.time import SECOND, Instant
from windlass.notify.local import schedules_topic
from windlass.rules import schedules as rules
from windlass.rules.limits import check_person
from windlass.rules.schedule_limits import check_schedule
from windlass.rules.schedule_words import in_words
from windlass.store.base import Tx

LOGGER = logging.getLogger("windlass.coordinator")

News = tuple[int, str, str]  # a level of the log, the schedule that it is about, and what is said


async def put_schedule(parts: Parts, command: PutSchedule) -> None:
    check_schedule(command)
    audit, deed = Audit.of_caller("put_schedule"), Deed(by=check_person(command.by))

    async def put(tx: Tx) -> Released:
        given = new_schedule(command, now=await tx.now())
        was = await _lock_or_insert(tx, given, deed=deed)
        if was is None:
            await audit.note(tx, given.namespace, subject=given.name, after=in_words(given))
            return Released()
        if was.declared_in is not None or not (rules.is_same(was, given) or command.may_replace):
            raise _taken(was)
        if not rules.is_same(was, given) or was.error is not None:
            await audit.note(tx, was.namespace, subject=was.name, before=in_words(was), after=in_words(given))
        return await _change(tx, was, given, deed=deed)

    released = await parts.run_tx("put_schedule", put)
    tell_of_release(parts, released)
    parts.hub.publish(schedules_topic())


async def declare(parts: Parts, command: Declare) -> None:
    """One transaction: what the program says now, and what it says no more."""
    for schedule in command.schedules:
        check_schedule(schedule)
    audit, news = Audit.of_caller("declare"), list[News]()

    async def enter_all(tx: Tx) -> list[Released]:
        news.clear()
        await tx.workflows.declare(command.namespace, command.kept)
        now, said = await tx.now(), {item.name: item for item in command.schedules}
        known = {item.name for item in await tx.schedules.of_program(command.namespace, command.program)}
        released = []
        for name in sorted(said.keys() | known):
            if name not in said:
                news.extend(await _take_back(tx, command, name))
                continue
            given = replace(new_schedule(said[name], now=now), declared_in=command.program)
            was = await _lock_or_insert(tx, given)
            news.extend(_news(was, given))
            if was is not None:
                released.append(await _change(tx, was, given))
        if news:
            changed = ", ".join(name for _, name, _ in news)
            await audit.note(tx, command.namespace, subject=command.program, after=f"changed {changed}")
        return released

    for released in await parts.run_tx("declare", enter_all):
        tell_of_release(parts, released)
    for level, name, text in news:
        LOGGER.log(level, text, extra={"namespace": command.namespace, "schedule": name})
    if command.schedules:
        parts.hub.publish(schedules_topic())


def _news(was: Schedule | None, given: Schedule) -> list[News]:
    """What a deploy changes, said where whoever deploys looks. Raises AlreadyExists for one that was made by hand."""
    if was is None:
        return [(logging.INFO, given.name, f"Schedule {given.name!r} is new.")]
    if was.declared_in is None:
        raise _taken(was)
    if was.is_declared and was.declared_in != given.declared_in:
        told = f"Schedule {given.name!r} was declared in {was.declared_in}, and is now in {given.declared_in}."
        return [(logging.WARNING, given.name, f"{told} If both are in use, give one of them name=.")]
    if not was.is_declared:
        return [(logging.INFO, given.name, f"Schedule {given.name!r} is declared again.")]
    if rules.is_same(was, given):
        return []
    return [(logging.INFO, given.name, f"Schedule {given.name!r} has changed.")]


async def _lock_or_insert(tx: Tx, given: Schedule, *, deed: Deed | None = None) -> Schedule | None:
    """The schedule of that name under its lock. None: there was none, and now it is the one given."""
    while (was := await tx.schedules.lock(given.namespace, given.name)) is None:
        if await tx.schedules.insert(given):  # else somebody else was first
            await tx.log.append([noted(given, was=None, cause="create", deed=deed)])
            break
    return was


async def _change(tx: Tx, was: Schedule, given: Schedule, *, deed: Deed | None = None) -> Released:
    """Write a definition, unless it is the one we have, and that could be read."""
    if rules.is_same(was, given) and was.error is None:
        return Released()
    now = await tx.now()
    changed = rules.redefined(was, given, now=now)
    await tx.schedules.save(changed, was=was)
    await tx.log.append([noted(changed, was=was, cause="change", deed=deed)])
    if changed.overlap is Overlap.ALLOW and was.overlap is not Overlap.ALLOW:
        return await release_all(tx, changed, now=now)
    return Released()


async def _take_back(tx: Tx, command: Declare, name: str) -> list[News]:
    was = await tx.schedules.lock(command.namespace, name)
    if was is None or was.declared_in != command.program or not was.is_declared:
        return []
    gone = rules.undeclared(was)
    await tx.schedules.save(gone, was=was)
    await tx.log.append([noted(gone, was=was, cause="undeclared")])
    told = f"Schedule {name!r} is no longer declared in {command.program}, and paused."
    return [(logging.WARNING, name, f"{told} Declare it again, or: windlass schedules delete {name}")]


def new_schedule(command: PutSchedule, *, now: Instant) -> Schedule:
    return rules.activated(
        Schedule(
            namespace=command.namespace,
            name=command.name,
            workflow=command.workflow,
            version=command.version,
            queue=command.queue,
            input=command.input,
            input_hash=command.input_hash,
            timeout_for=command.timeout_for,
            timing=command.timing,
            anchor=Instant(now - now % SECOND),
            catch_up=command.catch_up,
            max_catch_up=command.max_catch_up,
            overlap=command.overlap,
            jitter=command.jitter,
            status=ScheduleStatus.ACTIVE,
            declared_in=None,
            is_declared=True,
            revision=1,
            last_slot=now,
            available_at=None,
            created_at=now,
            changed_at=now,
        ),
        last_slot=now,
    )


def _taken(was: Schedule) -> AlreadyExists:
    if was.declared_in is not None:
        text = f"Schedule {was.name!r} is declared in {was.declared_in!r}. Change it there, or use another name."
    else:
        what_to_do = "Use another name, or replace it: replace=True, or --replace."
        text = f"Schedule {was.name!r} exists with another definition. {what_to_do}"
    return AlreadyExists(text, reason="already_exists", owner=was.name)

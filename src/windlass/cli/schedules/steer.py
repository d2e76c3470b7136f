"""`windlass schedules pause`, `resume`, `trigger` and `delete`."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import click
from rich.text import Text as Line

from windlass.api.service import Control, Runs
from windlass.assembly import Opened
from windlass.cli import payloads
from windlass.cli import records as run_records
from windlass.cli.hints import waits_for_now
from windlass.cli.schedules import clocks, listing, records
from windlass.cli.schedules.names import name_argument
from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import escape
from windlass.cli.values import by_option, note_option, person
from windlass.client.handle import Door, Handle
from windlass.codec import Codec
from windlass.define.registry import Registry
from windlass.errors import InvalidInput
from windlass.model.run import RunId, RunView
from windlass.model.schedule import ScheduleView
from windlass.model.schedule_commands import DeleteSchedule, PauseSchedule, ResumeSchedule, TriggerSchedule
from windlass.rules.schedule_words import catching_up, why_not


@click.command(short_help="Start nothing more, until it is resumed.")
@name_argument
@by_option
@note_option
@shared_options
@click.pass_obj
def pause(session: Session, /, name: str, *, by: str | None, note: str | None) -> None:
    """Start nothing more of this schedule until it is resumed. Runs that were started go on."""

    async def hold(opened: Opened) -> tuple[ScheduleView, ScheduleView]:
        before = await opened.schedules.get_schedule(session.namespace, name)
        command = PauseSchedule(namespace=session.namespace, name=name, by=person(by), note=note)
        view = await opened.schedules.pause_schedule(command)
        return before, await _reported(session, opened, view)

    before, view = session.change(hold)
    if session.is_json:
        return
    if before.schedule.paused_at is not None:
        _say(session, f"Schedule {escape(name)} was paused before: {escape(why_not(view) or '')}.")
        return
    then = session.advise(f"windlass schedules resume {name}")
    _say(session, f"Schedule {escape(name)} is paused: it starts nothing until it is resumed. Then: {escape(then)}")


@click.command(short_help="Let a paused schedule go on.")
@name_argument
@click.option("--backfill", is_flag=True, help="What passed meanwhile was missed: its catch-up decides.")
@by_option
@shared_options
@click.pass_obj
def resume(session: Session, /, name: str, *, backfill: bool, by: str | None) -> None:
    """Let a paused schedule go on with its next time. What passed meanwhile is over, unless --backfill is given."""

    async def go_on(opened: Opened) -> tuple[ScheduleView, ScheduleView]:
        before = await opened.schedules.get_schedule(session.namespace, name)
        command = ResumeSchedule(namespace=session.namespace, name=name, backfill=backfill, by=person(by))
        view = await opened.schedules.resume_schedule(command)
        return before, await _reported(session, opened, view)

    before, view = session.change(go_on)
    if session.is_json:
        return
    what = "goes on" if before.schedule.status is not view.schedule.status else "was not paused"
    if before.schedule.error is not None and view.schedule.error is None:
        what = "goes on"
    _say(session, f"Schedule {escape(name)} {what}{_and_then(session, view)}.")
    if backfill and what == "goes on":
        _say(session, f"What passed meanwhile was missed. {catching_up(view.schedule)}")


def _and_then(session: Session, view: ScheduleView) -> str:
    now, dot = session.now(), session.screen.glyphs.dot
    if not view.next:
        return f"; it is {escape(why_not(view) or '')}"
    first = view.next[0]
    if first <= now:
        return "; it is due now"
    exact = clocks.in_short(first, view.schedule.timing, now=now)
    return f"; next {clocks.relative(first, now=now)} {dot} {escape(exact)}"


@click.command(short_help="Start a run of it now.")
@name_argument
@click.option("--wait", "is_waiting", is_flag=True, help="Wait for the result, and print it.")
@by_option
@shared_options
@click.pass_obj
def trigger(session: Session, /, name: str, *, is_waiting: bool, by: str | None) -> None:
    """Start a run of this schedule now, also while it is paused, and print its id. Its times stay as they are."""

    async def begin(opened: Opened) -> None:
        command = TriggerSchedule(namespace=session.namespace, name=name, by=person(by))
        run_id = (await opened.schedules.trigger_schedule(command)).run_id
        if not session.is_json:
            session.screen.write(f"{run_id}\n")  # before the wait: whoever interrupts it has the id
        if is_waiting:
            await _until_over(session, opened, run_id)
        view = await opened.runs.get_run(session.namespace, run_id)
        if session.is_json:
            waits_for = await waits_for_now(opened.runs, view, now=session.now())
            session.screen.write_json(run_records.view(view, waits_for=waits_for))
        elif is_waiting:
            _print_result(session, view)

    session.change(begin)


async def _until_over(session: Session, opened: Opened, run_id: RunId) -> None:
    """Raises what `handle.result()` raises."""

    async def runs() -> Runs:
        return opened.runs

    async def control() -> Control:
        return opened.control

    door = Door(
        runs=runs,
        control=control,
        to_change=control,
        namespace=session.namespace,
        codec=Codec(),
        registry=Registry(),
        clock=session.clock,
        new_id=opened.ids.message,
        worker_command=lambda workflow: "windlass worker MODULE:APP",
    )
    with suppress(InvalidInput):  # sealed by the codec of a program: it is over all the same
        await Handle[Any](door, run_id=run_id, is_known=True).result()


def _print_result(session: Session, view: RunView) -> None:
    lines = payloads.lines(view.output or b"null", width=session.screen.width, is_full=True)
    session.screen.write(session.screen.draw_whole(*map(Line, lines)))


@click.command(short_help="Forget a schedule.")
@name_argument
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@by_option
@shared_options
@click.pass_obj
def delete(session: Session, /, name: str, *, is_sure: bool, by: str | None) -> None:
    """Forget a schedule. Its runs stay, except one that waits for another of them: that is cancelled.

    Asks once on a terminal; elsewhere --yes is needed.
    """

    view = session.change(lambda opened: opened.schedules.get_schedule(session.namespace, name))
    if not is_sure:
        _ask(session, view)
    command = DeleteSchedule(namespace=session.namespace, name=name, by=person(by))
    session.change(lambda opened: opened.schedules.delete_schedule(command))
    if session.is_json:
        session.screen.write_json({"name": name, "is_deleted": True, "cancelled": list(view.queued)})
        return
    _say(session, f"Schedule {escape(name)} is deleted; its runs stay.{_queued(view)}")
    if view.schedule.declared_in is not None and view.schedule.is_declared:
        session.warn(f"It is declared in {view.schedule.declared_in!r}: the next worker of that code makes it anew.")


def _queued(view: ScheduleView) -> str:
    return "" if not view.queued else f" {view.queued[0]}, which waited for another, is cancelled."


def _ask(session: Session, view: ScheduleView) -> None:
    """Raises Abort if the answer is no."""
    name = escape(view.schedule.name)
    if session.is_json or not (session.screen.is_terminal and sys.stdin.isatty()):
        raise click.UsageError(f"Deleting {name} cannot be taken back: say --yes where nobody can be asked.")
    fired = "1 time" if view.schedule.fired == 1 else f"{view.schedule.fired:,} times"
    if not click.confirm(f"Delete schedule {name}? It has fired {fired}.", err=True):
        raise click.ClickException("Nothing was deleted.")


async def _reported(session: Session, opened: Opened, view: ScheduleView) -> ScheduleView:
    if session.is_json:
        item = await listing.item_of(session, opened, view)
        session.screen.write_json(records.schedule(view, standing=item.standing, why=item.why, last=item.last))
    return view


def _say(session: Session, text: str) -> None:
    session.screen.write(session.screen.draw_whole(Line(text)))

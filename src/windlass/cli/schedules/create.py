"""`windlass schedules create NAME WORKFLOW [ARGUMENT]…`: start runs at these times, until it is paused or deleted."""

from __future__ import annotations

from typing import Any, TypeVar

import click
from msgspec.structs import replace
from rich.text import Text as Line

from windlass.api.service import Runs
from windlass.assembly import Opened
from windlass.cli import payloads
from windlass.cli.apps import check_target, take_app
from windlass.cli.hints import served_now, unserved
from windlass.cli.schedules import clocks, listing, records
from windlass.cli.schedules.names import find_or_none, name_argument
from windlass.cli.session import OpenEngine, Session, Text, shared_options
from windlass.cli.start import typed
from windlass.cli.terminal import escape
from windlass.cli.values import Json, Span, Value, by_option, person
from windlass.codec import Codec
from windlass.define.schedule import CAUGHT_UP, Plan, read_plan, schedule_command
from windlass.errors import InvalidInput, NotAllowed
from windlass.model.duration import to_duration
from windlass.model.schedule import CatchUp, Overlap, ScheduleView
from windlass.model.schedule_commands import PutSchedule
from windlass.rules.limits import check_name, check_queue
from windlass.rules.schedule_limits import MOST_CAUGHT_UP
from windlass.rules.schedule_words import times

Command = TypeVar("Command", bound=Any)

CATCH_UPS = click.Choice([choice.value for choice in CatchUp])
OVERLAPS = click.Choice([choice.value for choice in Overlap])
DEFAULT_QUEUE = "default"
PLAN = ("cron", "every", "tz", "catch_up", "max_catch_up", "overlap", "jitter")


def _check_workflow(name: str) -> str:
    return check_name(name, what="workflow name")


def timing_options(command: Command) -> Command:
    """Add --cron, --every and --tz."""
    for option in (
        click.option("--tz", type=Text(), default="UTC", show_default=True, help="On whose clocks: Europe/Rome."),
        click.option("--every", type=Span(), help='So often, in elapsed time: "10m", "1h30m", "7d".'),
        click.option("--cron", type=Text(), help='Minute, hour, day, month, weekday: "0 9 * * MON-FRI".'),
    ):
        command = option(command)
    return command


def checked_plan(cron: str | None, every: str | None, **options: Any) -> Plan:
    """The options of a schedule. Raises UsageError, naming the one that is wrong."""
    if (cron is None) == (every is None):
        raise click.UsageError('Give --cron "0 9 * * *" or --every 10m, and one of them only.')
    try:
        return read_plan(cron=cron, every=every, **options)
    except InvalidInput as refused:
        raise click.UsageError(str(refused)) from None


@click.command(short_help="Make a schedule.")
@name_argument
@click.argument("workflow", metavar="WORKFLOW", type=Text(_check_workflow))
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1, type=Json())
@timing_options
@click.option("--catch-up", type=CATCH_UPS, default="latest", show_default=True, help="Of times that were missed.")
@click.option(
    "--max-catch-up", type=click.IntRange(1, MOST_CAUGHT_UP), default=CAUGHT_UP, show_default=True, metavar="NUMBER",
    help="The most of them, with --catch-up all.",
)  # fmt: skip
@click.option("--overlap", type=OVERLAPS, default="skip", show_default=True, help="While a run of it is not over.")
@click.option("--jitter", type=Span(), help="Begin up to this long after each time.")
@click.option("--queue", type=Text(check_queue), help="Of its runs.  [default: the workflow's own with --app]")
@click.option("--timeout", type=Span(allow_zero=False), help="How long each run may take.")
@click.option("--app", "target", metavar="MODULE:APP", type=Text(check_target), help="Check and seal by this app.")
@click.option("--replace", "may_replace", is_flag=True, help="Change one of that name, if there is one.")
@by_option
@shared_options
@click.pass_obj
def create(
    session: Session, /, name: str, workflow: str, arguments: tuple[Value, ...], *, target: str | None, **options: Any
) -> None:
    """Make a schedule that starts runs of WORKFLOW, until it is paused or deleted. The same again changes nothing.

    An ARGUMENT is a JSON value, or a word that is taken as text. With --app the workflow and its arguments are checked
    as its code declares them; without, they are stored as they are. What begins with a dash goes behind a "--" of its
    own.
    """
    plan = checked_plan(**{key: options[key] for key in PLAN})
    if target is None:
        command = _unchecked(session, name, workflow, arguments, plan)
        session.refuse_missing_file()
    else:
        command = _checked(session, target, name, workflow, arguments, plan)
    timeout = options["timeout"]
    command = replace(
        command,
        queue=options["queue"] or command.queue,
        timeout_for=command.timeout_for if timeout is None else to_duration(timeout),
        may_replace=options["may_replace"],
        by=person(options["by"]),
    )

    async def put(open: OpenEngine) -> None:
        opened = await open()
        before = await find_or_none(opened.schedules, session.namespace, name)
        view = await opened.schedules.put_schedule(command)
        await _warn_if_unserved(session, opened.runs, command)
        await _tell(session, opened, view, before=before)

    session.change_later(put)


def _unchecked(session: Session, name: str, workflow: str, arguments: tuple[Value, ...], plan: Plan) -> PutSchedule:
    stored, hashed = Codec().encode_hashed(tuple(value.value for value in arguments))
    return PutSchedule(
        namespace=session.namespace,
        name=name,
        workflow=workflow,
        version="",
        queue=DEFAULT_QUEUE,
        input=stored,
        input_hash=hashed,
        timeout_for=None,
        timing=plan.timing,
        catch_up=plan.catch_up,
        max_catch_up=plan.max_catch_up,
        overlap=plan.overlap,
        jitter=plan.jitter,
    )


def _checked(
    session: Session, target: str, name: str, workflow: str, arguments: tuple[Value, ...], plan: Plan
) -> PutSchedule:
    app = take_app(session, target)
    if session.location.target == ":memory:":
        raise NotAllowed(f"{target} keeps what it knows in memory: this would be gone when the command ends.")
    definition = app._registry.find_workflow(workflow)
    given = typed(definition, arguments)
    return schedule_command(name, definition, given, plan, namespace=session.namespace, codec=app._codec)


async def _warn_if_unserved(session: Session, runs: Runs, command: PutSchedule) -> None:
    """It may be made before the first worker comes; but runs that nobody takes may be a slip."""
    lanes = await served_now(runs, namespace=session.namespace, now=session.now())
    slip = unserved(lanes, workflow=command.workflow, version=command.version, queue=command.queue)
    if slip is not None:
        session.warn(slip)


async def _tell(session: Session, opened: Opened, view: ScheduleView, *, before: ScheduleView | None) -> None:
    item = await listing.item_of(session, opened, view)
    if session.is_json:
        is_new = before is None
        is_changed = before is not None and before.schedule.revision != view.schedule.revision
        record = records.schedule(view, standing=item.standing, why=item.why, last=item.last)
        session.screen.write_json({**record, "is_new": is_new, "is_changed": is_changed})
        return
    schedule = view.schedule
    call = payloads.call(schedule.workflow, schedule.input, width=session.screen.width)
    what = "was like this before"
    if before is None:
        what = "is made"
    elif before.schedule.revision != schedule.revision:
        what = "is changed"
    starts = " ".join(line.strip() for line in call)
    then = f"; next {clocks.relative(view.next[0], now=session.now())}" if view.next else f"; {item.why}"
    text = f"Schedule {escape(schedule.name)} {what}: {starts} {escape(times(schedule.timing) + then)}."
    lines = [Line(text)]
    if view.next:
        lines.append(Line(f"  {clocks.in_full(view.next[0], schedule.timing)}", style="bright_black"))
    session.screen.write(session.screen.draw_whole(*lines))

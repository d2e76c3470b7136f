"""When a database counts as in order, and what looks after it. Failed means wrong; a warning means: look at it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from windlass.model.checkup import Check, Cursor, FeedState, Grade, Holder, Kept, PipelineState
from windlass.model.duration import between, describe, from_instant, moment
from windlass.model.pipeline import Pipeline, PipelineStatus
from windlass.model.schedule import Schedule, ScheduleStatus
from windlass.model.time import HOUR, MINUTE, SECOND, Duration, Instant
from windlass.model.worker import Standing, Worker
from windlass.rules.workers import LIVE_FOR, standing

SAFE_SQLITE = (3, 51, 3)  # before it, two connections that write and checkpoint at once can lose committed data
FULL, EXTRA = "2", "3"  # how SQLite spells synchronous
SYNCHRONOUS = {"0": "off", "1": "normal", FULL: "full", EXTRA: "extra"}
LARGEST_SKEW = Duration(5 * SECOND)
SHOWN_SUBJECTS, SHOWN_DAMAGE, SHOWN_WORKERS, SHOWN_SCHEDULES, SHOWN_PIPELINES = 3, 10, 5, 5, 5
# What a coordinator should have done by now: it looks every few seconds.
LATE_FOR = MINUTE
ATTENDED_LATE_FOR = HOUR  # a person takes longer
REMOVED_LATE_FOR = HOUR  # what has gathered while nobody removed anything takes a while
MANY_ENDED = 1_000_000
MOST_COUNTED = 1_000  # runs that are past their time-out
UNATTENDED = "no coordinator runs: start a worker"  # which brings one


def settings(*, file: str | None, variables: Sequence[str], warnings: Sequence[str]) -> Check:
    """Where settings come from, by name and never by value: one of them may hold a password."""
    read = [*([file] if file else []), *sorted(variables)]
    said = f"read from {', '.join(read)}" if read else "all are defaults: no windlass.toml here"
    if not warnings:
        return _good("settings", said if read else f"{said}, no WINDLASS_ variable")
    many = "1 WINDLASS_ variable has" if len(warnings) == 1 else f"{len(warnings)} WINDLASS_ variables have"
    return _warning("settings", f"{said}; {many} no effect", details=_first(warnings, SHOWN_DAMAGE))


def schema(*, found: int, known: int) -> Check:
    """A database that is behind is not examined further than its files: its tables are those of another version."""
    if found == known:
        return _good("schema", f"version {found}, which is the newest this Windlass knows")
    state = f"version {found}" if found else "there is none"
    return _failed("schema", f"{state}, and this Windlass needs {known}: windlass migrate")


def unreadable(name: str, reason: str) -> Check:
    return _failed(name, reason)


def skipped(name: str, reason: str) -> Check:
    return Check(name=name, grade=Grade.SKIPPED, text=reason)


def files(damage: Sequence[str], *, settings: Mapping[str, str]) -> Check:
    """What the database says about its own files."""
    if damage:
        many = "1 damage" if len(damage) == 1 else f"{len(damage)} damages"
        text = f"SQLite finds {many}: keep a copy of all files, and restore from a backup"
        return _failed("files", text, details=_first(damage, SHOWN_DAMAGE))
    if "sqlite_version" in settings:
        return _good("files", "SQLite finds no damage (integrity_check, foreign_key_check)")
    checksums = f"page checksums are {settings.get('data_checksums', 'unknown')}"
    return _good("files", f"PostgreSQL judges its files itself, as it reads them; {checksums}")


def tables(*, missing: Sequence[str], foreign: Sequence[str]) -> Check:
    """Whether everything is there that should be, and nothing that acts by itself: a trigger can do anything."""
    if not missing and not foreign:
        return _good("tables", "all are there, and nothing acts on them but Windlass")
    text = "not as Windlass made them. Keep a copy; drop what is foreign, and restore what is missing from a backup"
    details = _first([f"missing: {name}" for name in missing], SHOWN_DAMAGE)
    return _failed("tables", text, details=details + _first([f"foreign: {name}" for name in foreign], SHOWN_DAMAGE))


def consistency(broken: Sequence[tuple[str, str]]) -> Check:
    """The engine's own rules: (rule, subject) for each row that breaks one."""
    if not broken:
        return _good("consistency", "every row agrees with every other")
    subjects: dict[str, list[str]] = {}
    for rule, subject in broken:
        subjects.setdefault(rule, []).append(subject)
    rules = "1 rule is" if len(subjects) == 1 else f"{len(subjects)} rules are"
    text = (
        f"{rules} broken, which no crash can do: rows were changed by hand or lost, or this is a bug in Windlass. "
        "Keep a copy, and report it"
    )
    return _failed("consistency", text, details=tuple(_broken(rule, found) for rule, found in subjects.items()))


def _broken(rule: str, subjects: Sequence[str]) -> str:
    shown = ", ".join(_first(subjects, SHOWN_SUBJECTS))
    return f"{rule}: {len(subjects):,} {'time' if len(subjects) == 1 else 'times'}: {shown}"


def durability(settings: Mapping[str, str]) -> Check:
    """Whether what is committed survives a power cut, by the settings as the database gives them back."""
    if "sqlite_version" in settings:
        mode, synchronous = settings.get("journal_mode", "?"), settings.get("synchronous", "?")
        said = f"journal_mode = {mode}, synchronous = {SYNCHRONOUS.get(synchronous, synchronous)}"
        is_good = mode == "wal" and synchronous in (FULL, EXTRA)
        wanted = "wal and full are expected; opening the database with Windlass sets them"
    else:
        names = ("fsync", "synchronous_commit", "full_page_writes")
        said = ", ".join(f"{name} = {settings.get(name, '?')}" for name in names)
        is_good = all(settings.get(name, "?") != "off" for name in names)
        wanted = "with one of them off, a power cut can take what was committed"
    return _good("durability", said) if is_good else _warning("durability", f"{said}: {wanted}")


def read_only() -> tuple[Check, ...]:
    """Of a file that the one who looks may not write: a copy, or a database of another user."""
    text = "the file or its folder is read-only here: it can be read, but no worker runs and nothing can be changed"
    return _warning("access", text), skipped("durability", "nothing is written here")


def library(settings: Mapping[str, str]) -> Check:
    """Which database this is, and whether that version is known to lose data."""
    version = settings.get("sqlite_version")
    if version is None:
        return _good("version", f"PostgreSQL {settings.get('server_version', '?')}")
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if (3, 7, 0) <= numbers < SAFE_SQLITE:
        safe = ".".join(map(str, SAFE_SQLITE))
        text = f"SQLite {version} can lose commits of two processes; {safe} is safe: pip install -U apsw"
        return _warning("version", text)
    return _good("version", f"SQLite {version}")


def workers(found: Sequence[Worker], *, now: Instant, silent_for: Duration = LIVE_FOR) -> Check:
    """A worker that neither stopped nor says anything has died, is stuck, or cannot reach the database.

    Coordinators mark it offline; where it is there still after a while, none runs.
    """
    standings = [(standing(worker, now=now, silent_for=silent_for), worker) for worker in found]
    alive = sum(stands in (Standing.ONLINE, Standing.DRAINING) for stands, _ in standings)
    silent = sorted(
        (worker for stands, worker in standings if stands is Standing.SILENT), key=lambda item: item.seen_at
    )
    live = "1 is alive" if alive == 1 else f"{alive} are alive" if alive else "none is alive"
    if not silent:
        return _good("workers", live)
    text = f"{live}, {len(silent)} silent: dead, stuck or cut off"
    if now - silent[0].seen_at > silent_for + LATE_FOR:
        text += f"; {UNATTENDED}"
    return _warning("workers", text, details=_first([_silent(worker, now=now) for worker in silent], SHOWN_WORKERS))


def _silent(worker: Worker, *, now: Instant) -> str:
    return f"{worker.id} on {worker.host} (pid {worker.pid}), for {describe(_seconds(now - worker.seen_at))}"


def schedules(found: Sequence[Schedule], *, now: Instant) -> Check:
    """Whether they fire: on time, at times that can be computed, and as their code wants it."""
    active = [schedule for schedule in found if schedule.status is ScheduleStatus.ACTIVE]
    if not found:
        return _good("schedules", "there are none")
    paused = len(found) - len(active)
    said = f"{len(active)} active" + (f", {paused} paused" if paused else "")
    late = [_late(item, now=now) for item in active if _is_late(item, now=now)]
    late += [_ahead(item) for item in active if item.last_slot - now > LATE_FOR]
    unreadable = [_without_times(item) for item in found if item.error is not None]
    undeclared = [_undeclared(item) for item in found if not item.is_declared]
    count = len(late) + len(unreadable) + len(undeclared)
    if not count:
        return _good("schedules", said)
    details = [line for lines in (late, unreadable, undeclared) for line in _first(lines, SHOWN_SCHEDULES)]
    said += "; 1 needs a look" if count == 1 else f"; {count} need a look"
    return _warning("schedules", said, details=tuple(details))


def _is_late(schedule: Schedule, *, now: Instant) -> bool:
    return schedule.available_at is not None and now - schedule.available_at > LATE_FOR


def _late(schedule: Schedule, *, now: Instant) -> str:
    due_at = schedule.available_at or now
    since = f"since {moment(due_at, now=now)} ({between(due_at, now)})"
    return f"{_name(schedule)} has been due {since}; {UNATTENDED}"


def _ahead(schedule: Schedule) -> str:
    """The clock was wrong once: every time until then counts as done with."""
    until = from_instant(schedule.last_slot).isoformat(sep=" ", timespec="seconds")
    return f"{_name(schedule)} fires nothing before {until}: the clock was ahead once; pause it and resume it"


def _without_times(schedule: Schedule) -> str:
    """To resume it would only compute the same times again, and find the same."""
    if schedule.declared_in is None:
        where = f": windlass schedules create {schedule.name} … --replace"
    else:
        where = f" in {schedule.declared_in}, where it is declared"
    return f"{_name(schedule)} has no next time: {(schedule.error or '').rstrip('.')}; give it other times{where}"


def _undeclared(schedule: Schedule) -> str:
    where = f" in {schedule.declared_in}" if schedule.declared_in else ""
    return f"{_name(schedule)} is no longer declared{where}, and paused: declare it again, or delete it"


def pipelines(found: Sequence[PipelineState], *, unheard: Sequence[str], now: Instant) -> Check:
    """Whether they go on: somebody executes them, and nobody is waited for. `unheard`: published, to no subscriber."""
    told = [f"topic {name} is published, and nobody subscribes to it" for name in unheard]
    notes = _first(told, SHOWN_PIPELINES)  # as somebody may have meant it
    if not found:
        return Check(name="pipelines", grade=Grade.GOOD, text="there are none", details=notes)
    paused = sum(state.pipeline.is_paused for state in found)
    declared = sum(state.pipeline.is_declared for state in found)
    said = f"{declared} declared" + (f", {paused} paused" if paused else "")
    kinds = (
        [_unattended(state, now=now) for state in found if _is_overdue(state, now=now)],
        [_waiting(state.pipeline, now=now) for state in found if _is_waiting(state.pipeline, now=now)],
        [_stale(state) for state in found if state.stale],
        [_gone(state.pipeline) for state in found if not state.pipeline.is_declared and state.pipeline.run_id],
    )
    count = sum(map(len, kinds))
    if not count:
        return Check(name="pipelines", grade=Grade.GOOD, text=said, details=notes)
    said += "; 1 needs a look" if count == 1 else f"; {count} need a look"
    details = [line for lines in kinds for line in _first(lines, SHOWN_PIPELINES)]
    return _warning("pipelines", said, details=(*details, *notes))


def _is_overdue(state: PipelineState, *, now: Instant) -> bool:
    due_at = state.pipeline.available_at
    return due_at is not None and not state.is_closed and now - due_at > LATE_FOR


def _unattended(state: PipelineState, *, now: Instant) -> str:
    pipeline, due_at = state.pipeline, state.pipeline.available_at or now
    since = f"since {moment(due_at, now=now)} ({between(due_at, now)})"
    if pipeline.status is PipelineStatus.RUNNING:
        what = f"{_name(pipeline)} was left by worker {pipeline.worker}, and nobody has taken it over {since}"
    else:
        what = f"{_name(pipeline)} has been due {since}, and nobody has begun"
    if state.is_served:
        return f"{what}; its workers are busy: see windlass workers"
    return f"{what}: start a worker of {pipeline.declared_in}, as it was declared last"


def _is_waiting(pipeline: Pipeline, *, now: Instant) -> bool:
    is_held = pipeline.status is PipelineStatus.ATTENTION and not pipeline.is_paused
    return is_held and now - pipeline.changed_at > ATTENDED_LATE_FOR


def _waiting(pipeline: Pipeline, *, now: Instant) -> str:
    since = f"since {moment(pipeline.changed_at, now=now)} ({between(pipeline.changed_at, now)})"
    issue = "" if pipeline.issue is None else f" ({pipeline.issue.value.replace('_', ' ')})"
    return f"{_name(pipeline)} has waited for a person {since}{issue}: windlass explain {pipeline.name}"


def _stale(state: PipelineState) -> str:
    inputs = "1 input has" if state.stale == 1 else f"{state.stale:,} inputs have"
    name = state.pipeline.name
    return f"{inputs} waited in {_name(state.pipeline)} for more than a week: windlass inputs {name}"


def _gone(pipeline: Pipeline) -> str:
    where = f"in {pipeline.declared_in}"
    return f"{_name(pipeline)} is no longer declared {where}, and was at something: declare it again"


def _name(item: Schedule | Cursor | Pipeline) -> str:
    return f"{item.name!r}" if item.namespace == "default" else f"{item.name!r} ({item.namespace})"


def timeouts(late: Sequence[str]) -> Check:
    """Runs whose time-out passed a while ago, and that nobody holds and nobody has ended: at most MOST_COUNTED + 1."""
    if not late:
        return _good("time-outs", "no run is past its own")
    runs, them = ("1 run is", "it") if len(late) == 1 else (f"{len(late):,} runs are", "them")
    if len(late) > MOST_COUNTED:
        runs = f"more than {MOST_COUNTED:,} runs are"
    shown = _first(late[:MOST_COUNTED], SHOWN_SUBJECTS)
    return _warning("time-outs", f"{runs} past a time-out, and nobody has ended {them}; {UNATTENDED}", details=shown)


def retention(kept: Kept, *, now: Instant) -> Check:
    """Whether what is over is removed as it should be; where nothing is, whether that becomes too much."""
    runs = "1 ended run is" if kept.ended == 1 else f"{kept.ended:,} ended runs are" if kept.ended else "ended runs are"
    text = f"{runs} {_limits(kept)}"
    if kept.limit is None and not kept.own_limits and kept.ended > MANY_ENDED:
        return _warning("retention", f"{text}: set WINDLASS_RETENTION_KEEP_SECS, or keep= of workflows")
    details = [_waited_for(cursor, now=now) for cursor in kept.cursors] if kept.unread else []
    if kept.unread:
        text += f"; {kept.unread:,} should be gone, and wait for a reader of the log: let it go on, or drop its cursor"
    if kept.late > kept.unread:
        text += f"; {kept.late - kept.unread:,} should be gone: {UNATTENDED}"
    return _warning("retention", text, details=tuple(details)) if kept.late else _good("retention", text)


def _limits(kept: Kept) -> str:
    default = "kept for ever" if kept.limit is None else f"kept for {describe(kept.limit)}"
    if not kept.own_limits:
        return default
    others = "1 workflow has" if kept.own_limits == 1 else f"{kept.own_limits} workflows have"
    return f"{default} ({others} a limit of {'its' if kept.own_limits == 1 else 'their'} own)"


def _waited_for(cursor: Cursor, *, now: Instant) -> str:
    return f"cursor {_name(cursor)} has stood at entry {cursor.seq:,} for {between(cursor.moved_at, now)}"


def feed(state: FeedState, *, now: Instant) -> Check:
    """Whether those who follow the log are told in time: one old transaction holds up all that is written behind it."""
    if state.ahead:
        many = "1 entry is" if state.ahead == 1 else f"{state.ahead:,} entries are"
        text = f"{many} from another server, and not told of: see docs/how-to/postgresql.md, after a restore"
        return _warning("feed", text)
    held_for = 0 if state.held_since is None else now - state.held_since
    if held_for <= LATE_FOR:
        return _good("feed", "whoever follows the log is told at once")
    text = f"nothing is told of the last {describe(_seconds(held_for))}: an older transaction is open; end it"
    old = [holder for holder in state.holders if holder.open_for > LATE_FOR]
    return _warning("feed", text, details=_first([_holder(holder) for holder in old], SHOWN_WORKERS))


def _holder(holder: Holder) -> str:
    who = f"pid {holder.pid} ({holder.application or 'no name'}" if holder.pid else f"nobody ({holder.application}"
    where = f"{holder.person} in {holder.database}"
    return f"{who}, {where}): {holder.state}, for {describe(_seconds(holder.open_for))}"


def clocks(*, store: Instant, here: Instant) -> Check:
    """The store's clock decides; this machine's stands in logs, and beside times people compare."""
    skew = Duration(abs(store - here))
    if skew <= LARGEST_SKEW:
        return _good("clock", "the database and this machine agree")
    order = "ahead of" if store > here else "behind"
    text = f"the database's is {describe(_seconds(skew))} {order} this machine's; only the database's decides"
    return _warning("clock", text)


def _seconds(span: int) -> Duration:
    return Duration(span // SECOND * SECOND)


def _first(items: Sequence[str], limit: int) -> tuple[str, ...]:
    rest = len(items) - limit
    return (*items[:limit], *((f"and {rest:,} more",) if rest > 0 else ()))


def _good(name: str, text: str) -> Check:
    return Check(name=name, grade=Grade.GOOD, text=text)


def _warning(name: str, text: str, *, details: tuple[str, ...] = ()) -> Check:
    return Check(name=name, grade=Grade.WARNING, text=text, details=details)


def _failed(name: str, text: str, *, details: tuple[str, ...] = ()) -> Check:
    return Check(name=name, grade=Grade.FAILED, text=text, details=details)

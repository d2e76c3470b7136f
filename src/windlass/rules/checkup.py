"""When a database counts as in order. Failed means wrong; a warning means: look at it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from windlass.model.checkup import Check, Grade
from windlass.model.duration import describe
from windlass.model.time import SECOND, Duration, Instant
from windlass.model.worker import Worker
from windlass.rules.workers import is_live

SAFE_SQLITE = (3, 51, 3)  # before it, two connections that write and checkpoint at once can lose committed data
FULL, EXTRA = "2", "3"  # how SQLite spells synchronous
SYNCHRONOUS = {"0": "off", "1": "normal", FULL: "full", EXTRA: "extra"}
LARGEST_SKEW = Duration(5 * SECOND)
SHOWN_SUBJECTS, SHOWN_DAMAGE, SHOWN_WORKERS = 3, 10, 5


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


def workers(found: Sequence[Worker], *, now: Instant) -> Check:
    """A worker that neither stopped nor says anything has died, is stuck, or cannot reach the database."""
    registered = [worker for worker in found if worker.stopped_at is None]
    silent = sorted(
        (worker for worker in registered if not is_live(worker, now=now)), key=lambda worker: worker.seen_at
    )
    alive = len(registered) - len(silent)
    live = "1 is alive" if alive == 1 else f"{alive} are alive" if alive else "none is alive"
    if not silent:
        return _good("workers", live)
    return _warning(
        "workers",
        f"{live}, {len(silent)} silent: dead, stuck or cut off",
        details=_first([_silent(worker, now=now) for worker in silent], SHOWN_WORKERS),
    )


def _silent(worker: Worker, *, now: Instant) -> str:
    return f"{worker.id} on {worker.host} (pid {worker.pid}), for {describe(_seconds(now - worker.seen_at))}"


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

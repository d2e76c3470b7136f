"""Tell a story to the reference and to every database, and compare after each operation what was answered and written.

A difference is told as a test: the shortest story that shows it, ready to be pasted into test_found.py.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from operator import attrgetter
from typing import Any

from tests.lives.faults import Moment
from tests.model.author import Author
from tests.model.context import KEYS_EXPIRE_FOR, MAX_RECOVERIES, NAMESPACE, Call, Context
from tests.model.operations import Advance, Crash, Jump
from tests.model.reference import Reference
from tests.model.shrink import Difference, literal, shortest
from tests.model.state import ANYTHING, Refused
from tests.model.subject import Stores, Subject
from windlass.testing.clock import FakeClock

TABLES = ("runs", "payloads", "steps", "log", "keys", "workers", "inbox", "gates", "schedules")
RARE = {
    "payloads": (
        *("start_run", "suspend_run", "finish_run", "claim_runs"),
        *("hold_run", "resume_run", "cancel_run", "retry_run"),
        *("fire_schedules", "trigger_schedule", "delete_schedule"),
    ),
    "steps": ("begin_step", "complete_step", "suspend_run", "retry_run"),
    "keys": ("start_run", "retry_run"),
    "workers": (
        *("register_worker", "heartbeat", "deregister_worker"),
        *("probe_workers", "drain_worker", "expire_workers"),
    ),
    "inbox": ("send_event", "decide", "suspend_run", "retry_run"),
    "gates": ("register_worker", "set_gate"),
    "schedules": (
        *("put_schedule", "pause_schedule", "resume_schedule", "delete_schedule", "fire_schedules"),
        *("claim_runs", "finish_run", "cancel_run"),  # what ends may let it go on
    ),
}
READS = ("get_run", "list_steps", "read_log", "list_messages", "wait_for_result")
NOT_REPEATED = ("walk_runs", "look_at_claims")
MOST_LINES = 12  # of one difference


@dataclass
class Tally:
    """What was tried, for the figures."""

    stories: int = 0
    operations: int = 0
    answers: int = 0  # compared, on each database
    refusals: int = 0  # of them, errors
    crashes: int = 0
    inside: int = 0  # of them, in the middle of a transaction
    jumps: int = 0
    back: int = 0  # of them, backward
    done: Counter[str] = field(default_factory=Counter)  # calls that were answered with a yes


def tell(story: Sequence[Any], stores: Stores, *, kind: type[Subject] = Subject) -> None:
    """Raises Difference at the first operation after which someone differs."""
    clock = FakeClock()
    with stores.subjects(clock, kind) as subjects:
        telling = Telling(subjects, clock, Tally())
        for operation in story:
            telling.do(operation)
        telling.end()


def make_up(
    author: Author, stores: Stores, *, length: int, kind: type[Subject] = Subject, tally: Tally | None = None
) -> None:
    """Tell a story that is made up on the way. If someone differs, tell it shorter and shorter, and raise that."""
    clock = FakeClock()
    try:
        with stores.subjects(clock, kind) as subjects:
            telling = Telling(subjects, clock, tally or Tally())
            for _ in range(length):
                telling.do(author.next(telling.context))
            telling.end()
    except Difference as found:
        raise shortest(found, lambda story: tell(story, stores, kind=kind)) from None


class Telling:
    """One story on its way, with everyone who hears it."""

    def __init__(self, subjects: Sequence[Subject], clock: FakeClock, tally: Tally) -> None:
        self._subjects, self._clock, self._tally = subjects, clock, tally
        self._model = Reference(max_recoveries=MAX_RECOVERIES, keys_expire_for=KEYS_EXPIRE_FOR, now=clock.now())
        self._story: list[Any] = []
        self.context = Context(self._model, 0)

    def do(self, operation: Any) -> None:
        self._story.append(operation)
        self.context.place += 1
        self._tally.operations += 1
        match operation:
            case Advance(span=span):
                self._clock.advance(span)
            case Jump(span=span):
                self._clock.jump(span)
                self._tally.jumps += 1
                self._tally.back += span < 0
        self._model.now = self._clock.now()
        call = operation.call(self.context)
        if isinstance(operation, Crash):
            self._die(call, operation.moment)
        elif call is not None:
            self._ask(call)
        if call is not None and call.name not in NOT_REPEATED:
            self.context.asked.append(call)
        if call is not None:
            # What few calls touch is looked at after those, and once more at the end.
            self._compare_rows(*(table for table in TABLES if table not in RARE or call.name in RARE[table]))

    def end(self) -> None:
        """Ask whatever may be read at the doors, and look at every row."""
        self._compare_rows(*TABLES)
        # Of each run something else: rows were compared, and what is read of one is read of all.
        for number, run_id in enumerate(self._model.runs, start=len(self._story)):
            name = READS[number % len(READS)]
            self._ask(Call(name, (NAMESPACE, run_id, 0) if name == "wait_for_result" else (NAMESPACE, run_id)))
        for key in ("a", "b"):
            self._ask(Call("find_run", (NAMESPACE, key)))
        self._ask(Call("list_workers", (NAMESPACE,)))
        self._ask(Call("list_gates", (NAMESPACE,)))
        for subject in self._subjects:
            self._fail_on(subject, "rows that cannot be", subject.inconsistencies())
        self._tally.stories += 1

    def _ask(self, call: Call) -> None:
        answers = [(subject, subject.ask(call)) for subject in self._subjects]
        self._model.fresh_ids, self._model.jitter = self._subjects[0].made_ids, call.jitter
        expected = self._expected(call)
        self._tally.answers += 1
        self._tally.refusals += isinstance(expected, Refused)
        self._tally.done[call.name] += not isinstance(expected, Refused)
        for subject, answer in answers:
            self._fail_on(subject, f"answer to {call.name}", differences(expected, answer, "answer"))

    def _die(self, call: Call | None, moment: Moment) -> None:
        """Before the commit nothing has happened; after it everything has, and nobody was told."""
        ids = [subject.ask_and_die(call, moment) for subject in self._subjects]
        self._tally.crashes += 1
        self._tally.inside += all(subject.died_inside for subject in self._subjects)
        if call is not None and moment is Moment.AFTER_COMMIT:
            self._model.fresh_ids, self._model.jitter, self._model.is_cut_short = ids[0], call.jitter, True
            self._expected(call)
            self._model.is_cut_short = False
        self._model.die()

    def _expected(self, call: Call) -> Any:
        try:
            return self._model.do(call.name, *call.arguments)
        except Refused as refused:
            return refused

    def _compare_rows(self, *tables: str) -> None:
        for subject in self._subjects:
            found = subject.rows(*tables)
            lines = [line for table in tables for line in differences(self._model.rows(table), found[table], table)]
            self._fail_on(subject, "rows", lines)

    def _fail_on(self, subject: Subject, what: str, lines: Sequence[str]) -> None:
        if not lines:
            return
        text = "\n".join(f"  {line}" for line in lines[:MOST_LINES])
        for number, id in enumerate(self._model.runs, start=1):
            text = text.replace(id, f"run {number}")
        last = literal(self._story[-1]) if self._story else "nothing"
        raise Difference(f"{subject.name}, {what}, after {last}\n{text}", self._story)


def differences(expected: Any, found: Any, path: str) -> list[str]:
    """Where they differ, field by field. Of a row only the fields that the reference names are compared."""
    if expected is ANYTHING:
        return [f"{path}: {found!r} instead of a yes"] if isinstance(found, Exception) else []
    if isinstance(expected, Refused) or isinstance(found, Exception):
        code = expected.code if isinstance(expected, Refused) else expected
        other = getattr(found, "code", found)
        return [] if code == other else [f"{path}: {other!r}, not {code!r}"]
    if is_dataclass(expected) and found is not None:
        values_of = _values_of(expected.__class__)
        if values_of(found) == values_of(expected):
            return []  # as nearly always, and much faster than one by one
        pairs = [(field.name, getattr(expected, field.name), getattr(found, field.name)) for field in fields(expected)]
        return [line for name, mine, other in pairs for line in differences(mine, other, f"{path}.{name}")]
    if isinstance(expected, dict):
        lines = [f"{path}: {_name(key)} is missing" for key in expected if key not in found]
        lines += [f"{path}: {_name(key)} is too many" for key in found if key not in expected]
        both = [key for key in expected if key in found]
        return lines + [line for key in both for line in differences(expected[key], found[key], f"{path} {_name(key)}")]
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        if len(expected) != len(found):
            return [f"{path}: {len(found)}, not {len(expected)}: {found!r}, not {expected!r}"]
        pairs = [
            (f"{path}[{number}]", mine, other) for number, (mine, other) in enumerate(zip(expected, found, strict=True))
        ]
        return [line for name, mine, other in pairs for line in differences(mine, other, name)]
    return [] if expected == found else [f"{path}: {found!r}, not {expected!r}"]


@functools.cache
def _values_of(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*(field.name for field in fields(kind)))


def _name(key: Any) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)

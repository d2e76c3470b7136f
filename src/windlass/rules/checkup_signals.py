"""When signals count as in order. Part of rules/checkup.py."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.model.checkup import Check, Grade
from windlass.rules.triggers import unknown_states

NAME = "signals"
SHOWN = 5
MOST_COUNTED = 1_000


def signals(
    *, live: int, late: int, given_up: Sequence[str], broken: Sequence[str], is_enabled: bool, unattended: str
) -> Check:
    """Whether what was promised to be done is done: a signal that can never fire is a promise nobody keeps."""
    if broken:
        text = f"{_many(len(broken), 'signal')} cannot do what was asked: cancel, or delete, and create anew"
        return Check(name=NAME, grade=Grade.FAILED, text=text, details=_first(broken))
    watched = f"{_many(live, 'signal')} armed or paused"
    if given_up:
        paused = "1 is" if len(given_up) == 1 else f"{len(given_up)} are"
        text = f"{watched}; {paused} paused because something failed: put it right, then windlass signals resume"
        return Check(name=NAME, grade=Grade.WARNING, text=text, details=_first(given_up))
    if late:
        why = unattended if is_enabled else "WINDLASS_SIGNALS_ENABLED is false here"
        text = f"{watched}; {_many(late, 'firing')} should have been worked by now: {why}"
        return Check(name=NAME, grade=Grade.WARNING, text=text)
    return Check(name=NAME, grade=Grade.GOOD, text=watched if live else "nothing is watched")


def unfit(kind: str, states: Sequence[str], *, is_readable: bool) -> str | None:
    """What is wrong with a row that was changed by hand: what it waits for, or what it does."""
    if not is_readable:
        return "does what nobody can read"
    unknown = unknown_states(kind, states)
    if not unknown:
        return None
    what = "a state that does not exist" if len(unknown) == 1 else "states that do not exist"
    return f"waits for {what}: {', '.join(map(repr, unknown))}"


def _many(count: int, what: str) -> str:
    more = " or more" if count >= MOST_COUNTED else ""
    return f"{count:,} {what}{'' if count == 1 else 's'}{more}"


def _first(items: Sequence[str]) -> tuple[str, ...]:
    rest = len(items) - SHOWN
    return (*items[:SHOWN], *((f"and {rest:,} more",) if rest > 0 else ()))

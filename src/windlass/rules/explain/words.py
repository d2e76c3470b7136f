"""How times, counts, names and commands are put into sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windlass.model.duration import between, moment
from windlass.model.explanation import Explanation, Situation
from windlass.model.failure import Failure, in_one_line
from windlass.model.time import Instant
from windlass.rules.explain.facts import Facts

LONGEST_QUOTE = 300  # characters of a message or a note; `show` has all of it

# Where nothing but the code of the run, or what it waits for, keeps it.
GOES_ON = frozenset(
    {
        Situation.HELD,
        Situation.SLEEPING,
        Situation.BACKING_OFF,
        Situation.GIVEN_BACK,
        Situation.WAITING,
        Situation.WAITING_FOR_EVENT,
        Situation.WAITING_FOR_CHILD,
        Situation.WAITING_FOR_APPROVAL,
        Situation.WAITING_FOR_SEVERAL,
    }
)

Advice = tuple[str, str]  # what a command does, and the command: ("send it", "windlass send …")


def answer(facts: Facts, code: Situation, *sentences: str, advice: Sequence[Advice] = (), **more: Any) -> Explanation:
    """Put sentences, and then what may be typed, into one paragraph."""
    run = facts.run
    if facts.task_failure is not None:
        code = Situation.TASK_FAILED if code in GOES_ON else code
        sentences = (*sentences, _task_failed(facts))
    text = " ".join(part for part in (*sentences, advised(advice)) if part)
    return Explanation(run_id=run.id, name=run.name, status=run.status, code=code, text=text, at=facts.now, **more)


def _task_failed(facts: Facts) -> str:
    place = "" if facts.unretrieved is None else facts.unretrieved.place
    return (
        f"A task of its workflow ended{place}{with_failure(facts.task_failure)} No task has retrieved that: what waits "
        "for it waits in vain, and when the workflow returns the run fails with it. Let the workflow await that task."
    )


def advised(advice: Sequence[Advice]) -> str:
    return capital(", and ".join(f"{purpose}: {command}" for purpose, command in advice))


def since(instant: Instant, *, now: Instant) -> str:
    return f"since {moment(instant, now=now)} ({between(instant, now)})"


def at(instant: Instant, *, now: Instant) -> str:
    """A time that is to come."""
    return f"at {moment(instant, now=now)}, in {between(now, instant)}"


def ago(instant: Instant, *, now: Instant) -> str:
    return f"at {moment(instant, now=now)}, {between(instant, now)} ago"


def until(instant: Instant | None, *, now: Instant) -> str:
    return "" if instant is None else f" until {moment(instant, now=now)}"


def count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many}"


def capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def listed(one: str, many: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(repr(name) for name in names[:5])
    return f"{one if len(names) == 1 else many} {shown}{', …' if len(names) > 5 else ''}"


def joined(parts: Sequence[str], *, most: int = 3) -> str:
    """ "a", "a and b", "a, b and c", "a, b, c and 2 more"."""
    shown = [*parts[:most], *([f"{len(parts) - most:,} more"] if len(parts) > most else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def by(person: str | None) -> str:
    return "" if person is None else f" by {person}"


def quoted(note: str | None) -> str:
    """What somebody said about it, behind what they did."""
    return "" if not note else f': "{_short(" ".join(note.split()))}"'


def with_failure(failure: Failure | None) -> str:
    return "." if failure is None else f" with {sentence(_short(in_one_line(failure)))}"


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"


def must_end(facts: Facts, *, goes_on_at: Instant | None = None) -> str:
    """The time-out of the whole run, if it has one that is to come."""
    ends_at, now = facts.run.expires_at, facts.now
    if ends_at is None or ends_at <= now:
        return ""
    text = f"It must end by {moment(ends_at, now=now)} ({between(now, ends_at)} left)"
    is_too_early = goes_on_at is not None and ends_at < goes_on_at
    return f"{text}, which is before that: then it fails." if is_too_early else f"{text}."


def step_of(failure: Failure | None) -> str | None:
    return None if failure is None else failure.step or None

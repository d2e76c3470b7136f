"""How often a step is tried, as users write it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

from windlass.errors import InvalidInput
from windlass.model.duration import to_duration
from windlass.model.retry import RetryPolicy
from windlass.model.time import SECOND
from windlass.rules.limits import check_retry


class Retry:
    """How often a step is tried: `Retry(5)`, `Retry(8, initial="2s", max_delay="10m", never=(CardDeclined,))`.

    `max_attempts` counts the first attempt too, so `Retry(1)` means: no retry. The delay before attempt n+1 is
    initial × factor^(n-1), at most `max_delay`, plus a bounded jitter. Exceptions listed in `never` are final.
    """

    __slots__ = ("max_attempts", "never", "policy")

    max_attempts: int
    never: tuple[type[BaseException], ...]
    policy: RetryPolicy

    def __init__(
        self,
        max_attempts: int = 3,
        *,
        initial: str | int | float | timedelta = "1s",
        factor: float = 2,
        max_delay: str | int | float | timedelta = "1m",
        never: tuple[type[BaseException], ...] | list[type[BaseException]] = (),
    ) -> None:
        first, longest = to_duration(initial, what="initial"), to_duration(max_delay, what="max_delay")
        check_retry(max_attempts, initial_for=first, factor=factor, max_for=longest)
        policy = RetryPolicy(max_attempts=max_attempts, initial_for=first, factor=float(factor), max_for=longest)
        for name, value in (
            ("max_attempts", max_attempts),
            ("never", check_exceptions(never, what="never")),
            ("policy", policy),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A Retry does not change; make another one to set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A Retry does not change; {name!r} stays.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Retry):
            return NotImplemented
        return (self.policy, self.never) == (other.policy, other.never)

    def __hash__(self) -> int:
        return hash((self.policy, self.never))

    def __repr__(self) -> str:
        policy = self.policy
        text = f"Retry({policy.max_attempts}, initial={policy.initial_for / SECOND:g}, factor={policy.factor:g}"
        text += f", max_delay={policy.max_for / SECOND:g}"
        if self.never:
            text += f", never=({', '.join(item.__name__ for item in self.never)},)"
        return text + ")"


def check_exceptions(value: Any, *, what: str) -> tuple[type[BaseException], ...]:
    """A tuple of exception classes. One bare class is refused too: it would read as if it were iterated."""
    if not isinstance(value, (tuple, list)):
        found = value.__name__ if isinstance(value, type) else type(value).__name__
        raise InvalidInput(
            f"{what} takes a tuple of exception classes, not {found}: {what}=(ValueError,).",
            reason="invalid_option",
            path=what,
        )
    for item in value:
        if not (isinstance(item, type) and issubclass(item, BaseException)):
            raise InvalidInput(
                f"{what} takes exception classes, and {item!r:.80} is none.", reason="invalid_option", path=what
            )
    return tuple(value)

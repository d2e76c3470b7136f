"""When to try again: the policy, as data."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.time import MINUTE, SECOND, Duration


class RetryPolicy(Struct, frozen=True, kw_only=True):
    max_attempts: int = 3  # attempts in all, so 1 means no retry
    initial_for: Duration = SECOND
    factor: float = 2.0
    max_for: Duration = MINUTE


DEFAULT_RETRY = RetryPolicy()

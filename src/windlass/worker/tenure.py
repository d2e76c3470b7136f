"""How long a claim still holds, as its holder sees it: by a clock that never goes back, and a little pessimistic.

Only the holder renews: along with its commits, and while its bodies are at work (`claims.py`). A body is entered with
at least half of the claim left, and stopped when it has run out: by then another worker may have the run.
"""

from __future__ import annotations

from windlass.model.commands import ClaimedRun
from windlass.model.pipeline_work import ClaimedPipeline
from windlass.model.time import SECOND, Duration
from windlass.runtime import Clock


class Tenure:
    def __init__(self, claimed: ClaimedRun | ClaimedPipeline, clock: Clock) -> None:
        self._clock = clock
        self.visibility_for = claimed.visibility_for
        self.until = _until(claimed.asked_at, claimed.visibility_for)

    def left(self) -> int:
        return self.until - self._clock.monotonic()

    def renewed(self, *, asked_at: int, visibility_for: Duration) -> None:
        """The store said yes to a renewal asked for at that moment."""
        self.until = max(self.until, _until(asked_at, visibility_for))

    def renewal(self, *, now: int) -> Duration | None:
        """For a completion: renew along the way when less than half is left."""
        return self.visibility_for if self.until - now < self.visibility_for // 2 else None

    def needed_before(self, visibility_for: Duration | None, *, now: int) -> Duration | None:
        """For a body: how long a claim to ask for first, or None if what is left will do."""
        if visibility_for is None or visibility_for <= self.visibility_for:
            return self.renewal(now=now)
        # What is left right after a renewal is a little less than was asked for.
        return visibility_for if self.until - now < visibility_for * 4 // 5 else None


def _until(asked_at: int, visibility_for: Duration) -> int:
    """With a margin: a tenth of it, and at most a second."""
    margin = visibility_for // 10
    return asked_at + visibility_for - (margin if margin < SECOND else SECOND)

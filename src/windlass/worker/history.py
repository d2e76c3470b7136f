"""What is on record of a run from before this claim, and how much of it the code has asked for again."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.model.step import StepRecord


class History:
    def __init__(self, records: Sequence[StepRecord]) -> None:
        self._records = {record.key: record for record in records}
        # What was copied from the run that this one tries again is there to be used, and need not be.
        own = [record for record in records if not record.is_copied]
        self.unread = {record.key for record in own}
        self._undelivered = sum(record.order is not None for record in own)

    def __bool__(self) -> bool:
        return bool(self._records)

    @property
    def is_replayed(self) -> bool:
        """Has the code come so far as it had come before?"""
        # What is on record and not asked for yet may be a wait, which has no result.
        return not self._undelivered and not self.unread

    def read(self, key: str) -> StepRecord | None:
        self.unread.discard(key)
        return self._records.get(key)

    def deliver(self, record: StepRecord) -> None:
        """The code has the result."""
        if record.order is not None and not record.is_copied:
            self._undelivered -= 1


NO_HISTORY = History(())  # nothing in it ever changes: one serves all runs that begin

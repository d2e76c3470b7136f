"""A limit for lines of the log that anybody can cause: one a second, with how many were left out before it."""

from __future__ import annotations

import logging

from windlass.model.time import SECOND
from windlass.runtime import SystemClock

REAL_CLOCK = SystemClock()  # a log is read in real time


class OneLineASecond(logging.Filter):
    """For a logger. `worst` is the highest level that it limits: what is worse is always written."""

    def __init__(self, *, worst: int = logging.CRITICAL) -> None:
        super().__init__()
        self._worst, self._next_at, self._left_out = worst, 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > self._worst:
            return True
        now = REAL_CLOCK.monotonic()
        if now < self._next_at:
            self._left_out += 1
            return False
        self._next_at = now + SECOND
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:  # in a line as well
            text = f"{text}: {record.exc_info[1]}"
        if self._left_out:
            text = f"{text} (and {self._left_out} like it since)"
        record.msg, record.args, record.exc_info, self._left_out = text, (), None, 0
        return True

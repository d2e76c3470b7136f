"""Instants and durations: integers of microseconds, UTC."""

from __future__ import annotations

from typing import NewType

Instant = NewType("Instant", int)  # microseconds since 1970-01-01T00:00:00Z
Duration = NewType("Duration", int)  # microseconds

MILLISECOND = Duration(1_000)
SECOND = Duration(1_000_000)
MINUTE = Duration(60 * SECOND)
HOUR = Duration(60 * MINUTE)
DAY = Duration(24 * HOUR)

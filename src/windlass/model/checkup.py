"""Whether a database is in order: the answer to `doctor`."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Grade(StrEnum):
    GOOD = "good"
    WARNING = "warning"  # worth a look, and no fault of the database
    FAILED = "failed"
    SKIPPED = "skipped"  # could not be judged, because of another check


class Check(Struct, frozen=True, kw_only=True):
    name: str  # stable
    grade: Grade
    text: str  # not escaped: names in it come from users
    details: tuple[str, ...] = ()


class Checkup(Struct, frozen=True, kw_only=True):
    checks: tuple[Check, ...]

    @property
    def is_sound(self) -> bool:
        """Nothing failed. Warnings do not count."""
        return all(check.grade is not Grade.FAILED for check in self.checks)

"""What the statements of the hot path mean, said again in plain Python: no SQL, no index, no lock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

SECOND = 1_000_000
CLAIM_FOR = 10 * SECOND


class Create(NamedTuple):
    run: int
    name: str
    priority: int
    delay_for: int | None
    worker: str | None  # dispatched to it, else pending


class Advance(NamedTuple):
    duration: int


class ClaimDue(NamedTuple):
    worker: str
    names: frozenset[str]
    limit: int


class Begin(NamedTuple):
    run: int
    behind: int  # how far the token lies behind the newest
    key: str
    attempt: int


class Complete(NamedTuple):
    run: int
    behind: int
    key: str
    attempt: int
    renew_for: int | None


class Finish(NamedTuple):
    run: int
    behind: int
    status: str


class Renew(NamedTuple):
    run: int
    behind: int
    visibility_for: int


class Release(NamedTuple):
    run: int


Batch = tuple[Create, ...] | tuple[Begin, ...] | tuple[Complete, ...] | tuple[Finish, ...]
Operation = Advance | ClaimDue | Renew | Release | Batch


@dataclass
class Row:
    name: str
    priority: int
    status: str
    available_at: int | None
    token: int
    worker: str | None
    attempts: int
    recoveries: int
    created_at: int
    started_at: int | None
    finished_at: int | None = None


@dataclass
class StepRow:
    status: str
    token: int
    started_at: int
    finished_at: int | None = None


@dataclass
class Model:
    """Runs by number, steps by (run, key, attempt). Every method answers as the store's batch does: who passed."""

    now: int
    runs: dict[int, Row] = field(default_factory=dict)
    steps: dict[tuple[int, str, int], StepRow] = field(default_factory=dict)

    def token_of(self, run: int, behind: int) -> int:
        """The token a caller would hold who is that many claims behind."""
        return (self.runs[run].token if run in self.runs else 1) - behind

    def create(self, rows: tuple[Create, ...]) -> set[int]:
        passed = set()
        for ordinal, row in enumerate(rows):
            if row.run in self.runs:
                continue
            passed.add(ordinal)
            is_claimed = row.worker is not None
            self.runs[row.run] = Row(
                name=row.name,
                priority=row.priority,
                status="running" if is_claimed else "pending",
                available_at=self.now + (CLAIM_FOR if is_claimed else row.delay_for or 0),
                token=int(is_claimed),
                worker=row.worker,
                attempts=int(is_claimed),
                recoveries=0,
                created_at=self.now,
                started_at=self.now if is_claimed else None,
            )
        return passed

    def claim(self, command: ClaimDue) -> list[tuple[int, int]]:
        """Due runs of the names served: most urgent first, then the longest due, then by id. With their new tokens."""
        due = [
            (-row.priority, row.available_at, number)
            for number, row in self.runs.items()
            if row.name in command.names and row.available_at is not None and row.available_at <= self.now
        ]
        taken = []
        for _, _, number in sorted(due)[: command.limit]:
            row = self.runs[number]
            row.recoveries += row.status == "running"
            row.status, row.worker = "running", command.worker
            row.token, row.attempts = row.token + 1, row.attempts + 1
            row.available_at = self.now + CLAIM_FOR
            row.started_at = row.started_at if row.started_at is not None else self.now
            taken.append((number, row.token))
        return taken

    def begin(self, rows: tuple[Begin, ...], tokens: list[int]) -> set[int]:
        passed = set()
        for ordinal, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            place = (row.run, row.key, row.attempt)
            known = self.steps.get(place)
            if not self._is_held(row.run, token) or (known is not None and known.status != "running"):
                continue
            passed.add(ordinal)
            self.steps[place] = StepRow("running", token, known.started_at if known else self.now)
        return passed

    def complete(self, rows: tuple[Complete, ...], tokens: list[int]) -> set[int]:
        passed = set()
        for ordinal, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            place = (row.run, row.key, row.attempt)
            known = self.steps.get(place)
            if not self._is_held(row.run, token) or (known is not None and known.status == "completed"):
                continue
            passed.add(ordinal)
            self.steps[place] = StepRow("completed", token, self.now, self.now)
            if row.renew_for is not None:
                self._renew(row.run, row.renew_for)
        return passed

    def finish(self, rows: tuple[Finish, ...], tokens: list[int]) -> set[int]:
        passed = set()
        for ordinal, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            if not self._is_held(row.run, token):
                continue
            passed.add(ordinal)
            held = self.runs[row.run]
            held.status, held.available_at, held.worker, held.finished_at = row.status, None, None, self.now
        return passed

    def renew(self, command: Renew, token: int) -> bool:
        if not self._is_held(command.run, token):
            return False
        self._renew(command.run, command.visibility_for)
        return True

    def release(self, command: Release) -> None:
        row = self.runs.get(command.run)
        if row is not None and row.status == "running":
            row.status, row.available_at, row.worker, row.recoveries = "pending", self.now, None, 0

    def _is_held(self, run: int, token: int) -> bool:
        row = self.runs.get(run)
        return row is not None and (row.status, row.token) == ("running", token)

    def _renew(self, run: int, visibility_for: int) -> None:
        row = self.runs[run]
        assert row.available_at is not None
        row.available_at = max(row.available_at, self.now + visibility_for)

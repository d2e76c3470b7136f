"""What a claim has brought, row by row, as it is handed to a worker.

A claim brings hundreds at once, and most of them need no look: they have no history, no time-out, and nobody wants them
paused. So a row stays as the database gave it, and the run is made of it only for whoever asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from msgspec import Struct

from windlass.model.commands import ClaimedRun
from windlass.model.run import Run, RunId, RunStatus, WorkerId
from windlass.model.step import StepRecord
from windlass.model.time import Duration, Instant
from windlass.store.rows import RUN_COLUMNS, RUN_KIND, RUN_STATUS, Row, run_from_row

# Where a row has what is looked at: columns of {run}, and what follows them.
ID, NAME, VERSION, QUEUE, PRIORITY = 1, 2, 3, 4, 5
TOKEN, ATTEMPTS, RECOVERIES, STARTED_AT, EXPIRES_AT, HELD, PARENT = 8, 11, 12, 14, 16, 17, 18
PARENT_STEP, RETRY_OF, ORIGIN, BEGUN_AT, SCHEDULE, SCHEDULED_AT, KIND = 19, 22, 23, 24, 25, 27, 28
WAS, DUE_AT, HOLDER, INPUT, START_KEY, AT = range(RUN_COLUMNS, RUN_COLUMNS + 6)


class ClaimedRow(Struct, frozen=True, gc=False):
    values: Row

    @property
    def run(self) -> Run:
        """The run as it stands after the claim."""
        return run_from_row(self.values)

    @property
    def id(self) -> RunId:
        return RunId(self.values[ID])

    @property
    def name(self) -> str:
        return str(self.values[NAME])

    @property
    def token(self) -> int:
        return int(self.values[TOKEN])

    @property
    def was(self) -> RunStatus:
        was = self.values[WAS]
        return RunStatus.PENDING if was is None else RUN_STATUS[was]

    @property
    def due_at(self) -> Instant:
        """Before the claim; of one whose answer was lost, when it ends."""
        return Instant(self.values[DUE_AT])

    @property
    def holder(self) -> WorkerId | None:
        """The worker whose claim ended, if this one took over."""
        holder: WorkerId | None = self.values[HOLDER]
        return holder

    @property
    def input(self) -> bytes:
        return bytes(self.values[INPUT])

    @property
    def start_key(self) -> str | None:
        key: str | None = self.values[START_KEY]
        return key

    @property
    def at(self) -> Instant:
        """When it was claimed; of one whose answer was lost, when it was asked for again."""
        return Instant(self.values[AT])

    @property
    def may_have_history(self) -> bool:
        return self.values[ATTEMPTS] > 1 or self.values[RETRY_OF] is not None

    @property
    def is_plain(self) -> bool:
        """Is there nothing to decide about it? It was not given up by anyone, has no time-out, and is not held."""
        return not self.values[RECOVERIES] and self.values[EXPIRES_AT] is None and not self.values[HELD]

    def handed_over(
        self,
        *,
        visibility_for: Duration,
        asked_at: int,
        history: tuple[StepRecord, ...] = (),
        expires_in: Duration | None = None,
    ) -> ClaimedRun:
        row = self.values
        kind = RUN_KIND[row[KIND]]
        return ClaimedRun(
            run_id=row[ID],
            name=row[NAME],
            version=row[VERSION],
            queue=row[QUEUE],
            token=row[TOKEN],
            attempts=row[ATTEMPTS],
            recoveries=row[RECOVERIES],
            key=row[START_KEY],
            input=row[INPUT],
            started_at=row[STARTED_AT],
            visibility_for=visibility_for,
            asked_at=asked_at,
            waited_for=Duration(max(0, row[AT] - row[DUE_AT])),
            history=history,
            expires_in=expires_in,
            parent=row[PARENT],
            origin=row[ORIGIN],
            begun_at=row[BEGUN_AT],
            schedule=row[SCHEDULE],
            scheduled_at=row[SCHEDULED_AT],
            kind=kind,
            job=row[PARENT_STEP] if kind.is_job else None,
        )


def claimed_rows(rows: Sequence[Row]) -> list[ClaimedRow]:
    """In the order of urgency: priority, then the due time before the claim, then the id. `returning` has none."""
    ordered = sorted(rows, key=itemgetter(DUE_AT, ID))
    ordered.sort(key=itemgetter(PRIORITY), reverse=True)
    return [ClaimedRow(row) for row in ordered]

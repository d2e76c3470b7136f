"""What may be asked about steps, and how their attempts are recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from windlass.model.commands import BeginStep, CompleteStep
from windlass.model.run import RunId
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import Instant
from windlass.store.queries.renewals import RenewalQueries
from windlass.store.rows import failure_to_bytes, step_from_row

if TYPE_CHECKING:
    from windlass.store.base import Connection


class SettledRow(Struct, frozen=True, kw_only=True):
    """A Step whose failure is encoded."""

    namespace: str
    run_id: str
    key: str
    attempt: int
    kind: StepKind
    status: StepStatus
    order: int | None
    token: int
    failures: int
    input_hash: bytes
    output: bytes | None
    failure: bytes | None
    due_at: Instant | None
    started_at: Instant | None
    finished_at: Instant | None
    awaits: str | None
    detail: bytes | None
    dropped: int


class DroppedWait(Struct, frozen=True):
    namespace: str
    run_id: RunId
    key: str


class StepQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def begin(self, rows: Sequence[BeginStep]) -> Mapping[int, Instant]:
        """Note that bodies were entered. A missing ordinal: the claim is lost, or the step is over."""
        return await self._connection.batch("begin_steps", rows)

    async def complete(self, rows: Sequence[CompleteStep]) -> Mapping[int, Instant]:
        """Record results for ever. A missing ordinal is a repeat or a lost claim; `matching` tells which.

        A claim that runs short is renewed along the way: that is a second statement.
        """
        done = await self._connection.batch("complete_steps", rows)
        renewing = [rows[ordinal] for ordinal in done if rows[ordinal].renew_for is not None]
        if renewing:
            renewing.sort(key=lambda row: row.renew_for or 0)
            longest = {row.run_id: row for row in renewing}  # a statement can change each run once
            await RenewalQueries(self._connection).renew(list(longest.values()))
        return done

    async def matching(self, rows: Sequence[CompleteStep]) -> Mapping[int, Instant]:
        """Completions that are recorded under the same token with the same output, and when. Rare, so one by one."""
        recorded: dict[int, Instant] = {}
        for ordinal, row in enumerate(rows):
            found = await self._connection.first(
                "matching_step",
                namespace=row.namespace,
                run_id=row.run_id,
                key=row.key,
                attempt=row.attempt,
                token=row.token,
                output=row.output,
            )
            if found is not None:
                recorded[ordinal] = found[0]
        return recorded

    async def settle(self, rows: Sequence[Step]) -> None:
        """Write failed attempts and waits of a run this transaction has locked. What is over stays as it is."""
        await self._connection.batch("settle_steps", [_encoded(row) for row in rows])

    async def drop(self, namespace: str, run_id: RunId, keys: Sequence[str]) -> None:
        """Note that the code has given up these waits: what they are for wakes nobody."""
        await self._connection.batch("drop_waits", [DroppedWait(namespace, run_id, key) for key in keys])

    async def awaited(self, namespace: str, *, run_id: RunId, children: Sequence[RunId]) -> set[RunId]:
        """Those of the children that this run waits for."""
        rows = await self._connection.all("awaited_children", namespace=namespace, run_id=run_id, ids=children)
        return {row[0] for row in rows}

    async def awaits_event(self, namespace: str, *, run_id: RunId, event: str) -> bool:
        """Does a run wait for an event of this name?"""
        row = await self._connection.first("awaiting_event", namespace=namespace, run_id=run_id, event=event)
        return row is not None

    async def open_waits(self, namespace: str, run_id: RunId) -> list[Step]:
        """The waits of a run, and its failed attempts that will be tried again."""
        rows = await self._connection.all("open_waits", namespace=namespace, run_id=run_id)
        return [step_from_row(row) for row in rows]

    async def histories(self, namespace: str, run_ids: Sequence[RunId]) -> dict[RunId, list[Step]]:
        """The latest attempt of every step by run, in the order their results reached the code."""
        histories: dict[RunId, list[Step]] = {}
        ids = list(dict.fromkeys(run_ids))  # a run named twice would have every step twice
        for row in await self._connection.all("histories_of_runs", namespace=namespace, run_ids=ids):
            histories.setdefault(row[1], []).append(step_from_row(row))
        for steps in histories.values():
            steps.sort(key=lambda step: (step.order is None, step.order or 0, step.key))
        return histories

    async def attempts(self, namespace: str, run_id: RunId) -> list[Step]:
        """Every attempt of every step, in the order they began."""
        rows = await self._connection.all("attempts_of_run", namespace=namespace, run_id=run_id)
        return [step_from_row(row) for row in rows]


def _encoded(step: Step) -> SettledRow:
    return SettledRow(
        namespace=step.namespace,
        run_id=step.run_id,
        key=step.key,
        attempt=step.attempt,
        kind=step.kind,
        status=step.status,
        order=step.order,
        token=step.token,
        failures=step.failures,
        input_hash=step.input_hash,
        output=step.output,
        failure=failure_to_bytes(step.failure),
        due_at=step.due_at,
        started_at=step.started_at,
        finished_at=step.finished_at,
        awaits=step.awaits,
        detail=step.detail,
        dropped=int(step.is_dropped),
    )

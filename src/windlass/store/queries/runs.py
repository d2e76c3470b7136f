"""What may be asked about runs, and what may be done to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from windlass.model.claims import Renewal
from windlass.model.commands import FinishRun
from windlass.model.failure import Failure, Unretrieved
from windlass.model.run import Run, RunId, RunStatus, WorkerId
from windlass.model.time import Duration, Instant
from windlass.model.worker import Served
from windlass.store.claimed import ClaimedRow, claimed_rows
from windlass.store.queries.renewals import HeldRun, RenewalQueries
from windlass.store.queries.run_reads import Ending, RunReads, served_to_json
from windlass.store.rows import failure_to_bytes, run_from_row

__all__ = ["ClaimedRow", "Ending", "NewRun", "RunQueries"]


class NewRun(Struct, frozen=True, kw_only=True, gc=False):
    """A run to create. With a worker it is born claimed for `claim_for`, else due at `at` or after `delay_for`."""

    namespace: str
    id: RunId
    name: str
    version: str
    queue: str
    priority: int
    input: bytes
    start_key: str | None = None
    delay_for: Duration | None = None
    at: Instant | None = None
    worker: WorkerId | None = None
    poll: int = 0
    claim_for: Duration = Duration(0)
    timeout_for: Duration | None = None
    parent: RunId | None = None
    parent_step: str | None = None
    follows_parent: int = 0


class FinishedRow(Struct, frozen=True, kw_only=True, gc=False):
    """A FinishRun whose failure is encoded."""

    namespace: str
    run_id: RunId
    token: int
    status: RunStatus
    output: bytes | None
    failure: bytes | None
    result_hash: bytes


class RunQueries(RunReads):
    async def create(self, rows: Sequence[NewRun]) -> Mapping[int, Instant]:
        """Insert runs with payload and log row. An ordinal that is missing from the answer existed already.

        Or it was to be claimed at once and stands behind a closed gate, where the store itself goes by the gates. One
        statement if all of them, or none, are to be claimed at once.
        """
        dispatched = [ordinal for ordinal, row in enumerate(rows) if row.worker is not None]
        if not dispatched:
            return await self._connection.batch("create_runs", rows)
        begun = await self._connection.batch("dispatch_runs", [rows[ordinal] for ordinal in dispatched])
        created = {dispatched[ordinal]: at for ordinal, at in begun.items()}
        others = [ordinal for ordinal, row in enumerate(rows) if row.worker is None]
        if others:
            pending = await self._connection.batch("create_runs", [rows[ordinal] for ordinal in others])
            created.update((others[ordinal], at) for ordinal, at in pending.items())
        return created

    async def claim(
        self,
        *,
        namespace: str,
        served: Sequence[Served],
        limit: int,
        worker: WorkerId,
        poll: int,
        claim_for: Callable[[str], Duration],
    ) -> list[ClaimedRow]:
        """Claim up to `limit` due runs of what is served, most urgent first. Safe under any number of claimers.

        Nothing is claimed behind a gate that is closed, and none is closed until this transaction ends.
        `claim_for` says for how long, by the name of the workflow.
        """
        rows = await self._connection.all(
            "claim_runs",
            namespace=namespace,
            served=served_to_json(served, claim_for=claim_for),
            limit=limit,
            worker=worker,
            poll=poll,
        )
        return claimed_rows(rows)

    async def claimed_by_poll(self, *, namespace: str, worker: WorkerId, poll: int) -> list[ClaimedRow]:
        """What that poll claimed and still holds: the answer to a claim whose reply was lost."""
        return claimed_rows(await self._connection.all("runs_of_poll", namespace=namespace, worker=worker, poll=poll))

    async def lock(self, namespace: str, id: RunId) -> Run | None:
        """Load, and keep every other writer away until the transaction ends."""
        row = await self._connection.first("lock_run", namespace=namespace, id=id)
        return None if row is None else run_from_row(row)

    async def lock_all(self, namespace: str, ids: Iterable[RunId]) -> dict[RunId, Run]:
        """Load runs and keep every other writer away. Locked in the order of ids, whatever order they come in."""
        wanted = sorted(set(ids))
        rows = await self._connection.all("lock_runs", namespace=namespace, ids=wanted) if wanted else ()
        return {row[1]: run_from_row(row) for row in rows}

    async def lock_held_by(self, namespace: str, worker: WorkerId) -> list[Run]:
        """Load what a worker holds, in the order of ids, and keep every other writer away."""
        return [
            run_from_row(row)
            for row in await self._connection.all("lock_runs_of_worker", namespace=namespace, worker=worker)
        ]

    async def save(self, run: Run, *, was: Run) -> bool:
        """Compare-and-set on the token and status it was decided on."""
        changed = await self._connection.run(
            "save_run",
            namespace=run.namespace,
            id=run.id,
            was_token=was.token,
            was_status=was.status,
            status=run.status,
            available_at=run.available_at,
            token=run.token,
            worker=run.worker,
            poll=run.poll,
            attempts=run.attempts,
            recoveries=run.recoveries,
            started_at=run.started_at,
            finished_at=run.finished_at,
            held=int(run.is_held),
            unmet=run.unmet,
        )
        return changed == 1

    async def renew(self, *, namespace: str, id: RunId, token: int, visibility_for: Duration) -> bool:
        """Move the end of the claim to now + visibility, never back. False: the claim is lost."""
        changed = await self._connection.run(
            "renew_claim", namespace=namespace, id=id, token=token, visibility_for=visibility_for
        )
        return changed == 1

    async def renew_all(self, namespace: str, renewals: Sequence[Renewal]) -> set[str]:
        """The same for many claims. Answers with the ids of the runs whose claims are lost."""
        rows = [HeldRun(namespace, RunId(item.id), item.token, item.visibility_for) for item in renewals]
        renewed = await RenewalQueries(self._connection).renew(rows)
        return {row.run_id for ordinal, row in enumerate(rows) if ordinal not in renewed}

    async def finish(self, rows: Sequence[FinishRun]) -> Mapping[int, Instant]:
        """End runs held under their tokens, with payload and log row. A missing ordinal is a repeat or a lost claim."""
        return await self._connection.batch(
            "finish_runs", [row if row.failure is None else _encoded(row) for row in rows]
        )

    async def set_failure(self, namespace: str, id: RunId, failure: Failure | None) -> None:
        """Say why a run is held, or take that back."""
        await self._connection.run("set_run_failure", namespace=namespace, id=id, failure=failure_to_bytes(failure))

    async def set_unretrieved(self, namespace: str, id: RunId, unretrieved: Unretrieved) -> None:
        """Say with which error a task of a run has ended, or take that back."""
        stored = msgspec.json.encode(unretrieved)
        await self._connection.run("set_unretrieved", namespace=namespace, id=id, unretrieved=stored)


def _encoded(row: FinishRun) -> FinishedRow:
    return FinishedRow(
        namespace=row.namespace,
        run_id=row.run_id,
        token=row.token,
        status=row.status,
        output=row.output,
        failure=failure_to_bytes(row.failure),
        result_hash=row.result_hash,
    )

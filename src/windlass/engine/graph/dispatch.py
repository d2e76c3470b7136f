"""Give a job to a worker in the transaction that releases it: a claim call that waits in this process offers slots.

Whoever finishes a job frees a slot and waits for more, so a chain of jobs needs one commit for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from windlass.engine.offers import Offer, Slots
from windlass.model.commands import ClaimedRun
from windlass.model.graph import Graph, JobState
from windlass.model.run import RunId, RunStatus
from windlass.model.time import Duration, Instant
from windlass.model.worker import Served
from windlass.rules.gates import is_behind
from windlass.rules.graph_ends import time_left
from windlass.store.base import Tx
from windlass.store.queries.jobs import DispatchedJob


class Dispatch:
    """The slots set aside for one batch, and the jobs that were claimed for them."""

    def __init__(self, slots: Slots, *, asked_at: int, is_gated_by_store: bool) -> None:
        self.slots, self.asked_at = slots, asked_at
        self.is_gated_by_store = is_gated_by_store  # the statement that claims goes by the gates itself
        self.given: list[tuple[Offer, ClaimedRun]] = []
        self._earlier: list[tuple[Offer, ClaimedRun]] = []  # by tries whose answer may be lost

    def begin(self) -> None:
        """A transaction begins, perhaps once more: what the tries before have given may be committed, or not."""
        self._earlier += self.given
        self.given = []
        self.slots.reset()

    async def confirm(self, tx: Tx) -> None:
        """Keep what an earlier try has claimed, should it be that one which was committed."""
        known = {run.run_id for _, run in self.given}
        for offer, run in self._earlier:
            offered = offer.command
            found = await tx.runs.load(offered.namespace, id=run.run_id)
            if found is None or run.run_id in known:
                continue
            holder = (found.status, found.token, found.worker, found.poll)
            if holder == (RunStatus.RUNNING, run.token, offered.worker, offered.poll):
                self.given.append((offer, run))
                known.add(run.run_id)

    def deliver(self) -> None:
        """It is committed: hand over what was claimed, and give the other slots back."""
        for offer, run in self.given:
            offer.deliver(run)
        self.slots.give_back(Counter(id(offer) for offer, _ in self.given))

    def drop(self) -> None:
        """The outcome is unknown, or nothing was written: what may be claimed all the same comes back by itself."""
        self.slots.give_back({})


async def dispatch_jobs(
    tx: Tx, graph: Graph, ready: Sequence[JobState], inputs: Mapping[str, bytes], dispatch: Dispatch
) -> set[RunId]:
    """Claim what fits into the slots, behind the same gates as a claim. One with a history is claimed as any other.

    `inputs`: what they were started with, by name; one that is not there is claimed as any other too.
    """
    fitting = [
        (job, offer)
        for job in ready
        if job.run.status is RunStatus.WAITING and job.run.retry_of is None and job.name in inputs
        if (offer := dispatch.slots.take(graph.namespace, _lane(job))) is not None
    ]
    if fitting and not dispatch.is_gated_by_store:
        closed = await tx.gates.share(graph.namespace, served=[_lane(job) for job, _ in fitting])
        fitting = [(job, offer) for job, offer in fitting if is_behind(_lane(job), closed) is None]
    if not fitting:
        return set()
    times = await tx.needs.dispatch([_row(graph, job, offer) for job, offer in fitting])
    for ordinal, (job, offer) in enumerate(fitting):
        if ordinal in times:  # else it stands behind a closed gate
            claimed = _claimed(graph, job, offer, inputs[job.name], dispatch.asked_at, times[ordinal])
            dispatch.given.append((offer, claimed))
    return {fitting[ordinal][0].run.id for ordinal in times}


def _lane(job: JobState) -> Served:
    return Served(job.run.queue, job.run.name, job.run.version)


def _row(graph: Graph, job: JobState, offer: Offer) -> DispatchedJob:
    return DispatchedJob(
        namespace=graph.namespace,
        id=job.run.id,
        queue=job.run.queue,
        workflow=job.run.name,
        was=job.run.status,
        worker=offer.command.worker,
        poll=offer.command.poll,
        claim_for=offer.command.claim_for(job.run.name),
        timeout_for=time_left(job, graph),
    )


def _claimed(graph: Graph, job: JobState, offer: Offer, input: bytes, asked_at: int, at: Instant) -> ClaimedRun:
    run = job.run
    expires_in: Duration | None = time_left(job, graph)
    return ClaimedRun(
        run_id=run.id,
        name=run.name,
        version=run.version,
        queue=run.queue,
        token=run.token + 1,
        attempts=1,
        recoveries=0,
        key=None,
        input=input,
        started_at=at,
        visibility_for=offer.command.claim_for(run.name),
        asked_at=asked_at,
        expires_in=expires_in,
        parent=graph.id,
        kind=run.kind,
        job=job.name,
    )

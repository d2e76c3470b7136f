"""Accept a run: once acknowledged it survives everything, and a repeated request creates nothing new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from windlass.answers import Answer
from windlass.engine.offers import Offer
from windlass.engine.parts import Parts
from windlass.errors import AlreadyExists
from windlass.model.commands import ClaimedRun, Started, StartRun
from windlass.model.run import RunId, RunStatus
from windlass.model.time import Instant
from windlass.model.worker import Served
from windlass.notify.local import queue_topic
from windlass.rules import keys
from windlass.rules.gates import is_behind
from windlass.store.base import Tx
from windlass.store.queries.keys import KeyOwner, NewKey
from windlass.store.queries.runs import NewRun


class Request(Struct, gc=False):
    """A start on its way to the store. Its id is fixed before the first try, so a repeat cannot create a second run."""

    command: StartRun
    run_id: RunId
    offer: Offer | None
    asked_at: int
    dispatched: ClaimedRun | None = None
    is_gated: bool = False  # behind a closed gate: created, and not dispatched


def start_run(parts: Parts, command: StartRun) -> Answer[Started]:
    offer = None
    if parts.offers.are_open and command.delay_for is None and command.at is None:
        offer = parts.offers.reserve(command.namespace, _lane(command))
    run_id = command.run_id or RunId(parts.ids.run())
    return parts.batcher.submit("start_runs", Request(command, run_id, offer, parts.clock.monotonic()))


def _lane(command: StartRun) -> Served:
    return Served(command.queue, command.name, command.version)


class StartRuns:
    """The batch: take the keys, create the winners, answer the losers with the run their key belongs to."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def order(self, item: Request) -> tuple[str, str, str]:
        return (item.command.namespace, item.command.key or "", item.run_id)

    def prepare(self, items: Sequence[Request]) -> None:
        return None

    def is_single(self, items: Sequence[Request]) -> bool:
        if any(item.command.key is not None for item in items):
            return False
        offered = sum(item.offer is not None for item in items)
        return offered == 0 or (offered == len(items) and self._parts.store.creates_behind_gates)

    async def write(self, tx: Tx, items: Sequence[Request]) -> Sequence[Any]:
        if all(item.command.key is None and item.offer is None for item in items):
            # Neither keys nor offers: what is there already is ours, from a try that was lost.
            created = await tx.runs.create([self._new_run(item) for item in items])
            return [_started(item, is_new=ordinal in created) for ordinal, item in enumerate(items)]
        for item in items:
            item.dispatched = None  # a second try decides anew
        if not self._parts.store.creates_behind_gates:
            await self._look_at_gates(tx, [item for item in items if item.offer is not None])
        winners = await self._take_keys(tx, items)
        creating = [item for item in items if item.run_id in winners]
        created = await tx.runs.create([self._new_run(item) for item in creating])
        outcomes: dict[RunId, Any] = {}
        for ordinal, item in enumerate(creating):
            at = created.get(ordinal)
            # No time: the row was there already, so this is the repeat of a batch whose answer was lost; or it was
            # created, and not claimed, because it stands behind a closed gate.
            if at is None:
                item.dispatched = await self._taken_up(tx, item)
            elif not item.is_gated:
                item.dispatched = self._claimed(item, at)
            outcomes[item.run_id] = _started(item, is_new=at is not None or item.is_gated)
        losers = [item for item in items if item.run_id not in winners]
        return await self._answer_losers(tx, items, losers, outcomes)

    def after_commit(self, items: Sequence[Request], outcomes: Sequence[Any]) -> None:
        # Here and not where the caller awaits: whoever started the run may be gone, the run is claimed all the same.
        for item in items:
            if item.offer is not None and item.dispatched is not None:
                item.offer.deliver(item.dispatched)
            elif item.offer is not None:
                item.offer.give_back()
        waiting = {
            (item.command.namespace, item.command.queue)
            for item, outcome in zip(items, outcomes, strict=True)
            if isinstance(outcome, Started) and not outcome.is_repeat and item.dispatched is None
        }
        for namespace, queue in waiting:
            self._parts.hub.publish(queue_topic(namespace, queue))

    def after_failure(self, items: Sequence[Request]) -> None:
        for item in items:
            if item.offer is not None:
                item.offer.give_back()

    async def _look_at_gates(self, tx: Tx, offered: Sequence[Request]) -> None:
        """Born claimed is claimed: behind the same gates, which stay open until this is committed."""
        for namespace in sorted({item.command.namespace for item in offered}):
            here = [item for item in offered if item.command.namespace == namespace]
            closed = await tx.gates.share(namespace, served=[_lane(item.command) for item in here])
            for item in here:
                item.is_gated = is_behind(_lane(item.command), closed) is not None

    async def _take_keys(self, tx: Tx, items: Sequence[Request]) -> set[RunId]:
        """The ids that may be created: those without a key, and those that hold theirs."""
        winners = {item.run_id for item in items if item.command.key is None}
        first: dict[tuple[str, str], Request] = {}
        for item in items:
            if item.command.key is not None:
                first.setdefault((item.command.namespace, item.command.key), item)
        if first:
            asking = list(first.values())
            taken = await tx.keys.take([self._new_key(item) for item in asking])
            winners.update(asking[ordinal].run_id for ordinal in taken)
        return winners

    async def _answer_losers(
        self, tx: Tx, items: Sequence[Request], losers: Sequence[Request], outcomes: dict[RunId, Any]
    ) -> list[Any]:
        by_namespace: dict[str, list[str]] = {}
        for item in losers:
            by_namespace.setdefault(item.command.namespace, []).append(item.command.key or "")
        owners = {
            (namespace, key): owner
            for namespace, keys in by_namespace.items()
            for key, owner in (await tx.keys.owners(namespace, keys=keys)).items()
        }
        for item in losers:
            owner = owners[item.command.namespace, item.command.key or ""]
            if owner.run_id == item.run_id:  # our own key, from a batch whose answer was lost
                item.dispatched = await self._taken_up(tx, item)
            outcomes[item.run_id] = _judge(item, owner)
        return [outcomes[item.run_id] for item in items]

    async def _taken_up(self, tx: Tx, item: Request) -> ClaimedRun | None:
        """A run of ours that was inserted already claimed, and that nobody executes yet."""
        if item.offer is None:
            return None
        run = await tx.runs.load(item.command.namespace, id=item.run_id)
        offered = item.offer.command
        if (
            run is None
            or run.status is not RunStatus.RUNNING
            or (run.worker, run.poll) != (offered.worker, offered.poll)
        ):
            return None
        return self._claimed(item, run.started_at or run.created_at)

    def _new_run(self, item: Request) -> NewRun:
        command = item.command
        run = NewRun(
            namespace=command.namespace,
            id=item.run_id,
            name=command.name,
            version=command.version,
            queue=command.queue,
            priority=command.priority,
            input=command.input,
            start_key=command.key,
            delay_for=command.delay_for,
            at=command.at,
            timeout_for=command.timeout_for,
        )
        if item.offer is None or item.is_gated:
            return run
        offered = item.offer.command
        return replace(run, worker=offered.worker, poll=offered.poll, claim_for=offered.claim_for(command.name))

    def _new_key(self, item: Request) -> NewKey:
        return NewKey(
            namespace=item.command.namespace,
            key=item.command.key or "",
            name=item.command.name,
            version=item.command.version,
            input_hash=item.command.input_hash,
            run_id=item.run_id,
            expires_for=self._parts.settings.keys_expire_for,
        )

    def _claimed(self, item: Request, at: Instant) -> ClaimedRun | None:
        if item.offer is None:
            return None
        return ClaimedRun(
            run_id=item.run_id,
            name=item.command.name,
            version=item.command.version,
            queue=item.command.queue,
            token=1,
            attempts=1,
            recoveries=0,
            key=item.command.key,
            input=item.command.input,
            started_at=at,
            visibility_for=item.offer.command.claim_for(item.command.name),
            asked_at=item.asked_at,
            expires_in=item.command.timeout_for,
        )


def _started(item: Request, *, is_new: bool) -> Started:
    """An id of ours that is there already is the repeat of a lost try; one chosen elsewhere may be another's."""
    return Started(run_id=item.run_id, is_repeat=not is_new and item.command.run_id is not None)


def _judge(item: Request, owner: KeyOwner) -> Started | AlreadyExists:
    command = item.command
    what = keys.difference(
        owned=(owner.name, owner.version, owner.input_hash),
        asked=(command.name, command.version, command.input_hash),
    )
    if what is None:
        return Started(run_id=RunId(owner.run_id), is_repeat=owner.run_id != item.run_id)
    return AlreadyExists(
        f"Key {command.key!r} belongs to {owner.run_id} {what}.", reason="idempotency_conflict", owner=owner.run_id
    )

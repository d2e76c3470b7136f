"""What a worker asks about pipelines and effects, at the other end of the wire.

Whatever is not answered is asked again, and has the effect of one call: a write names its attempt, the phase it is
about and the token of its claim, by which the engine knows that it was written already; a claim is known by its poll.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from windlass.answers import Answer, answer_of
from windlass.api.grpc import envelopes as of
from windlass.api.grpc import envelopes_of_pipelines as of_pipelines
from windlass.api.grpc.asking import Asker
from windlass.api.grpc.channel import Channel
from windlass.api.grpc.errors import TOO_LARGE
from windlass.api.grpc.mirror import mirror
from windlass.api.grpc.polls import Doors, Polls, longer
from windlass.api.grpc.table import LARGEST_REQUEST
from windlass.errors import ClaimLost, InvalidInput, Unavailable
from windlass.model.pipeline import EventRow
from windlass.model.pipeline_work import (
    ApplyEffect,
    BeginEffect,
    Begun,
    ClaimedPipeline,
    ClaimPipelines,
    CommitHandler,
    Committed,
    FailEffect,
    FixHandler,
    PipelineClaim,
    ReadEvents,
    Reconciled,
    ReconcileEffect,
    Reserved,
    ReserveEvents,
    StopHandler,
    Stopped,
)
from windlass.model.time import Instant
from windlass.runtime import Clock
from windlass.v1 import pipeline_work_pb2

SERVICE = "WorkerService"
_CLAIM = mirror(ClaimPipelines, pipeline_work_pb2.ClaimPipelinesRequest.DESCRIPTOR)
_CLAIMED = mirror(ClaimedPipeline, pipeline_work_pb2.ClaimedPipeline.DESCRIPTOR)


class RemotePipelineClaims:
    """What a holder does with its claims."""

    def __init__(self, channel: Channel, *, clock: Clock) -> None:
        self._calls, self._time = Asker(channel, SERVICE), clock
        doors: Doors[ClaimedPipeline] = Doors(
            self._claim_pipelines, self._give_pipeline_back, lambda found: f"Pipeline {found.name!r}"
        )
        self._claims = Polls(doors)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def close_pipelines(self) -> None:
        await self._claims.close()
        for task in tuple(self._under_way):
            task.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def claim_pipelines(self, command: ClaimPipelines) -> list[ClaimedPipeline]:
        return await self._claims.claim(command)

    async def read_events(self, command: ReadEvents) -> tuple[EventRow, ...]:
        """Asked for again from the last event of an answer on, until nothing is missing."""
        if command.ids == ():
            return ()  # on the wire, no ids are any
        asked = of_pipelines.ReadEventsFrom(
            namespace=command.namespace,
            pipeline=command.pipeline,
            token=command.token,
            topic=command.topic,
            ids=command.ids or (),
            limit=command.limit,
        )
        found: list[EventRow] = []
        while True:
            part: of_pipelines.EventRows = await self._calls.ask("ReadEvents", asked, of_pipelines.EventRows)
            found.extend(part.events)
            if not part.has_more:
                break
            asked = replace(asked, after=found[-1].seq)
        if command.ids is None:
            return tuple(found)
        by_id = {event.id: event for event in found}  # sent in the order of their numbers, by which they are paged
        return tuple(by_id[id] for id in dict.fromkeys(command.ids) if id in by_id)

    async def renew_pipeline(self, claim: PipelineClaim) -> None:
        await self._calls.ask("RenewPipeline", claim, of.Nothing)

    async def release_pipeline(self, claim: PipelineClaim) -> None:
        await self._calls.remove("ReleasePipeline", claim, gone=ClaimLost)

    async def _claim_pipelines(self, command: ClaimPipelines) -> list[ClaimedPipeline]:
        sent_at = self._time.monotonic()
        asked = replace(command, wait_for=longer(command.wait_for))
        answer = await self._calls.send("ClaimPipelines", _CLAIM, asked, wait_for=asked.wait_for)
        # No claim is older than that: the server says how long it had waited when it asked for them.
        around = {"asked_at": sent_at + answer.claimed_after}
        return [_CLAIMED.to_struct(message, around) for message in answer.pipelines]

    async def _give_pipeline_back(self, command: ClaimPipelines, found: ClaimedPipeline) -> None:
        await self.release_pipeline(PipelineClaim(namespace=command.namespace, pipeline=found.name, token=found.token))


class RemotePipelineWork(RemotePipelineClaims):
    """Each write is a call of its own: the one behind it waits for its answer anyway."""

    def reserve_events(self, command: ReserveEvents) -> Answer[Reserved]:
        return self._submit(self._calls.ask("ReserveEvents", command, Reserved))

    def begin_effect(self, command: BeginEffect) -> Answer[Begun]:
        return self._submit(self._calls.ask("BeginEffect", command, Begun))

    def apply_effect(self, command: ApplyEffect) -> Answer[Instant]:
        return self._submit(self._written("ApplyEffect", command))

    def commit_handler(self, command: CommitHandler) -> Answer[Committed]:
        return self._submit(self._commit(command))

    def stop_handler(self, command: StopHandler) -> Answer[Stopped]:
        return self._submit(self._calls.ask("StopHandler", command, Stopped))

    def reconcile_effect(self, command: ReconcileEffect) -> Answer[Reconciled]:
        return self._submit(self._calls.ask("ReconcileEffect", command, Reconciled))

    def fail_effect(self, command: FailEffect) -> Answer[Begun]:
        return self._submit(self._calls.ask("FailEffect", command, Begun))

    def fix_handler(self, command: FixHandler) -> Answer[Instant]:
        return self._submit(self._written("FixHandler", command))

    async def _written(self, method: str, command: Struct) -> Instant:
        written: of.Written = await self._calls.ask(method, command, of.Written)
        return written.at

    async def _commit(self, command: CommitHandler) -> Committed:
        """In one call, because all of it is committed or nothing. Raises InvalidInput if it does not fit."""
        try:
            committed: Committed = await self._calls.ask("CommitHandler", command, Committed)
        except InvalidInput as error:
            raise _too_large(command) if error.reason == TOO_LARGE else error from None
        return committed

    def _submit(self, call: Coroutine[Any, Any, Any]) -> Answer[Any]:
        # In an empty context, because the caller may be a run, and the call is no part of it.
        task = asyncio.get_running_loop().create_task(_answered(call), context=contextvars.Context())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return answer_of(task)


async def _answered(call: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await call
    except asyncio.CancelledError:
        raise Unavailable("The connection to the server was closed before it answered.") from None


def _too_large(command: CommitHandler) -> InvalidInput:
    size = sum(len(event.payload) for event in command.events) + len(command.state or b"")
    text = (
        f"{len(command.events):,} events and a state of {size:,} bytes together do not fit into one call to a server, "
        f"which takes {LARGEST_REQUEST:,} bytes. Publish less at a time: keep in the state how far it came, and go on "
        "from there in the next run."
    )
    return InvalidInput(text, reason=TOO_LARGE, path="events")

"""A pipeline that this worker holds: its claim is renewed while code is at work, and given back at the end.

Every write carries the token of the claim. When that has run out nothing is written any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from windlass.errors import ClaimLost, Unavailable, WindlassError
from windlass.model.claims import Renewal
from windlass.model.duration import describe
from windlass.model.pipeline_work import ClaimedPipeline, PipelineClaim
from windlass.model.time import SECOND, Duration
from windlass.worker.claims import InFlight
from windlass.worker.host import Host
from windlass.worker.running import Halted, is_coroutine_function, settle
from windlass.worker.tenure import Tenure

LOGGER = logging.getLogger("windlass.worker")

T = TypeVar("T")

SEND_AGAIN_AFTER = SECOND  # on top of the engine's own patience


class PipelineHold:
    def __init__(self, claimed: ClaimedPipeline, host: Host) -> None:
        self.claimed, self.host = claimed, host
        self.tenure = Tenure(claimed, host.clock)
        # What every write about this pipeline carries, above all the token of its claim.
        self.held: dict[str, Any] = {
            "namespace": host.namespace,
            "pipeline": claimed.name,
            "token": claimed.token,
        }
        self._halted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.has_run_out = self._is_given_back = False
        self._code: Callable[..., Any] | None = None  # of the user, that is at work, if any
        self._ends_at: int | None = None  # when it has to be over, by the clock that never goes back
        self._unanswered: Exception | None = None  # what we raised last, perhaps into code of the user

    @property
    def is_stopping(self) -> bool:
        """Is nothing called any more, though the claim lasts?"""
        return self._halted.done() and not self.has_run_out

    def stop(self) -> None:
        """The worker's grace is over: stop the code, and give the pipeline back."""
        settle(self._halted)

    def lose_claim(self) -> None:
        """The claim is gone, or may be: stop the code, and write nothing any more."""
        self.has_run_out = True
        settle(self._halted)

    async def secure(self) -> None:
        """Have at least half of the claim left; while code is at work it is renewed."""
        asked_at = self.host.clock.monotonic()
        needed = self.tenure.renewal(now=asked_at)
        if needed is not None:
            claim = PipelineClaim(**self.held, visibility_for=needed)
            await self.patiently(lambda: self.host.work.renew_pipeline(claim))
            self.renewed(needed, asked_at=asked_at)

    def renewed(self, visibility_for: Duration | None, *, asked_at: int) -> None:
        if visibility_for is not None:
            self.tenure.renewed(asked_at=asked_at, visibility_for=visibility_for)

    async def patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again while the store is away and the claim lasts: what was done is worth more than a slot."""
        try:
            while True:
                try:
                    return await ask()
                except Unavailable:
                    if self.host.is_draining or self._halted.done() or self.tenure.left() <= 0:
                        raise
                await self.host.clock.sleep(SEND_AGAIN_AFTER)
                if self.has_run_out:
                    raise Halted
        except (ClaimLost, Unavailable, Halted) as error:
            self._unanswered = error
            raise

    @property
    def is_over(self) -> bool:
        return self.has_run_out or self._is_given_back

    def enters(self, code: Callable[..., Any]) -> None:
        """User code is about to be called: from now on the claim is renewed."""
        self._code, self._ends_at = code, None

    def entered(self, timeout_for: Duration) -> None:
        """It was called, and may take that long."""
        self._ends_at = self.host.clock.monotonic() + timeout_for

    def leaves(self) -> None:
        self._code = None

    def in_flight(self, now: int) -> InFlight | None:
        """Code that goes on behind its time-out, because it cannot be stopped, renews nothing."""
        if self._code is None or (self._ends_at is not None and now >= self._ends_at):
            return None
        is_in_threads = not is_coroutine_function(self._code)
        return InFlight(self.tenure.visibility_for, ends_at=self._ends_at, is_in_threads=is_in_threads)

    def renewal(self, visibility_for: Duration) -> Renewal:
        return Renewal(id=self.claimed.name, token=self.claimed.token, visibility_for=visibility_for)

    def run_out(self) -> None:
        self.lose_claim()
        LOGGER.warning(
            "The claim on pipeline %r ran out: for %s none of its code was at work, or this process or its event loop "
            "stood still. Another worker may take it.",
            self.claimed.name,
            describe(self.tenure.visibility_for),
            extra={"pipeline": self.claimed.name},
        )

    def give_up_claim(self) -> None:
        """The claim is over: what is left to do is told to people, and takes as long as it takes."""
        self._is_given_back = True

    async def _give_back(self) -> None:
        try:
            await self.host.work.release_pipeline(PipelineClaim(**self.held))
        except WindlassError as error:
            LOGGER.info("Pipeline %r could not be given back: %s", self.claimed.name, error)

    async def _give_back_when_answered(self) -> None:
        """The store was away: when it is back, nobody has to wait for the end of the claim."""
        while self.tenure.left() > 0 and not self.host.is_draining:
            try:
                return await self.host.work.release_pipeline(PipelineClaim(**self.held))
            except Unavailable:
                await self.host.clock.sleep(SEND_AGAIN_AFTER)
            except WindlassError:
                return  # it is somebody else's

"""Keep the claims of a worker while its code is at work, and drop what has run out. One timer for all of them.

    half of a claim has passed ─┬─ a body is at work, within its time ─► renewed, in one batch with all that are due
                                └─ none is                            ─► looked at again when the claim ends
    a claim has run out        ─┬─ only threads are at work           ─► renewed, if nobody else has claimed it
                                └─ otherwise                          ─► dropped: another worker may have it

The timer runs on the event loop, so it fires only while the loop lives. A loop that stood still for longer than a claim
finds that claim run out, and stops the bodies that could not have moved either. A thread moves without the loop: one
call into C or a subprocess gives no other sign of life. So the store is asked, whose guard is the token.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol

from windlass.api.service import Work
from windlass.errors import ClaimLost, Unavailable, WindlassError
from windlass.model.claims import Renewal, RenewClaims
from windlass.model.time import SECOND, Duration
from windlass.runtime import Clock, Timer
from windlass.worker.tenure import Tenure

LOGGER = logging.getLogger("windlass.worker")

MOST_OFTEN = SECOND  # between two batches, however many claims there are


class InFlight(NamedTuple):
    """Code at work under a claim, within its time."""

    visibility_for: Duration  # how long a claim it is renewed for
    ends_at: int | None  # when none of it may go on, by the clock that never goes back; none: it sees to that itself
    is_in_threads: bool  # nothing of it needs the event loop


class Holder(Protocol):
    """What holds a claim: a run, or a pipeline."""

    @property
    def tenure(self) -> Tenure: ...

    @property
    def is_over(self) -> bool: ...

    def in_flight(self, now: int) -> InFlight | None: ...

    def renewal(self, visibility_for: Duration) -> Renewal: ...

    def run_out(self) -> None:
        """Nobody renewed the claim in time: stop, and write nothing any more."""

    def lose_claim(self) -> None:
        """The store says that the claim is somebody else's."""


class Claims:
    def __init__(
        self,
        clock: Clock,
        *,
        namespace: str,
        work: Work,
        holders: Callable[[], tuple[Iterable[Holder], Iterable[Holder]]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._clock, self._namespace, self._work, self._spawn = clock, namespace, work, spawn
        self._holders = holders  # of runs, and of pipelines
        self._timer: Timer | None = None
        self._at = 0  # when it fires
        self._next_batch_at = 0
        self._renewing: dict[Holder, Duration] = {}  # on their way to the store
        self._is_stopped = False

    @property
    def is_renewing(self) -> bool:
        return bool(self._renewing)

    @property
    def next_look_in(self) -> int | None:
        """How long until claims are looked at again."""
        return None if self._timer is None else max(0, self._at - self._clock.monotonic())

    def watch(self, tenure: Tenure) -> None:
        """Look at all claims when half of this one has passed, if no look is due sooner."""
        self._look_at(tenure.until - tenure.visibility_for // 2)

    def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _look_at(self, moment: int) -> None:
        if self._timer is not None:
            if self._at <= moment:
                return
            self._timer.cancel()
        self._at = moment
        self._timer = self._clock.call_later(moment - self._clock.monotonic(), self._look)

    def _look(self) -> None:
        self._timer = None
        if self._is_stopped:
            return
        now = self._clock.monotonic()
        due: dict[Holder, Duration] = {}
        looks = [self._judge(holder, due, now=now) for holders in self._holders() for holder in tuple(holders)]
        if due and not self._renewing and now >= self._next_batch_at:
            self._next_batch_at = now + min(MOST_OFTEN, min(due.values()) // 4)
            self._renewing = due
            self._spawn(self._renew(due))
        moments = [moment for moment in looks if moment is not None]
        if moments:
            self._look_at(max(now + 1, min(moments)))

    def _judge(self, holder: Holder, due: dict[Holder, Duration], *, now: int) -> int | None:
        """Note that a claim is to be renewed, or drop it. Answers when to look at it again."""
        if holder.is_over or holder in self._renewing:
            return None  # what is on its way is looked at when it is answered
        at_work, until = holder.in_flight(now), holder.tenure.until
        if at_work is not None:
            half = until - at_work.visibility_for // 2
            if now < half:
                return half if at_work.ends_at is None else min(half, at_work.ends_at)
            if now < until or at_work.is_in_threads:
                due[holder] = at_work.visibility_for
                return max(now, self._next_batch_at)
        if now >= until:
            holder.run_out()
            return None
        half = until - holder.tenure.visibility_for // 2
        return half if now < half else until

    async def _renew(self, due: dict[Holder, Duration]) -> None:
        asked_at = self._clock.monotonic()
        try:
            lost = await self._send(due)
        except Unavailable as error:
            LOGGER.info("Claims could not be renewed yet: %s", error)
        except WindlassError as error:
            LOGGER.warning("Claims could not be renewed: %s", error)
        except Exception:  # a bug of ours must not let healthy work run out
            LOGGER.exception("Claims could not be renewed")
        else:
            self._answered(due, lost, asked_at=asked_at)
        finally:
            self._renewing = {}
            if not self._is_stopped:
                self._look_at(max(self._clock.monotonic() + 1, self._next_batch_at))

    def _answered(self, due: dict[Holder, Duration], lost: set[Holder], *, asked_at: int) -> None:
        for holder, visibility_for in due.items():
            if holder.is_over:
                continue
            if holder in lost:
                holder.lose_claim()
            else:
                holder.tenure.renewed(asked_at=asked_at, visibility_for=visibility_for)

    async def _send(self, due: dict[Holder, Duration]) -> set[Holder]:
        """Answers with those whose claims are lost."""
        runs, pipelines = (
            {holder: holder.renewal(due[holder]) for holder in holders if holder in due} for holders in self._holders()
        )
        command = RenewClaims(
            namespace=self._namespace,
            runs=tuple(sorted(runs.values(), key=lambda item: item.id)),
            pipelines=tuple(sorted(pipelines.values(), key=lambda item: item.id)),
        )
        try:
            renewed = await self._work.renew_claims(command)
        except ClaimLost:  # of one that this worker's key may not serve any more: the gate refuses the whole batch
            if len(due) == 1:
                return set(due)
            return {holder for holder in due if await self._send({holder: due[holder]})}
        gone_runs, gone_pipelines = set(renewed.lost_runs), set(renewed.lost_pipelines)
        return {
            *(holder for holder, item in runs.items() if item.id in gone_runs),
            *(holder for holder, item in pipelines.items() if item.id in gone_pipelines),
        }

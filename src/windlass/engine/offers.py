"""Local dispatch: a claim call that waits in this process is an offer of slots, and a start may answer it.

The run is then inserted already claimed, which saves a commit. The offer is only a place in memory: if the process dies
between the insert and the hand-over, the run is an ordinary claim nobody released.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from windlass.model.commands import ClaimedRun, ClaimRuns
from windlass.model.worker import Served
from windlass.notify.local import Subscription


class Offer:
    """The free slots of one waiting claim call."""

    def __init__(self, command: ClaimRuns, waiter: Subscription, orphan: Callable[[ClaimedRun], Any]) -> None:
        self.command = command
        self.taken: list[ClaimedRun] = []
        self.in_flight = 0
        self._served = frozenset(command.served)
        self._waiter, self._orphan = waiter, orphan
        self._is_abandoned = False
        self.is_open = True  # else its claim call only waits for what is in flight

    def serves(self, served: Served) -> bool:
        return served in self._served

    @property
    def free(self) -> int:
        return self.command.limit - len(self.taken) - self.in_flight

    def accepts(self, served: Served) -> bool:
        return served in self._served and self.free > 0

    def reserve(self, count: int = 1) -> None:
        self.in_flight += count

    def deliver(self, run: ClaimedRun) -> None:
        self.in_flight -= 1
        if self._is_abandoned:
            self._orphan(run)
        else:
            self.taken.append(run)
            self._waiter.wake()

    def give_back(self, count: int = 1) -> None:
        """Reserved slots were not needed: the start was a repeat, or failed; or no job was released."""
        self.in_flight -= count
        if not self.is_open:
            self._waiter.wake()

    def abandon(self) -> None:
        """The caller is gone: whatever was or will be delivered goes back to the queue."""
        self._is_abandoned = True
        for run in self.taken:
            self._orphan(run)
        self.taken.clear()


class Slots:
    """Slots of several offers, set aside for whatever a transaction may bring: only that knows which lanes it is.

    The transaction may be driven on another thread, so it counts here and leaves the offers alone until it is over.
    """

    def __init__(self, reserved: Sequence[tuple[Offer, int]]) -> None:
        self._reserved = reserved
        self._left = [count for _, count in reserved]

    def reset(self) -> None:
        """The transaction is run once more."""
        self._left = [count for _, count in self._reserved]

    def take(self, namespace: str, served: Served) -> Offer | None:
        for place, (offer, _) in enumerate(self._reserved):
            if self._left[place] and offer.command.namespace == namespace and offer.serves(served):
                self._left[place] -= 1
                return offer
        return None

    def give_back(self, used: Mapping[int, int]) -> None:
        """Those that nothing was claimed for; `used` says how many of each offer were delivered."""
        for offer, count in self._reserved:
            offer.give_back(count - used.get(id(offer), 0))


class Offers:
    """The offers open in this process."""

    def __init__(self) -> None:
        self._open: list[Offer] = []

    def add(self, offer: Offer) -> None:
        self._open.append(offer)

    def remove(self, offer: Offer) -> None:
        """No start may reserve a slot of it any more."""
        offer.is_open = False
        if offer in self._open:
            self._open.remove(offer)

    @property
    def are_open(self) -> bool:
        """Whether there are any at all: a start that asks for one costs more than most of what follows."""
        return bool(self._open)

    def set_aside(self, namespaces: Collection[str]) -> Slots:
        """All that is free, for a transaction that may bring runs to claim."""
        reserved = [
            (offer, offer.free) for offer in self._open if offer.command.namespace in namespaces and offer.free > 0
        ]
        for offer, count in reserved:
            offer.reserve(count)
        return Slots(reserved)

    def reserve(self, namespace: str, served: Served) -> Offer | None:
        for offer in self._open:
            if offer.command.namespace == namespace and offer.accepts(served):
                offer.reserve()
                return offer
        return None

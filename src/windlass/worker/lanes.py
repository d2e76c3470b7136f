"""Which queues a worker serves: those it was given, or all that its app names by now and its key allows."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from windlass.define.registry import Registry
from windlass.model.run import WorkerId
from windlass.model.worker import Served, ServedPipeline
from windlass.rules.queues import DEFAULT_QUEUE
from windlass.rules.workers import MOST_LANES

LOGGER = logging.getLogger("windlass.worker")


class Lanes:
    def __init__(self, registry: Registry, *, given: tuple[str, ...] | None) -> None:
        self._registry, self._given = registry, given
        self.queues: tuple[str, ...] = given or ()  # that are served now; more than before only once that is on record
        self.left_out: tuple[str, ...] = ()  # named by the app, and not allowed to its key
        self._entered: tuple[str, ...] = ()  # with which it was last entered

    @property
    def is_given(self) -> bool:
        return self._given is not None

    @property
    def wanted(self) -> tuple[str, ...]:
        return self._registry.queues if self._given is None else self._given

    @property
    def is_behind(self) -> bool:
        """Something was declared in a queue that was not thought of when the worker was entered."""
        return self.wanted != self._entered

    def enter(self, wanted: tuple[str, ...], *, left_out: tuple[str, ...], worker: WorkerId) -> None:
        """The worker is on record for these, but for what its key does not allow."""
        if self._entered == self.wanted != wanted:  # the answer to an older registration, which came late
            return
        was, is_first = self.queues, not self._entered
        kept = {*left_out} - {*self.left_out}
        self._entered, self.left_out = wanted, left_out
        self.queues = tuple(queue for queue in wanted if queue not in left_out)
        if not is_first and self.queues != was:
            LOGGER.info("Worker %s serves %s by now.", worker, _listed(self.queues))
        if kept:
            told = "The key of worker %s may not serve %s: left out, though the app names %s."
            LOGGER.warning(told, worker, _listed(sorted(kept)), "it" if len(kept) == 1 else "them")

    def served(self, queues: tuple[str, ...] | None = None) -> tuple[Served, ...]:
        """Every workflow in every queue, as a run may be started in another one than its workflow's.

        Where that would be more than a server takes, each in its own queue, and in the one of those that name none.
        """
        found = self._registry.served(self.queues if queues is None else queues)
        if self.is_given or len(found) <= MOST_LANES:
            return found
        own = {(item.name, item.version): item.queue for item in self._registry.workflows}
        return tuple(lane for lane in found if lane.queue in (own[lane.name, lane.version], DEFAULT_QUEUE))

    def pipelines(self, queues: tuple[str, ...] | None = None) -> tuple[ServedPipeline, ...]:
        return self._registry.handlers.served_pipelines(self.queues if queues is None else queues)


def _listed(queues: Iterable[str]) -> str:
    names = [*map(repr, queues)]
    return f"{'queue' if len(names) == 1 else 'queues'} {', '.join(names)}"

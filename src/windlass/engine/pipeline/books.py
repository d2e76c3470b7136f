"""What lies on a desk: the handlers of its pipelines, their attempts, and the ledger of their effects.

Each is read once, changed in memory, and written when the desk is saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from windlass.model.effect import Effect
from windlass.model.pipeline import Handler, HandlerRun, HandlerRunId, Pipeline
from windlass.store.base import Tx
from windlass.store.queries.pipelines import State

UNREAD = b"\0"  # no state is that


class Roster:
    """The handlers of the pipelines on the desk, and what they keep from run to run."""

    def __init__(self, tx: Tx, namespace: str, pipelines: Mapping[str, Pipeline]) -> None:
        self._tx, self._namespace, self._pipelines = tx, namespace, pipelines
        self._handlers: dict[str, dict[str, Handler]] = {}
        self._changed: dict[tuple[str, str], Handler] = {}
        self._states: dict[tuple[str, str], bytes | None] = {}

    async def of(self, pipeline: str) -> list[Handler]:
        """In the order they were declared. Of all pipelines on the desk, when the first is asked for."""
        if pipeline not in self._handlers:
            wanted = [name for name in self._pipelines if name not in self._handlers]
            for name, found in (await self._tx.handlers.of(self._namespace, pipelines=wanted)).items():
                self._handlers[name] = {handler.name: handler for handler in found}
        return list(self._handlers[pipeline].values())

    async def find(self, pipeline: str, name: str) -> Handler | None:
        await self.of(pipeline)
        return self._handlers[pipeline].get(name)

    async def state(self, handler: Handler) -> bytes | None:
        known = self._states.get((handler.pipeline, handler.name), UNREAD)
        return await self._tx.handlers.state(handler) if known == UNREAD else known

    def put(self, handler: Handler) -> None:
        if self._handlers[handler.pipeline].get(handler.name) != handler:
            self._handlers[handler.pipeline][handler.name] = handler
            self._changed[handler.pipeline, handler.name] = handler

    def declare(self, pipeline: str, handlers: Sequence[Handler]) -> None:
        """These are its handlers from now on; they are written already."""
        self._handlers[pipeline] = {handler.name: handler for handler in handlers}

    def keep_state(self, handler: Handler, state: bytes | None) -> None:
        self._states[handler.pipeline, handler.name] = state

    async def save(self) -> None:
        if self._changed:
            await self._tx.handlers.save([self._changed[key] for key in sorted(self._changed)])
        if self._states:
            await self._tx.handlers.save_states(
                [
                    State(namespace=self._namespace, pipeline=pipeline, name=name, state=state)
                    for (pipeline, name), state in sorted(self._states.items())
                ]
            )


class Book:
    """Attempts, with what they have prepared and found."""

    def __init__(self, tx: Tx, namespace: str) -> None:
        self._tx, self._namespace = tx, namespace
        self.runs: dict[HandlerRunId, HandlerRun] = {}
        self._new: set[HandlerRunId] = set()
        self._changed: set[HandlerRunId] = set()
        self._data: dict[HandlerRunId, bytes] = {}
        self._results: dict[HandlerRunId, bytes | None] = {}

    async def read(self, ids: Iterable[str]) -> None:
        self.runs.update(await self._tx.handler_runs.load(self._namespace, ids=ids))

    async def contents(self, run_id: HandlerRunId) -> tuple[bytes | None, bytes | None]:
        """What an attempt has prepared, and what its effect returned."""
        if run_id in self._new:
            return self._data.get(run_id), self._results.get(run_id)
        data, result = await self._tx.handler_runs.contents(self._namespace, id=run_id)
        return self._data.get(run_id, data), self._results.get(run_id, result)

    def add(self, run: HandlerRun) -> None:
        self.runs[run.id] = run
        self._new.add(run.id)

    def put(self, run: HandlerRun) -> None:
        self.runs[run.id] = run
        self._changed.add(run.id)

    def keep_data(self, run_id: HandlerRunId, data: bytes | None) -> None:
        if data is not None:
            self._data[run_id] = data

    def keep_result(self, run_id: HandlerRunId, result: bytes | None) -> None:
        self._results[run_id] = result

    async def save(self) -> None:
        if self._new:
            await self._tx.handler_runs.create([self.runs[id] for id in sorted(self._new)], self._written)
        changed = sorted((self._changed | self._data.keys() | self._results.keys()) - self._new)
        if changed:
            await self._tx.handler_runs.save([self.runs[id] for id in changed], self._written)

    def _written(self, run_id: HandlerRunId) -> tuple[bytes | None, bytes | None]:
        return self._data.get(run_id), self._results.get(run_id)


class Ledger:
    """The effects of attempts, by whoever may write about them now."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.effects: dict[str, Effect] = {}
        self._new: set[str] = set()
        self._changed: set[str] = set()

    async def read(self, namespace: str, owners: Iterable[str]) -> None:
        found = await self._tx.effects.of(namespace, owners=owners)
        self.effects.update({effect.owner: effect for effect in found.values()})

    def add(self, effect: Effect) -> None:
        self.effects[effect.owner] = effect
        self._new.add(effect.owner)

    def put(self, effect: Effect) -> None:
        self.effects[effect.owner] = effect
        self._changed.add(effect.owner)

    async def hand_over(self, effect: Effect, *, was_owner: HandlerRunId) -> None:
        """The ledger of an attempt belongs to the one that follows it."""
        await self._tx.effects.save([effect], was_owner=was_owner)
        self.effects.pop(was_owner, None)
        self.effects[effect.owner] = effect

    async def save(self) -> None:
        if self._new:
            await self._tx.effects.insert([self.effects[owner] for owner in sorted(self._new)])
        changed = sorted(self._changed - self._new)
        if changed:
            await self._tx.effects.save([self.effects[owner] for owner in changed])

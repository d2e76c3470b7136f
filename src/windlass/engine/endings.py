"""Whoever waits for the end of a run hears it from whoever wrote it, if both are in this process: it is not read again.

Only a short cut. Who hears nothing here, because another process ended the run or the answer was lost, looks.
"""

from __future__ import annotations

from windlass.model.commands import FinishRun, Outcome
from windlass.model.run import RunId

Key = tuple[str, RunId]  # namespace and run


class Endings:
    def __init__(self) -> None:
        self._waiting: dict[Key, int] = {}  # how many wait for it
        self._known: dict[Key, Outcome] = {}

    def expect(self, key: Key) -> None:
        self._waiting[key] = self._waiting.get(key, 0) + 1

    def leave(self, key: Key) -> None:
        self._waiting[key] -= 1
        if not self._waiting[key]:
            del self._waiting[key]
            self._known.pop(key, None)

    def tell(self, command: FinishRun) -> None:
        """This is committed."""
        key = (command.namespace, command.run_id)
        if key in self._waiting:
            self._known[key] = Outcome(status=command.status, output=command.output, failure=command.failure)

    def find(self, key: Key) -> Outcome | None:
        return self._known.get(key)

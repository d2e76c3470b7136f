"""While a test runs, an app of the program leads to the harness: what asks it anything asks there."""

from __future__ import annotations

from typing import Any

from windlass.app import App
from windlass.assembly import Opened
from windlass.client.opening import Opening
from windlass.define.registry import Registry


def give_registry(app: App, registry: Registry) -> None:
    """Let an app that is not open yet run, start and publish to what is declared there."""
    app._registry = registry
    app._make_askers()


class Lending:
    """What of the program's app stands aside, and what stands in its place."""

    def __init__(self, theirs: App, ours: App) -> None:
        self._theirs = theirs
        lent: dict[str, Any] = {
            "_client": ours._client,
            "_sync": ours._sync,
            "_clock": ours._clock,
            "_opening": Opening(ours._opening.get, _leave_open),
            "_closing": None,
        }
        self._aside = {name: getattr(theirs, name) for name in lent}
        vars(theirs).update(lent)

    def end(self) -> None:
        """Everything is as it was. Harmless when it is repeated."""
        vars(self._theirs).update(self._aside)
        self._aside = {}


async def _leave_open(_: Opened) -> None:
    """A program that closes its app does not close the harness."""

"""While a test runs, an app of the program leads to the harness: what asks it anything asks there."""

from __future__ import annotations

from typing import Any

from windlass.app import App
from windlass.assembly import Opened
from windlass.client.client import Client
from windlass.client.opening import Opening
from windlass.client.pipelines import Pipelines
from windlass.client.publishing import Publishing
from windlass.client.schedules import Schedules
from windlass.define.registry import Registry


def give_registry(app: App, registry: Registry) -> None:
    """Let an app that is not open yet run, start and publish to what is declared there."""
    app._registry = registry
    door = app._door()
    app._client, app._schedules = Client(door), Schedules(door, app._schedule_service)
    app._publishing = Publishing(door, app._pipeline_service, control=app._pipeline_control, program=app._program)
    app._pipelines = Pipelines(door, service=app._pipeline_service, control=app._pipeline_control)


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

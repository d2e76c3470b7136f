"""While a test runs, an app of the program leads to the harness: what asks it anything asks there.

From `use` on there is no way around: neither of the app's own database nor of its port for metrics is anything opened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from windlass.app import App
from windlass.client.opening import Opening
from windlass.define.registry import Registry
from windlass.errors import NotAllowed
from windlass.testing.home import Home

Open = Callable[[], Awaitable[Any]]

ASKERS = ("_client", "_schedules", "_publishing", "_pipelines", "_items", "_signals")  # of an App
ABSENT: Any = object()


def give_registry(app: App, registry: Registry) -> None:
    """Let an app that is not open yet run, start and publish to what is declared there."""
    app._registry = registry
    app._make_askers()


class Reached(Opening[Any]):
    """What an app asks through, on any loop: it opens the harness, and answers with doors that lead there."""

    def __init__(self, home: Home, reach: Open, *, open: Open | None = None, close: Any = None) -> None:
        super().__init__(open or reach, close or _leave_open)
        self._home, self._reach = home, reach

    async def get(self) -> Any:
        if self.is_open and self._home.is_here:
            return await super().get()
        return await self._reach()

    async def look(self) -> Any:
        """To read is to open as well: the database of a test is always new."""
        return await self.get()

    async def enter(self) -> None:
        await self.get()


def settle(app: App, *, home: Home, reach: Open) -> App:
    """Let the app of a harness live where the harness does. It is not open yet."""
    opening = Reached(home, reach, open=app._open_engine, close=lambda opened: opened.close())
    app._opening, app._sync._portal, app._sync._open = opening, home, opening.get
    return app


async def open_here(app: App) -> Any:
    """What is behind the doors of the app of a harness, on the loop where it lives: it alone, without a worker."""
    return await Opening.get(app._opening)


class Doors:
    """The doors of an open harness, for those who are on another loop."""

    def __init__(self, opened: Any, home: Home) -> None:
        self._opened, self._home = opened, home

    def __getattr__(self, name: str) -> _Door:
        return _Door(getattr(self._opened, name), self._home)


class _Door:
    def __init__(self, door: Any, home: Home) -> None:
        self._door, self._home = door, home

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._door, name)

        def ask(*args: Any, **options: Any) -> Awaitable[Any]:
            return self._home.ask(lambda: method(*args, **options))

        return ask


class Lending:
    """What of the program's app stands aside, and what stands in its place.

    An app that is lent twice leads to the last harness that took it; whichever ends first, the rest stays as it should.
    """

    def __init__(
        self, theirs: App, ours: App, *, home: Home, reach: Open, finish: Callable[[Any], Awaitable[Any]]
    ) -> None:
        self._theirs = theirs
        opening = Reached(home, reach)
        lent = {
            "_clock": ours._clock,
            "_rng": ours._rng,
            "_telemetry": ours._telemetry,
            "_opening": opening,
            "_closing": None,
            "_workers": [],  # those that it has elsewhere go on there
            "_working": _worker_of_the_harness(reach),
            "_run": _runner(theirs, finish),
            "serve": _refuse_to_serve,
        }
        # What was taken from the app before, such as `sync = app.sync`, leads here as well.
        sync = {"_portal": home, "_open": opening.get}
        self._aside = [
            (theirs, _swap(theirs, {name: getattr(theirs, name) for name in ASKERS} | lent)),
            (theirs._sync, _swap(theirs._sync, sync)),
        ]
        theirs._make_askers()  # with this clock
        _lendings.setdefault(theirs, []).append(self)

    def end(self) -> None:
        """Everything is as it was. Harmless when it is repeated."""
        lendings = _lendings.get(self._theirs, [])
        if self not in lendings:
            return
        place = lendings.index(self)
        lendings.remove(self)
        if place < len(lendings):
            lendings[place]._aside = self._aside
        else:
            for holder, values in self._aside:
                _swap(holder, values)


_lendings: WeakKeyDictionary[App, list[Lending]] = WeakKeyDictionary()


def _swap(holder: object, values: Mapping[str, Any]) -> dict[str, Any]:
    """Give an object these attributes of its own, and answer with what they were."""
    own = vars(holder)
    before = {name: own.pop(name, ABSENT) for name in values}
    own.update({name: value for name, value in values.items() if value is not ABSENT})
    return before


def _worker_of_the_harness(reach: Open) -> Callable[..., Any]:
    """Stands for every worker of the app: the harness has one, which takes all that the app declares."""

    @asynccontextmanager
    async def working(*_: object, **__: object) -> AsyncIterator[None]:
        await reach()
        yield

    return working


def _runner(theirs: App, finish: Callable[[Any], Awaitable[Any]]) -> Callable[..., Any]:
    """Stands for `app.run`: the harness takes the run to its end, skipping every sleep."""

    async def run(definition: Any, args: Any, options: Any) -> Any:
        return await finish(await theirs._client.start(definition, args, options))

    return run


def _refuse_to_serve(**_: object) -> NoReturn:
    raise NotAllowed("app.serve() goes on until it is stopped by a signal. In a test the harness executes the runs.")


async def _leave_open(_: object) -> None:
    """A program that closes its app does not close the harness."""

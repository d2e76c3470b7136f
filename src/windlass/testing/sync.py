"""The same names, blocking: for tests that do not await.

def test_a_week_passes(windlass_harness):
    windlass_harness.use(app)

    client.post("/orders/7")
    windlass_harness.sync.advance("7d")

    assert client.get("/orders/7").json() == {"status": "completed"}
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from windlass.client.handle import Handle
from windlass.client.sync import SyncHandle
from windlass.define.context import Context
from windlass.model.step import Step

if TYPE_CHECKING:
    from windlass.testing.crash_everywhere import CrashReport, Script
    from windlass.testing.harness import Harness

R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Workflow = Callable[[Context, *Ts], Coroutine[Any, Any, R]]


class SyncHarness:
    """`harness.sync`: what a harness does, for code that does not await. `with harness.sync:` opens and closes it.

    The harness lives on an event loop in a thread of its own then, unless an async test has used it before.
    """

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def start(self, fn: Workflow[*Ts, R], /, *args: *Ts, **options: Any) -> SyncHandle[R]:
        """Store a run, as `app.sync.start`. `idle` waits until it has gone as far as it can."""
        handle = self._run(lambda: self._harness.start(fn, *args, **options), "start")
        held: SyncHandle[R] = self._harness.app.sync._held(handle)
        return held

    def run(self, fn: Workflow[*Ts, R], /, *args: *Ts, **options: Any) -> R:
        """Start a run and take it to its end, skipping every sleep. Raises what `result` raises, and Stuck."""
        return self._run(lambda: self._harness.run(fn, *args, **options), "run")

    def advance(self, duration: str | int | timedelta) -> None:
        """Let time pass and everything that became due happen."""
        self._run(lambda: self._harness.advance(duration), "advance")

    def idle(self) -> None:
        """Wait until nothing is at work and nothing is due."""
        self._run(self._harness.idle, "idle")

    def until(
        self, handle: SyncHandle[Any] | Handle[Any], status: str, *, within: str | timedelta | None = None
    ) -> None:
        """Wait until the run has this status: with the clock standing still, or `within` so much time of the clock."""
        self._run(lambda: self._harness.until(_awaited(handle), status, within=within), "until")

    def steps(self, handle: SyncHandle[Any] | Handle[Any]) -> tuple[Step, ...]:
        """Every attempt of every step of a run."""
        return self._run(lambda: self._harness.steps(_awaited(handle)), "steps")

    def crash_everywhere(
        self,
        fn: Workflow[*Ts, R],
        /,
        *args: *Ts,
        script: Script | None = None,
        check: Script | None = None,
        **options: Any,
    ) -> CrashReport:
        """Run it once for every place where its worker may die. `script` and `check` are awaited here too."""
        everywhere = self._harness.crash_everywhere
        return self._run(lambda: everywhere(fn, *args, script=script, check=check, **options), "crash_everywhere")

    def __enter__(self) -> Harness:
        self._run(self._harness._open, "__enter__")
        return self._harness

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if kind is None:
            self._harness._check_crashes()

    def close(self) -> None:
        """Stop the worker and close the database. Nothing of the program is replaced any more."""
        harness = self._harness
        try:
            if harness._opening is not None and harness._home.is_reachable:
                self._run(harness._close, "close")
        finally:
            harness._home.end()
            harness._give_app_back()

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
        method = {"__enter__": "__aenter__", "close": "aclose"}.get(name, name)
        return self._harness._home.run(work, verb=f"harness.sync.{name}()", instead=f"await harness.{method}(…)")


def _awaited(handle: SyncHandle[Any] | Handle[Any]) -> Handle[Any]:
    return handle._handle if isinstance(handle, SyncHandle) else handle

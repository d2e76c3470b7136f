"""The `ctx` of a run: turns what the code asks into calls with stable keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, MutableMapping
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.define.context import Context
from windlass.define.options import MAP_OPTIONS, STEP_OPTIONS, DurationLike, refuse_unknown_options
from windlass.errors import AmbiguousStep, InvalidInput, NotAllowed
from windlass.model.duration import from_instant, to_duration, to_instant
from windlass.model.step import StepKind
from windlass.model.time import Instant
from windlass.rules.limits import MOST_ITEMS, check_limit, check_step_key
from windlass.runtime import seeded_rng
from windlass.worker.calls import Call, Group
from windlass.worker.execute import Execution

LOGGER = logging.getLogger("windlass.run")


class RunLog(logging.LoggerAdapter[logging.Logger]):
    """Silent while the run is replayed: what was logged once is not logged again."""

    def __init__(self, execution: Execution) -> None:
        super().__init__(LOGGER, {"run_id": execution.claimed.run_id, "workflow": execution.claimed.name})
        self._execution = execution

    def isEnabledFor(self, level: int) -> bool:
        return not self._execution.is_replaying and super().isEnabledFor(level)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return f"[{self._execution.claimed.run_id}] {msg}", kwargs


class RunContext(Context):
    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._owners: dict[str, asyncio.Task[Any] | None] = {}
        self._counts: dict[str, int] = {}
        self._total = 0
        self.run_id = execution.claimed.run_id
        self.key = execution.claimed.key
        self.log = RunLog(execution)
        self.random = seeded_rng(self.run_id)
        self._uuids = seeded_rng(self.run_id + ":uuid")

    def uuid(self) -> UUID:
        return UUID(int=self._uuids.getrandbits(128), version=4)

    def now(self) -> datetime:
        return from_instant(Instant(self._execution.now))

    # mypy compares with the overloads users see; this one body serves them all.
    def step(  # type: ignore[override]
        self, fn: Callable[..., Any], /, *args: Any, **options: Any
    ) -> Coroutine[object, None, Any]:
        call = self._step_call(fn, args, options)
        return self._execution.ask(call)

    def map(
        self,
        fn: Callable[..., Any],
        items: Iterable[Any],
        /,
        *,
        key: Callable[[Any], str] | None = None,
        limit: int | None = None,
        **options: Any,
    ) -> Coroutine[object, None, list[Any]]:
        refuse_unknown_options(options, verb="map", function=fn, allowed=MAP_OPTIONS)
        listed = list(items)
        check_limit(len(listed), what="number of items", low=0, high=MOST_ITEMS)
        if limit is not None:
            check_limit(limit, what="limit", low=1, high=MOST_ITEMS)
        group = Group(len(listed), limit)
        calls = []
        for index, item in enumerate(listed):
            own = dict(options) if key is None else {**options, "key": key(item)}
            call = self._step_call(fn, (item,), own)
            call.group, call.index = group, index
            calls.append(call)
        return self._execution.ask_all(calls, group)

    def sleep(self, duration: DurationLike, /) -> Coroutine[object, None, None]:
        wait = to_duration(duration, what="sleep")
        call = self._reserve(self._sleep_name(), StepKind.SLEEP, self._execution.codec.encode_hashed(["for", wait])[1])
        call.due_for = wait
        return self._execution.ask(call)

    def sleep_until(self, when: datetime, /) -> Coroutine[object, None, None]:
        instant = to_instant(when, what="sleep_until")
        hashed = self._execution.codec.encode_hashed(["until", instant])[1]
        call = self._reserve(self._sleep_name(), StepKind.SLEEP, hashed)
        call.due_at = instant
        return self._execution.ask(call)

    def run(self, child: Callable[..., Any], /, *args: Any, **options: Any) -> Coroutine[object, None, Any]:  # type: ignore[override]
        raise NotImplementedError

    def start(self, child: Callable[..., Any], /, *args: Any, **options: Any) -> Coroutine[object, None, Any]:  # type: ignore[override]
        raise NotImplementedError

    def receive(self, event: Any, /, *, timeout: Any = None, default: Any = None) -> Coroutine[object, None, Any]:
        raise NotImplementedError

    def approval(self, title: str, /, *, data: Any = None, timeout: Any = None) -> Coroutine[object, None, Any]:
        raise NotImplementedError

    def race(self, **awaitables: Any) -> Coroutine[object, None, tuple[str, Any]]:
        raise NotImplementedError

    def _step_call(self, fn: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Call:
        execution = self._execution
        name = None
        if options:
            refuse_unknown_options(options, verb="step", function=fn, args=args, allowed=STEP_OPTIONS)
            name = options.get("name")
        definition = execution.registry.describe_step(fn, name=name)
        if options:
            definition = definition.with_options(options)
        if definition.retry is None and execution.definition.retry is not None:
            definition = definition.with_options({"retry": execution.definition.retry})
        # Encoded before the body runs: an argument that cannot be stored is refused while nothing has happened yet.
        hashed = execution.codec.encode_hashed(args)[1]
        base = definition.name
        if options and options.get("key") is not None:
            base = f"{base}:{check_step_key(options['key'], what='key')}"
        call = self._reserve(self._owned(base, definition.name), StepKind.STEP, hashed)
        call.definition, call.args = definition, args
        return call

    def _owned(self, base: str, name: str) -> str:
        """Repeats are numbered only if one task makes all calls of a name: two branches have no repeatable order."""
        task = asyncio.current_task()
        if self._owners.setdefault(base, task) is not task:
            raise AmbiguousStep(name)
        return base

    def _sleep_name(self) -> str:
        """A sleep takes no key, so branches are told apart by the place of their task among its siblings."""
        path = self._execution.tree.path() if self._execution.tree.owns_current() else ""
        return f"sleep/{path}" if path else "sleep"

    def _reserve(self, base: str, kind: StepKind, input_hash: bytes) -> Call:
        execution = self._execution
        if execution.is_over:
            raise NotAllowed(
                f"Run {self.run_id} has left this worker, so ctx takes no more calls here. "
                'A "finally" block of a workflow may clean up memory, but it cannot run steps.'
            )
        if not execution.tree.owns_current():
            raise NotAllowed("ctx can be used only by the tasks of its own run, not in a step, a thread or a callback.")
        count = self._counts[base] = self._counts.get(base, 0) + 1
        self._total += 1
        if self._total > MOST_ITEMS:
            raise InvalidInput(f"A run has at most {MOST_ITEMS} steps.", reason="too_many_steps")
        key = base if count == 1 else f"{base}#{count}"
        return execution.reserve(key, kind, input_hash)

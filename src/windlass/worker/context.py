"""The `ctx` of a run: turns what the code asks into calls with stable keys."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping
from datetime import datetime
from functools import cached_property
from random import Random
from typing import Any
from uuid import UUID

from windlass.define.child import Child
from windlass.define.context import RAISE, Context
from windlass.define.event import Receivable, check_event
from windlass.define.options import MAP_CHILD_OPTIONS, MAP_OPTIONS, DurationLike, refuse_unknown_options
from windlass.errors import InvalidInput
from windlass.model.duration import from_instant, to_duration, to_instant
from windlass.model.message import Decision
from windlass.model.step import StepKind
from windlass.model.time import Instant
from windlass.rules.limits import MAX_TITLE, MOST_ITEMS, check_limit, check_note
from windlass.runtime import seeded_rng
from windlass.worker import outside
from windlass.worker.asking import Asking
from windlass.worker.calls import Group
from windlass.worker.execute import Execution

LOGGER = logging.getLogger("windlass.run")


class RunLog(logging.LoggerAdapter[logging.Logger]):
    """Silent while the run is replayed: what was logged once is not logged again."""

    def __init__(self, execution: Execution) -> None:
        super().__init__(LOGGER, {**execution.about, "run_id": execution.claimed.run_id})
        self._execution = execution

    def isEnabledFor(self, level: int) -> bool:
        return self._execution.history.is_replayed and super().isEnabledFor(level)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return f"[{self._execution.claimed.run_id}] {msg}", kwargs


class RunContext(Context):
    def __init__(self, execution: Execution) -> None:
        self._execution, self._asking = execution, Asking(execution)
        self.run_id = execution.claimed.run_id
        self.key = execution.claimed.key
        scheduled_at = execution.claimed.scheduled_at
        self.scheduled_at = None if scheduled_at is None else from_instant(scheduled_at)

    # Made when they are asked for: seeding a generator takes longer than a step.

    @cached_property
    def log(self) -> RunLog:  # type: ignore[override]
        return RunLog(self._execution)

    @cached_property
    def random(self) -> Random:  # type: ignore[override]
        return seeded_rng(self._execution.claimed.seed)

    @cached_property
    def _uuids(self) -> Random:
        return seeded_rng(self._execution.claimed.seed + ":uuid")

    def uuid(self) -> UUID:
        return UUID(int=self._uuids.getrandbits(128), version=4)

    def now(self) -> datetime:
        return from_instant(Instant(self._execution.now))

    # mypy compares with the overloads users see; this one body serves them all.
    def step(  # type: ignore[override]
        self, fn: Callable[..., Any], /, *args: Any, **options: Any
    ) -> Coroutine[object, None, Any]:
        return self._execution.ask(self._asking.for_step(fn, args, options))

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
        is_workflow = self._execution.registry.is_workflow(fn)
        allowed = MAP_CHILD_OPTIONS if is_workflow else MAP_OPTIONS
        refuse_unknown_options(options, verb="map", function=fn, allowed=allowed)
        listed = outside.list_items(items)
        check_limit(len(listed), what="number of items", low=0, high=MOST_ITEMS)
        if limit is not None:
            check_limit(limit, what="limit", low=1, high=MOST_ITEMS)
        group = Group(len(listed), limit)
        calls = []
        for index, item in enumerate(listed):
            own = options if key is None else {**options, "key": key(item)}
            if is_workflow:
                call = self._asking.for_child("map", StepKind.CHILD, fn, (item,), own)
            else:
                call = self._asking.for_step(fn, (item,), own)
            call.group, call.index = group, index
            calls.append(call)
        return self._execution.ask_all(calls, group)

    def sleep(self, duration: DurationLike, /) -> Coroutine[object, None, None]:
        wait = to_duration(duration, what="sleep")
        call = self._asking.for_wait("sleep", StepKind.SLEEP, ["for", wait])
        call.due_for = wait
        return self._execution.ask(call)

    def sleep_until(self, when: datetime, /) -> Coroutine[object, None, None]:
        instant = to_instant(when, what="sleep_until")
        call = self._asking.for_wait("sleep", StepKind.SLEEP, ["until", instant])
        call.due_at = instant
        return self._execution.ask(call)

    def run(  # type: ignore[override]
        self, child: Callable[..., Any], /, *args: Any, **options: Any
    ) -> Coroutine[object, None, Any]:
        return self._execution.ask(self._asking.for_child("run", StepKind.CHILD, child, args, options))

    def start(  # type: ignore[override]
        self, child: Callable[..., Any], /, *args: Any, **options: Any
    ) -> Coroutine[object, None, Child[Any]]:
        return self._execution.ask(self._asking.for_child("start", StepKind.START, child, args, options))

    def receive(
        self, asked: Receivable[Any], /, *, timeout: DurationLike | None = None, default: Any = RAISE
    ) -> Coroutine[object, None, Any]:
        event = check_event(asked, verb="receive")
        if timeout is None and default is not RAISE:
            text = (
                "receive() answers with a default after a timeout= only: receive(replied, timeout='1d', default=None)."
            )
            raise InvalidInput(text, reason="invalid_option", path="default")
        call = self._asking.for_wait(f"receive/{event.name}", StepKind.EVENT, ["event", event.name], timeout=timeout)
        call.awaits, call.read = event.name, outside.read_event(event, default, self._execution.codec)
        return self._execution.ask(call)

    def approval(
        self, title: str, /, *, data: Any = None, timeout: DurationLike | None = None
    ) -> Coroutine[object, None, Decision]:
        checked = check_note(title, what="title", longest=MAX_TITLE)
        if not checked or not checked.strip():
            raise InvalidInput("An approval needs a title: what is to be decided.", reason="invalid_text", path="title")
        detail = None if data is None else outside.encode_detail(data, self._execution.codec)
        call = self._asking.for_wait("approval", StepKind.APPROVAL, ["approval", title], timeout=timeout)
        call.awaits, call.detail, call.read = title, detail, outside.read_decision
        return self._execution.ask(call)

    def race(self, *unnamed: object, **awaitables: Awaitable[Any]) -> Coroutine[object, None, tuple[str, Any]]:
        outside.check_runners(unnamed, awaitables)
        _ = self._asking.check_usable()
        return outside.race(awaitables)

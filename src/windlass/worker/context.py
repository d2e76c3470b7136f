"""The `ctx` of a run: turns what the code asks into calls with stable keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from windlass.define.child import Child
from windlass.define.context import RAISE, Context
from windlass.define.event import Event
from windlass.define.options import (
    CHILD_OPTIONS,
    MAP_CHILD_OPTIONS,
    MAP_OPTIONS,
    STEP_OPTIONS,
    DurationLike,
    refuse_unknown_options,
)
from windlass.define.starting import start_command
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import AmbiguousStep, InvalidInput, NotAllowed
from windlass.model.commands import StartChild
from windlass.model.duration import from_instant, to_duration, to_instant
from windlass.model.failure import Failure
from windlass.model.message import Decision
from windlass.model.run import RunId
from windlass.model.step import StepKind
from windlass.model.time import Instant
from windlass.rules.limits import MAX_TITLE, MOST_ITEMS, check_limit, check_note, check_step_key
from windlass.runtime import seeded_rng
from windlass.worker import outside
from windlass.worker.calls import Call, Group, Read
from windlass.worker.children import RunChild, own_definition
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
        self.host = execution.host
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
        allowed = MAP_CHILD_OPTIONS if self.host.registry.is_workflow(fn) else MAP_OPTIONS
        refuse_unknown_options(options, verb="map", function=fn, allowed=allowed)
        listed = list(items)
        check_limit(len(listed), what="number of items", low=0, high=MOST_ITEMS)
        if limit is not None:
            check_limit(limit, what="limit", low=1, high=MOST_ITEMS)
        group = Group(len(listed), limit)
        calls = []
        is_workflow = self.host.registry.is_workflow(fn)
        for index, item in enumerate(listed):
            own = dict(options) if key is None else {**options, "key": key(item)}
            if is_workflow:
                call = self._child_call("map", StepKind.CHILD, fn, (item,), own)
            else:
                call = self._step_call(fn, (item,), own)
            call.group, call.index = group, index
            calls.append(call)
        return self._execution.ask_all(calls, group)

    def sleep(self, duration: DurationLike, /) -> Coroutine[object, None, None]:
        wait = to_duration(duration, what="sleep")
        call = self._reserve(self._in_branch("sleep"), StepKind.SLEEP, self._execution.codec.encode_hashed(["for", wait])[1])
        call.due_for = wait
        return self._execution.ask(call)

    def sleep_until(self, when: datetime, /) -> Coroutine[object, None, None]:
        instant = to_instant(when, what="sleep_until")
        hashed = self._execution.codec.encode_hashed(["until", instant])[1]
        call = self._reserve(self._in_branch("sleep"), StepKind.SLEEP, hashed)
        call.due_at = instant
        return self._execution.ask(call)

    def run(  # type: ignore[override]
        self, child: Callable[..., Any], /, *args: Any, **options: Any
    ) -> Coroutine[object, None, Any]:
        return self._execution.ask(self._child_call("run", StepKind.CHILD, child, args, options))

    def start(  # type: ignore[override]
        self, child: Callable[..., Any], /, *args: Any, **options: Any
    ) -> Coroutine[object, None, Child[Any]]:
        return self._execution.ask(self._child_call("start", StepKind.START, child, args, options))

    def receive(
        self, event: Event[Any], /, *, timeout: DurationLike | None = None, default: Any = RAISE
    ) -> Coroutine[object, None, Any]:
        codec = self._execution.codec
        if not isinstance(event, Event):
            raise InvalidInput(
                f"receive() takes an event, not {type(event).__name__}: replied = app.event('replied', str).",
                reason="invalid_argument",
                path="event",
            )
        call = self._wait_call(f"receive/{event.name}", StepKind.EVENT, ["event", event.name], timeout=timeout)
        call.awaits, call.read = event.name, outside.read_event(event, default, codec)
        return self._execution.ask(call)

    def approval(
        self, title: str, /, *, data: Any = None, timeout: DurationLike | None = None
    ) -> Coroutine[object, None, Decision]:
        checked = check_note(title, what="title", longest=MAX_TITLE)
        if not checked or not checked.strip():
            raise InvalidInput("An approval needs a title: what is to be decided.", reason="invalid_text", path="title")
        detail = None if data is None else self._execution.codec.encode(data)
        call = self._wait_call("approval", StepKind.APPROVAL, ["approval", title], timeout=timeout)
        call.awaits, call.detail, call.read = title, detail, outside.read_decision
        return self._execution.ask(call)

    def race(self, **awaitables: Awaitable[Any]) -> Coroutine[object, None, tuple[str, Any]]:
        if not awaitables:
            raise InvalidInput("race() needs something to wait for.", reason="invalid_argument")
        self._check_usable()
        return outside.race(awaitables)

    def wait_for_run(self, run_id: RunId, definition: WorkflowDefinition, *, base: str) -> Coroutine[object, None, Any]:
        """Wait for the end of a run that this one started before."""
        call = self._wait_call(base, StepKind.CHILD, ["child", run_id])
        call.awaits = run_id
        call.read = outside.read_child(run_id, definition.return_type, self._execution.codec)
        return self._execution.ask(call)

    def own_step(
        self, function: Any, asked: tuple[Any, ...], *, base: str, raises: tuple[type[BaseException], ...] = ()
    ) -> Coroutine[object, None, Any]:
        """A step of ours, told apart from others by what was asked."""
        hashed = self._execution.codec.encode_hashed(asked)[1]
        call = self._reserve(self._in_branch(base), StepKind.STEP, hashed)
        call.definition = own_definition(base, function, raises=raises)
        return self._execution.ask(call)

    def _wait_call(
        self, base: str, kind: StepKind, asked: list[Any], *, timeout: DurationLike | None = None
    ) -> Call:
        due_for = None if timeout is None else to_duration(timeout, what="timeout")
        call = self._reserve(self._in_branch(base), kind, self._execution.codec.encode_hashed(asked)[1])
        call.due_for = due_for
        return call

    def _child_call(
        self, verb: str, kind: StepKind, fn: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Call:
        execution, host = self._execution, self.host
        definition = host.registry.find_workflow(fn)
        given = dict(options)
        key = given.pop("key", None)
        on_cancel = given.pop("on_cancel", None) or "propagate"
        if on_cancel not in ("propagate", "abandon"):
            raise InvalidInput(
                f"on_cancel is 'propagate' or 'abandon', not {on_cancel!r}.", reason="invalid_option", path="on_cancel"
            )
        command = start_command(
            definition,
            args,
            given,
            namespace=host.namespace,
            codec=execution.codec,
            verb=verb,
            allowed=CHILD_OPTIONS,
        )
        base = definition.name if key is None else f"{definition.name}:{check_step_key(key, what='key')}"
        call = self._reserve(self._owned(base, definition.name, verb=verb), kind, command.input_hash)
        call.child = StartChild(command=command, follows_parent=on_cancel == "propagate")
        call.read = self._reader(call, definition)
        return call

    def _reader(self, call: Call, definition: WorkflowDefinition) -> Read:
        """What the answer means: the child itself, or what it returned."""

        def read(output: bytes | None, failure: Failure | None) -> tuple[Any, Exception | None]:
            if call.kind is StepKind.START:
                run_id: str = msgspec.json.decode(output or b'""')
                return RunChild(self, run_id, definition, call.key), None
            name = f"of {definition.name!r} ({call.key})"
            return outside.read_child(name, definition.return_type, self._execution.codec)(output, failure)

        return read

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

    def _owned(self, base: str, name: str, *, verb: str = "step") -> str:
        """Repeats are numbered only if one task makes all calls of a name: two branches have no repeatable order."""
        task = asyncio.current_task()
        if self._owners.setdefault(base, task) is not task:
            raise AmbiguousStep(name, verb=verb)
        return base

    def _in_branch(self, base: str) -> str:
        """A wait takes no key, so branches are told apart by the place of their task among its siblings."""
        path = self._execution.tree.path() if self._execution.tree.owns_current() else ""
        return f"{base}/{path}" if path else base

    def _check_usable(self) -> None:
        if self._execution.is_over:
            raise NotAllowed(
                f"Run {self.run_id} has left this worker, so ctx takes no more calls here. "
                'A "finally" block of a workflow may clean up memory, but it cannot run steps.'
            )
        if not self._execution.tree.owns_current():
            raise NotAllowed("ctx can be used only by the tasks of its own run, not in a step, a thread or a callback.")

    def _reserve(self, base: str, kind: StepKind, input_hash: bytes) -> Call:
        execution = self._execution
        self._check_usable()
        count = self._counts[base] = self._counts.get(base, 0) + 1
        self._total += 1
        if self._total > MOST_ITEMS:
            raise InvalidInput(f"A run has at most {MOST_ITEMS} steps.", reason="too_many_steps")
        key = base if count == 1 else f"{base}#{count}"
        return execution.reserve(key, kind, input_hash)

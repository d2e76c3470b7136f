"""From what the code of a run asks to a call with a stable key: the same at every replay."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from windlass.define.options import CHILD_OPTIONS, STEP_OPTIONS, DurationLike, refuse_unknown_options
from windlass.define.starting import start_command
from windlass.define.workflow import StepDefinition, WorkflowDefinition
from windlass.errors import AmbiguousStep, InvalidInput, NotAllowed
from windlass.model.commands import StartChild
from windlass.model.duration import to_duration
from windlass.model.failure import Failure
from windlass.model.step import StepKind
from windlass.rules.limits import MOST_ITEMS, check_step_key
from windlass.worker import outside
from windlass.worker.calls import Call, has_left
from windlass.worker.children import RunChild
from windlass.worker.execute import Execution


class Asking:
    def __init__(self, execution: Execution) -> None:
        self.execution, self.host = execution, execution.host
        self._owners: dict[str, asyncio.Task[Any] | None] = {}
        self._counts: dict[str, int] = {}
        self._total = 0
        self._steps: dict[Callable[..., Any], StepDefinition] = {}  # as this run calls them without options

    def for_step(self, fn: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> Call:
        is_plain = type(fn) is types.FunctionType and not options
        definition = self._steps.get(fn) if is_plain else None
        if definition is None:
            definition = self._describe(fn, args, options)
            if is_plain:
                self._steps[fn] = definition
        # Encoded before the body runs: an argument that cannot be stored is refused while nothing has happened yet.
        try:
            hashed = self.execution.codec.hash_of(args)
        except InvalidInput as refused:
            raise outside.refused_argument(refused, fn, args) from None
        task = self.check_usable()
        base = definition.name
        if options or self._owners.setdefault(base, task) is not task:
            base = self._owned(base, options.get("key"), task=task)
        call = self._reserve(base, StepKind.STEP, hashed)
        call.definition, call.args = definition, args
        return call

    def _describe(self, fn: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> StepDefinition:
        execution, name = self.execution, None
        if options:
            refuse_unknown_options(options, verb="step", function=fn, args=args, allowed=STEP_OPTIONS)
            name = options.get("name")
        definition = execution.registry.describe_step(fn, name=name)
        if options:
            definition = definition.with_options(options)
        if definition.retry is None and execution.definition.retry is not None:
            definition = definition.with_options({"retry": execution.definition.retry})
        return definition

    def for_own_step(self, definition: StepDefinition, asked: tuple[Any, ...]) -> Call:
        """A step of ours, told apart from others by what was asked."""
        _ = self.check_usable()
        hashed = self.execution.codec.hash_of(asked)
        call = self.reserve(self.in_branch(definition.name), StepKind.STEP, hashed)
        call.definition = definition
        return call

    def for_wait(self, base: str, kind: StepKind, asked: list[Any], *, timeout: DurationLike | None = None) -> Call:
        _ = self.check_usable()
        due_for = None if timeout is None else to_duration(timeout, what="timeout")
        call = self.reserve(self.in_branch(base), kind, self.execution.codec.hash_of(asked))
        call.due_for = due_for
        return call

    def for_child(
        self, verb: str, kind: StepKind, fn: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Call:
        definition = self.host.registry.find_workflow(fn, verb=f"ctx.{verb}")
        given = dict(options)
        key, on_cancel = given.pop("key", None), given.pop("on_cancel", None) or "propagate"
        if on_cancel not in ("propagate", "abandon"):
            text = f"on_cancel is 'propagate' or 'abandon', not {on_cancel!r:.40}."
            raise InvalidInput(text, reason="invalid_option", path="on_cancel")
        command = start_command(
            definition,
            args,
            given,
            namespace=self.host.namespace,
            codec=self.execution.codec,
            verb=verb,
            allowed=CHILD_OPTIONS,
        )
        base = self._owned(definition.name, key, verb=verb, task=asyncio.current_task())
        call = self.reserve(base, kind, command.input_hash)
        call.child = StartChild(command=command, follows_parent=on_cancel == "propagate")
        self._read_as(call, definition)
        return call

    def for_result(self, run_id: str, definition: WorkflowDefinition, *, base: str) -> Call:
        """Wait for the end of a run that this one started before."""
        call = self.for_wait(base, StepKind.CHILD, ["child", run_id])
        call.awaits = run_id
        self._read_as(call, definition)
        return call

    def _read_as(self, call: Call, definition: WorkflowDefinition) -> None:
        """What the answer means: the child itself, or what it returned."""

        def read(output: bytes | None, failure: Failure | None) -> tuple[Any, Exception | None]:
            if call.kind is StepKind.START:
                run_id: str = msgspec.json.decode(output or b'""')
                return RunChild(self, run_id, definition, call.key), None
            return outside.read_child(call.awaits or "", definition, self.execution.codec, output, failure)

        call.read = read

    def _owned(self, name: str, key: object, *, task: asyncio.Task[Any] | None, verb: str = "step") -> str:
        """Repeats are numbered only if one task makes all calls of a name: two branches have no repeatable order."""
        base = name if key is None else f"{name}:{check_step_key(key, what='key')}"  # type: ignore[arg-type]
        if self._owners.setdefault(base, task) is not task:
            raise AmbiguousStep(name, verb=verb)
        return base

    def in_branch(self, base: str) -> str:
        """A wait takes no key, so branches are told apart by the place of their task among its siblings."""
        tree = self.execution.tree
        path = tree.path() if tree.current() is not None else ""
        return f"{base}/{path}" if path else base

    def reserve(self, base: str, kind: StepKind, input_hash: bytes) -> Call:
        _ = self.check_usable()
        return self._reserve(base, kind, input_hash)

    def _reserve(self, base: str, kind: StepKind, input_hash: bytes) -> Call:
        count = self._counts[base] = self._counts.get(base, 0) + 1
        self._total += 1
        if self._total > MOST_ITEMS:
            raise InvalidInput(f"A run has at most {MOST_ITEMS} steps.", reason="too_many_steps")
        key = base if count == 1 else f"{base}#{count}"
        if self.execution.history:
            return self.execution.recall(key, kind, input_hash)
        return Call(key, kind, input_hash, None)

    def check_usable(self) -> asyncio.Task[Any]:
        """The task of the run that asks."""
        if self.execution.is_over:
            raise has_left(self.execution.claimed.run_id)
        task = self.execution.tree.current()
        if task is None:
            raise NotAllowed("ctx can be used only by the tasks of its own run, not in a step, a thread or a callback.")
        return task

"""Which workflows, steps, events and schedules exist in this process, by function and by name.

Topics, effects and pipelines are in `handlers`, signals in `signals`.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import types
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from windlass.codec import Codec
from windlass.define import signature
from windlass.define.effect import read_effect
from windlass.define.event import Event, check_event
from windlass.define.handler_definition import EffectDefinition
from windlass.define.handlers import Handlers
from windlass.define.options import DurationLike
from windlass.define.retry import Retry
from windlass.define.schedule import Plan, ScheduleDefinition, schedule_command
from windlass.define.signals import SignalDeclarations
from windlass.define.starting import check_arguments
from windlass.define.workflow import Openable, StepDefinition
from windlass.define.workflows import Identity, Workflows, identity_of, refuse_result
from windlass.errors import AlreadyExists, InvalidInput, NotFound
from windlass.model.schedule_commands import PutSchedule
from windlass.rules.limits import check_name
from windlass.rules.queues import DEFAULT_QUEUE


class Registry(Workflows):
    """What one App has declared."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: dict[Identity, StepDefinition] = {}
        self._events: dict[str, Event[Any]] = {}
        self._schedules: dict[str, tuple[types.FunctionType, ScheduleDefinition]] = {}
        self._step_owners: dict[str, Identity] = {}
        # Weak, and the values without their function: a function made anew at every replay must not stay for ever.
        self._described: WeakKeyDictionary[Callable[..., Any], StepDefinition] = WeakKeyDictionary()
        self.handlers = Handlers(self._tell)
        self.signals = SignalDeclarations(self)

    @property
    def queues(self) -> tuple[str, ...]:
        """Every queue that something declared here is in, and the one of whatever names none."""
        pipelines = (spec.queue for spec in self.handlers.pipeline_commands())
        return tuple(sorted({DEFAULT_QUEUE, *(item.queue for item in self.workflows), *pipelines}))

    def declare_step(
        self, function: Callable[..., Any], *, local: Mapping[str, Any] | None = None, **options: Any
    ) -> StepDefinition:
        """Give a function the options it has wherever it is called as a step. Declaring it again replaces them."""
        if not isinstance(function, types.FunctionType):
            _check_callable(function, "app.step")
            raise InvalidInput(
                f"app.step declares a function, not a {type(function).__name__}; give the options to ctx.step().",
                reason="invalid_step",
            )
        definition = self._read_step(function, name=options.pop("name", None), local=local).with_options(options)
        identity = identity_of(function)
        owner = self._step_owners.get(definition.name, identity)
        if owner != identity:
            raise _taken_step(definition.name, self._steps[owner].location, definition.location)
        previous = self._steps.get(identity)
        if previous is not None:
            self._step_owners.pop(previous.name, None)
        self._steps[identity] = definition
        self._step_owners[definition.name] = identity
        self._described.clear()
        return definition

    def declare_effect(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        local: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> EffectDefinition:
        """Declare a function as an effect, and as a step of the same name. Declaring it again replaces both.

        Raises InvalidInput for what cannot be an effect, AlreadyExists if the name is another function's.
        """
        definition = read_effect(function, name=name, retry=retry, timeout=timeout, local=local, **options)
        self.declare_step(definition.function, local=local, name=definition.name, retry=retry, timeout=timeout)
        return self.handlers.enter_effect(definition)

    def declare_event(self, name: str, type: Any) -> Event[Any]:
        """Declare an event, or answer with the one declared before. Raises AlreadyExists if that is of another type."""
        event = Event[Any](check_name(name, what="event name"), type)
        known = self._events.setdefault(event.name, event)
        if signature.type_identity(known.type) != signature.type_identity(type):
            raise AlreadyExists(
                f"Event {event.name!r} is declared twice: as {known!r} and as {event!r}. Rename one.",
                reason="already_registered",
                owner=event.name,
            )
        if known.type is not type:  # a notebook cell ran again and made its class anew
            self._events[event.name] = event
        return self._events[event.name]

    def find_event(self, wanted: Event[Any] | str, *, verb: str = "send") -> Event[Any]:
        """The event of that name, or that event, which another App may have made, if it is declared here alike.

        Raises NotFound with names that look alike, InvalidInput for one that has another type here.
        """
        asked = None if isinstance(wanted, str) else check_event(wanted, verb=verb)
        name = wanted if isinstance(wanted, str) else wanted.name
        known = self._events.get(name)
        if known is None:
            close = difflib.get_close_matches(name, self._events, n=3)
            raise NotFound("Event", name, close=close, hint="Declare it with app.event().")
        if asked is None:
            return known
        if signature.type_identity(known.type) != signature.type_identity(asked.type):
            raise InvalidInput(
                f"{verb}() got {asked!r}, and this App declares {known!r}. Use the one that app.event() gave.",
                reason="invalid_argument",
                path="event",
            )
        return asked

    def declare_schedule(
        self,
        function: Callable[..., Any],
        *,
        name: str | None,
        args: tuple[Any, ...],
        plan: Plan,
        codec: Codec,
        local: Mapping[str, Any] | None = None,
    ) -> ScheduleDefinition:
        """Declare when a function is started; one that is no workflow yet becomes one.

        Raises InvalidInput for arguments it does not take, AlreadyExists if the name is another schedule's.
        """
        given: object = function
        plain = given.opening() if isinstance(given, Openable) else signature.check_workflow_function(given)
        self._refuse_job(plain, verb="app.schedule")
        workflow = self._declared_as(plain)
        if workflow is None or workflow.function is not plain:
            workflow = self.declare_workflow(plain, local=local)
        name = check_name(workflow.name if name is None else name, what="schedule name")
        names = workflow.argument_names
        shown = f"{names[0]}," if len(names) == 1 else ", ".join(names)
        check_arguments(workflow, args, codec=codec, call=f"app.schedule(…, args=({shown}))")
        codec.encode(args)  # refused here, where it is written, if it cannot be stored
        known = self._schedules.get(name)
        if known is not None and (known[0] is plain or identity_of(known[0]) != identity_of(plain)):
            raise _taken_schedule(name, known[1].location, signature.locate(plain))
        definition = ScheduleDefinition(
            name=name,
            workflow=workflow.name,
            version=workflow.version,
            args=args,
            plan=plan,
            location=signature.locate(plain),
        )
        self._schedules[name] = (plain, definition)
        self._tell()
        return definition

    def schedule_commands(self, *, namespace: str, codec: Codec) -> tuple[PutSchedule, ...]:
        """What the declared schedules ask of the engine, each of the workflow its function is by now."""
        return tuple(
            schedule_command(
                item.name,
                self._declared_as(function) or self._workflows[item.workflow, item.version],
                item.args,
                item.plan,
                namespace=namespace,
                codec=codec,
            )
            for function, item in self._schedules.values()
        )

    def describe_step(self, function: Callable[..., Any], name: str | None = None) -> StepDefinition:
        """What is known about any callable used as a step: declared or not, function, builtin, partial, method, object.

        Raises InvalidInput for what cannot be a step, and for a lambda without `name`.
        """
        try:
            known = self._described.get(function)
        except TypeError:  # not hashable, or nothing a weak reference can point to
            known = None
        if known is None:
            known = self._describe(function, name)
        changes: dict[str, Any] = {"function": function}
        if name is not None:
            changes["name"] = check_name(name, what="step name")
        return replace(known, **changes)

    def _describe(self, function: Callable[..., Any], name: str | None) -> StepDefinition:
        _check_callable(function, "ctx.step")
        given: object = function
        if isinstance(given, Openable):
            raise InvalidInput(f"{given!r} is no step. Run it: await ctx.run(…).", reason="invalid_step")
        if isinstance(function, types.FunctionType):
            identity = identity_of(function)
            if self.is_workflow(function):
                raise InvalidInput(
                    f"{function.__name__} is a workflow, and ctx.step() takes a step: a function without ctx.",
                    reason="invalid_step",
                )
            known = self._steps.get(identity) or self._read_step(function, name=name)
            known = replace(known, effect=self.handlers.effect_or_none(function))
        elif isinstance(function, (functools.partial, types.MethodType)):
            inner = function.func if isinstance(function, functools.partial) else function.__func__
            found = self.describe_step(inner, name)
            if found.effect is not None:
                raise InvalidInput(
                    f"{found.name} is an effect, whose arguments go on the ledger, all of them: "
                    f"ctx.step({found.name}, …), without a partial or a method.",
                    reason="invalid_step",
                )
            return found
        else:
            known = self._read_step(function, name=name)
        known = replace(known, function=_forgotten)
        if name is None:
            with contextlib.suppress(TypeError):
                self._described[function] = known
        return known

    def _read_step(
        self, function: Callable[..., Any], *, name: str | None, local: Mapping[str, Any] | None = None
    ) -> StepDefinition:
        name = signature.step_name(function) if name is None else name
        return_type, declares_return = _decodable(signature.return_annotation(function, local=local))
        return StepDefinition(
            name=check_name(name, what="step name"),
            function=function,
            retry=None,
            timeout_for=None,
            visibility_for=None,
            raises=(),
            return_type=return_type,
            declares_return=declares_return,
            is_async=signature.is_async(function),
            location=signature.locate(function),
        )


def _decodable(type: Any) -> tuple[Any, bool]:
    """The type to decode by, and whether one was declared. The codec itself knows which ones it can restore."""
    return (Any, False) if type is signature.UNRESOLVED else (type, True)


def _forgotten() -> None:
    """Stands where a definition must not keep its function alive."""


def _taken_step(name: str, first: str, second: str) -> AlreadyExists:
    return AlreadyExists(
        f"Step {name!r} is declared twice: at {first} and, as another function, at {second}. "
        "Rename one, or give it name=.",
        reason="already_registered",
        owner=first,
    )


def _taken_schedule(name: str, first: str, second: str) -> AlreadyExists:
    return AlreadyExists(
        f"Schedule {name!r} is declared twice: at {first} and at {second}. Give one of them name=.",
        reason="already_registered",
        owner=first,
    )


def _check_callable(function: object, verb: str) -> None:
    refuse_result(function, verb, reason="invalid_step")
    if not callable(function):
        raise InvalidInput(f"{verb}() takes a function, not a {type(function).__name__}.", reason="invalid_step")
    if signature.is_generator(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise InvalidInput(
            f"Step {name!r} ({signature.locate(function)}) is a generator; return a list instead.",
            reason="invalid_step",
        )

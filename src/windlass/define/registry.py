"""Which workflows and steps exist in this process, by function and by name."""

from __future__ import annotations

import builtins
import contextlib
import difflib
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from msgspec.structs import replace

from windlass.codec import Codec
from windlass.define import signature
from windlass.define.event import Event, check_event
from windlass.define.options import DurationLike, shorten
from windlass.define.retry import Retry
from windlass.define.schedule import Plan, ScheduleDefinition, schedule_command
from windlass.define.starting import check_arguments
from windlass.define.workflow import StepDefinition, WorkflowDefinition, check_retry_option
from windlass.errors import AlreadyExists, InvalidInput, NotFound
from windlass.model.duration import to_duration
from windlass.model.schedule_commands import PutSchedule
from windlass.model.time import Duration
from windlass.model.worker import Served
from windlass.rules.limits import check_keep, check_name, check_queue, check_visibility

Identity = tuple[str, str]  # module and qualified name: the same after a notebook cell runs again
Key = tuple[str, str]  # name and version of a workflow

_DECLARED_SOMEWHERE: WeakSet[types.FunctionType] = WeakSet()  # in whatever App: only to tell a user so


class Registry:
    """What one App has declared."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []  # told when there is another workflow to serve
        self._workflows: dict[Key, WorkflowDefinition] = {}
        self._latest: dict[str, Key] = {}  # by name: the version declared last
        self._declared: dict[Identity, Key] = {}  # by function: what it was declared as last
        self._steps: dict[Identity, StepDefinition] = {}
        self._events: dict[str, Event[Any]] = {}
        self._schedules: dict[str, tuple[types.FunctionType, ScheduleDefinition]] = {}
        self._step_owners: dict[str, Identity] = {}
        # Weak, and the values without their function: a function made anew at every replay must not stay for ever.
        self._described: WeakKeyDictionary[Callable[..., Any], StepDefinition] = WeakKeyDictionary()

    def declare_workflow(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        version: str = "",
        queue: str = "default",
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        keep: DurationLike | None = None,
        local: Mapping[str, Any] | None = None,
    ) -> WorkflowDefinition:
        """Declare or replace; another version stands beside it. `local` helps to read annotations that name types of an
        enclosing function.

        Raises InvalidInput for what cannot be a workflow, AlreadyExists if the name is another function's.
        """
        plain = signature.check_workflow_function(function)
        name = check_name(plain.__name__ if name is None else name, what="workflow name")
        location = signature.locate(plain)
        parameters = signature.read_workflow(plain, name=name, location=location, local=local)
        definition = WorkflowDefinition(
            name=name,
            version=check_name(version, what="version") if version != "" else "",
            queue=check_queue(queue),
            retry=check_retry_option(retry, what=f"retry of workflow {name!r}"),
            visibility_for=None if visibility is None else check_visibility(to_duration(visibility, what="visibility")),
            timeout_for=None if timeout is None else to_duration(timeout, what="timeout", allow_zero=False),
            keep_for=None if keep is None else check_keep(to_duration(keep, what="keep")),
            function=plain,
            argument_names=parameters.names,
            argument_types=parameters.types,
            required=parameters.required,
            return_type=_decodable(signature.return_annotation(plain, local=local))[0],
            location=location,
        )
        key, identity = (name, definition.version), _identity(plain)
        known = self._workflows.get(key)
        if known is not None and _identity(known.function) != identity:
            raise _taken("Workflow", name, known.location, location)
        self._workflows[key] = definition
        self._latest[name] = self._declared[identity] = key
        _DECLARED_SOMEWHERE.add(plain)
        for listener in tuple(self.listeners):
            listener()
        return definition

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
        identity = _identity(function)
        owner = self._step_owners.get(definition.name, identity)
        if owner != identity:
            raise _taken("Step", definition.name, self._steps[owner].location, definition.location)
        previous = self._steps.get(identity)
        if previous is not None:
            self._step_owners.pop(previous.name, None)
        self._steps[identity] = definition
        self._step_owners[definition.name] = identity
        self._described.clear()
        return definition

    def find_workflow(self, wanted: Callable[..., Any] | str, *, verb: str = "") -> WorkflowDefinition:
        """The definition of a function or a name; `verb` is what users called. Raises NotFound with names that look
        alike, InvalidInput for what cannot be a workflow.
        """
        if isinstance(wanted, str):
            definition = self.workflow_or_none(wanted)
            name, hint = wanted, "Declare it with @app.workflow."
        else:
            function = _check_workflow(wanted, verb)
            definition = self._declared_as(function)
            if definition is not None:
                return definition
            name, hint = function.__name__, _how_to_declare(function)
        if definition is not None:
            return definition
        close = [item for item in difflib.get_close_matches(name, self._latest, n=3) if item != name]
        raise NotFound("Workflow", name, close=close, hint=hint)

    def workflow_or_none(self, name: str, version: str | None = None) -> WorkflowDefinition | None:
        """What is declared under this name and version; without a version, what was declared last."""
        key = self._latest.get(name) if version is None else (name, version)
        return None if key is None else self._workflows.get(key)

    def _declared_as(self, wanted: types.FunctionType) -> WorkflowDefinition | None:
        key = self._declared.get(_identity(wanted))
        latest = None if key is None else self._workflows[key]
        if latest is None or latest.function is wanted:
            return latest
        # An older version of it that is still at hand, or what a notebook has declared anew since.
        return next((item for item in self._workflows.values() if item.function is wanted), latest)

    def declare_event(self, name: str, type: Any) -> Event[Any]:
        """Declare an event, or answer with the one declared before. Raises AlreadyExists if that is of another type."""
        event = Event[Any](check_name(name, what="event name"), type)
        known = self._events.setdefault(event.name, event)
        if _type_identity(known.type) != _type_identity(type):
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
        if _type_identity(known.type) != _type_identity(asked.type):
            raise InvalidInput(
                f"{verb}() got {asked!r}, and this App declares {known!r}. Use the one that app.event() gave.",
                reason="invalid_argument",
                path="event",
            )
        return asked

    def is_workflow(self, function: object) -> bool:
        """Was this function declared as a workflow?"""
        return isinstance(function, types.FunctionType) and _identity(function) in self._declared

    @property
    def workflows(self) -> tuple[WorkflowDefinition, ...]:
        return tuple(self._workflows.values())

    def served(self, queues: Iterable[str]) -> tuple[Served, ...]:
        """Every workflow in every one of these queues: a run may be started in another queue than its workflow's."""
        return tuple(
            sorted(Served(queue, item.name, item.version) for queue in set(queues) for item in self._workflows.values())
        )

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
        plain = signature.check_workflow_function(function)
        workflow = self._declared_as(plain)
        if workflow is None or workflow.function is not plain:
            workflow = self.declare_workflow(plain, local=local)
        name = check_name(workflow.name if name is None else name, what="schedule name")
        check_arguments(workflow, args, codec=codec)
        codec.encode(args)  # refused here, where it is written, if it cannot be stored
        known = self._schedules.get(name)
        if known is not None and (known[0] is plain or _identity(known[0]) != _identity(plain)):
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
        for listener in tuple(self.listeners):
            listener()
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

    def kept(self) -> dict[str, Duration | None]:
        """How long ended runs are kept by name of the workflow: of several versions, the longest that one says."""
        said: dict[str, Duration | None] = {}
        for item in self._workflows.values():
            limits = [limit for limit in (said.get(item.name), item.keep_for) if limit is not None]
            said[item.name] = max(limits, default=None)
        return said

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
        if isinstance(function, types.FunctionType):
            identity = _identity(function)
            if identity in self._declared:
                raise InvalidInput(
                    f"{function.__name__} is a workflow, and ctx.step() takes a step: a function without ctx.",
                    reason="invalid_step",
                )
            known = self._steps.get(identity) or self._read_step(function, name=name)
        elif isinstance(function, (functools.partial, types.MethodType)):
            inner = function.func if isinstance(function, functools.partial) else function.__func__
            return self.describe_step(inner, name)
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


def _how_to_declare(function: types.FunctionType) -> str:
    location = signature.locate(function)
    shown = f"{function.__name__}{f' ({location})' if location else ''}"
    if function in _DECLARED_SOMEWHERE:
        return f"{shown} is declared in another App: ask that one, or declare it in this one too."
    return f"Declare {shown} with @app.workflow."


def _decodable(type: Any) -> tuple[Any, bool]:
    """The type to decode by, and whether one was declared. The codec itself knows which ones it can restore."""
    return (Any, False) if type is signature.UNRESOLVED else (type, True)


def _forgotten() -> None:
    """Stands where a definition must not keep its function alive."""


def _identity(function: Callable[..., Any]) -> Identity:
    return (getattr(function, "__module__", "") or "", function.__qualname__)


def _type_identity(type: Any) -> object:
    """What makes a type the same after its classes were made anew; `list[Reply]` is looked into."""
    if isinstance(type, builtins.type):
        return type.__module__, type.__qualname__
    parts = typing.get_args(type)
    return (typing.get_origin(type), *map(_type_identity, parts)) if parts else type


def _taken(kind: str, name: str, first: str, second: str) -> AlreadyExists:
    return AlreadyExists(
        f"{kind} {name!r} is declared twice: at {first} and, as another function, at {second}. "
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


def _check_workflow(wanted: object, verb: str) -> types.FunctionType:
    _refuse_result(wanted, verb, reason="invalid_workflow")
    if not isinstance(wanted, types.FunctionType):
        raise InvalidInput(
            f"{_takes(verb)} the function of a workflow, not {shorten(wanted)}.", reason="invalid_workflow"
        )
    return wanted


def _check_callable(function: object, verb: str) -> None:
    _refuse_result(function, verb, reason="invalid_step")
    if not callable(function):
        raise InvalidInput(f"{verb}() takes a function, not a {type(function).__name__}.", reason="invalid_step")
    if signature.is_generator(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise InvalidInput(
            f"Step {name!r} ({signature.locate(function)}) is a generator; return a list instead.",
            reason="invalid_step",
        )


def _refuse_result(function: object, verb: str, *, reason: str) -> None:
    """The commonest slip: the function was called where it should have been named."""
    if not inspect.isawaitable(function):
        return
    name = getattr(function, "__name__", "fetch")
    if inspect.iscoroutine(function):
        function.close()  # it will never run; without this Python adds a second complaint
    example = f"{verb}({name}, …)" if verb else name
    raise InvalidInput(f"{_takes(verb)} the function, not its result: {example}, without calling it.", reason=reason)


def _takes(verb: str) -> str:
    return f"{verb}() takes" if verb else "This call takes"

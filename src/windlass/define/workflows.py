"""Which workflows exist in this process, by function and by name: graphs and their jobs are among them.

A job is known as "<graph>.<job>". Workers execute it by that name; people start its graph, never the job by itself.
"""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from weakref import WeakSet

from windlass.define import signature
from windlass.define.options import DurationLike, shorten
from windlass.define.retry import Retry
from windlass.define.workflow import Openable, WorkflowDefinition, check_retry_option
from windlass.errors import AlreadyExists, InvalidInput, NotFound
from windlass.model.duration import to_duration
from windlass.model.time import Duration
from windlass.model.worker import Served
from windlass.rules.limits import check_keep, check_name, check_queue, check_visibility

Identity = tuple[str, str]  # module and qualified name: the same after a notebook cell runs again
Key = tuple[str, str]  # name and version of a workflow

_DECLARED_SOMEWHERE: WeakSet[types.FunctionType] = WeakSet()  # in whatever App: only to tell a user so


def read_definition(
    function: Callable[..., Any],
    *,
    name: str,
    kind: str = "Workflow",
    version: str = "",
    queue: str = "default",
    retry: Retry | None = None,
    timeout: DurationLike | None = None,
    visibility: DurationLike | None = None,
    keep: DurationLike | None = None,
    local: Mapping[str, Any] | None = None,
) -> WorkflowDefinition:
    """What a function and its options say, checked. Raises InvalidInput for what cannot be a workflow."""
    plain = signature.check_workflow_function(function, kind=kind)
    location = signature.locate(plain)
    parameters = signature.read_workflow(plain, name=name, location=location, local=local, kind=kind)
    returned = signature.return_annotation(plain, local=local)
    return WorkflowDefinition(
        name=name,
        version=check_name(version, what="version") if version != "" else "",
        queue=check_queue(queue),
        retry=check_retry_option(retry, what=f"retry of {kind.lower()} {name!r}"),
        visibility_for=None if visibility is None else check_visibility(to_duration(visibility, what="visibility")),
        timeout_for=None if timeout is None else to_duration(timeout, what="timeout", allow_zero=False),
        keep_for=None if keep is None else check_keep(to_duration(keep, what="keep")),
        function=plain,
        argument_names=parameters.names,
        argument_types=parameters.types,
        required=parameters.required,
        return_type=Any if returned is signature.UNRESOLVED else returned,  # the codec knows which ones it can restore
        location=location,
    )


class Workflows:
    """The workflows that one App has declared."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []  # told when there is another workflow or handler to serve
        self._workflows: dict[Key, WorkflowDefinition] = {}
        self._latest: dict[str, Key] = {}  # by name: the version declared last
        self._declared: dict[Identity, Key] = {}  # by function: what it was declared as last
        self._jobs: dict[Identity, dict[Key, None]] = {}  # by function: as which jobs, in which graphs

    def declare_workflow(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        local: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> WorkflowDefinition:
        """Declare or replace; another version stands beside it. `local` helps to read annotations that name types of an
        enclosing function.

        Raises InvalidInput for what cannot be a workflow, AlreadyExists if the name is another function's.
        """
        plain = signature.check_workflow_function(function)
        name = check_name(plain.__name__ if name is None else name, what="workflow name")
        return self.enter(read_definition(plain, name=name, local=local, **options))

    def enter(self, definition: WorkflowDefinition) -> WorkflowDefinition:
        """Declare or replace what was read before: a workflow, a graph or a job. Raises AlreadyExists."""
        assert isinstance(definition.function, types.FunctionType)
        key, identity = (definition.name, definition.version), identity_of(definition.function)
        known = self._workflows.get(key)
        if known is not None and not _may_replace(definition, known):
            raise _taken(definition, known)
        self._workflows[key] = definition
        self._latest[definition.name] = key
        if definition.graph is None:
            self._declared[identity] = key
        else:
            self._jobs.setdefault(identity, {})[key] = None
        _DECLARED_SOMEWHERE.add(definition.function)
        self._tell()
        return definition

    def find_workflow(self, wanted: Callable[..., Any] | str, *, verb: str = "") -> WorkflowDefinition:
        """The definition of a function, a graph or a name; `verb` is what users called. Raises NotFound with names that
        look alike, InvalidInput for what cannot be a workflow.
        """
        if isinstance(wanted, str):
            definition = self.workflow_or_none(wanted)
            name, hint = wanted, "Declare it with @app.workflow."
        else:
            function = check_workflow(wanted, verb)
            definition = self._declared_as(function) or next(iter(self.jobs_of(function)), None)
            name, hint = function.__name__, _how_to_declare(function)
        if definition is None:
            known = [item for item, key in self._latest.items() if self._workflows[key].graph is None]
            close = [item for item in difflib.get_close_matches(name, known, n=3) if item != name]
            raise NotFound("Workflow", name, close=close, hint=hint)
        if definition.graph is not None:
            raise _is_job(definition, verb)
        return definition

    def workflow_or_none(self, name: str, version: str | None = None) -> WorkflowDefinition | None:
        """What is declared under this name and version; without a version, what was declared last."""
        key = self._latest.get(name) if version is None else (name, version)
        return None if key is None else self._workflows.get(key)

    def jobs_of(self, function: object) -> tuple[WorkflowDefinition, ...]:
        """As which jobs a function is declared: it may be one in several graphs, and several in one."""
        if not isinstance(function, types.FunctionType):
            return ()
        found = [self._workflows[key] for key in self._jobs.get(identity_of(function), ())]
        exact = [item for item in found if item.function is function]
        return tuple(exact or found)  # else what a notebook has declared anew since

    def is_workflow(self, function: object) -> bool:
        """Was this declared as a workflow, a graph or a job?"""
        if isinstance(function, Openable):
            return True
        if not isinstance(function, types.FunctionType):
            return False
        return identity_of(function) in self._declared or identity_of(function) in self._jobs

    @property
    def workflows(self) -> tuple[WorkflowDefinition, ...]:
        return tuple(self._workflows.values())

    def served(self, queues: Iterable[str]) -> tuple[Served, ...]:
        """Every workflow in every one of these queues: a run may be started in another queue than its workflow's."""
        return tuple(
            sorted(Served(queue, item.name, item.version) for queue in set(queues) for item in self._workflows.values())
        )

    def kept(self) -> dict[str, Duration | None]:
        """How long ended runs are kept by name of the workflow: of several versions, the longest that one says.

        Jobs are not among them: they are kept as long as their graph.
        """
        said: dict[str, Duration | None] = {}
        for item in self._workflows.values():
            if item.graph is None:
                limits = [limit for limit in (said.get(item.name), item.keep_for) if limit is not None]
                said[item.name] = max(limits, default=None)
        return said

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()

    def _refuse_job(self, function: object, *, verb: str) -> None:
        """Raises InvalidInput for a function that is a job, and nothing besides."""
        if isinstance(function, types.FunctionType) and self._declared_as(function) is None:
            for definition in self.jobs_of(function):
                raise _is_job(definition, verb)

    def _declared_as(self, wanted: types.FunctionType) -> WorkflowDefinition | None:
        key = self._declared.get(identity_of(wanted))
        latest = None if key is None else self._workflows[key]
        if latest is None or latest.function is wanted:
            return latest
        # An older version of it that is still at hand, or what a notebook has declared anew since.
        same = (item for item in self._workflows.values() if item.function is wanted and item.graph is None)
        return next(same, latest)


def identity_of(function: Callable[..., Any]) -> Identity:
    return (getattr(function, "__module__", "") or "", function.__qualname__)


def check_workflow(wanted: object, verb: str) -> types.FunctionType:
    """The function of a workflow, or what stands for one."""
    if isinstance(wanted, Openable):
        return wanted.opening()
    refuse_result(wanted, verb, reason="invalid_workflow")
    if not isinstance(wanted, types.FunctionType):
        raise InvalidInput(
            f"{_takes(verb)} the function of a workflow, not {shorten(wanted)}.", reason="invalid_workflow"
        )
    return wanted


def refuse_result(function: object, verb: str, *, reason: str) -> None:
    """The commonest slip: the function was called where it should have been named."""
    if not inspect.isawaitable(function):
        return
    name = getattr(function, "__name__", "fetch")
    if inspect.iscoroutine(function):
        function.close()  # it will never run; without this Python adds a second complaint
    example = f"{verb}({name}, …)" if verb else name
    raise InvalidInput(f"{_takes(verb)} the function, not its result: {example}, without calling it.", reason=reason)


def _may_replace(definition: WorkflowDefinition, known: WorkflowDefinition) -> bool:
    """The same function made anew, as by a notebook; a graph itself sees to it that no two of its jobs share a name."""
    if definition.graph is not None or known.graph is not None:
        return definition.graph == known.graph
    is_anew = identity_of(known.function) == identity_of(definition.function)
    # Graphs have no functions to tell them apart: two places of one file are two graphs.
    return is_anew and not (definition.plan is not None and are_apart(known.function, definition.function))


def are_apart(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Do they stand at two places of one file? What is typed into a prompt has no places."""
    first, second = one.__code__, other.__code__
    is_one_file = first.co_filename == second.co_filename and not first.co_filename.startswith("<")
    return is_one_file and first.co_firstlineno != second.co_firstlineno


def _taken(definition: WorkflowDefinition, known: WorkflowDefinition) -> AlreadyExists:
    kind, is_graph = definition.kind, definition.plan is not None
    where = f"at {known.location} and, as another {'graph' if is_graph else 'function'}, at"
    advice = "Rename one." if is_graph else "Rename one, or give it name=."
    return AlreadyExists(
        f"{kind} {definition.name!r} is declared twice: {where} {definition.location}. {advice}",
        reason="already_registered",
        owner=known.location,
    )


def _is_job(definition: WorkflowDefinition, verb: str) -> InvalidInput:
    return InvalidInput(
        f"{_takes(verb)} a workflow or a graph, and {definition.job!r} is a job of the graph "
        f"{definition.graph!r}: it runs as a part of that.",
        reason="invalid_workflow",
    )


def _how_to_declare(function: types.FunctionType) -> str:
    location = signature.locate(function)
    shown = f"{function.__name__}{f' ({location})' if location else ''}"
    if function in _DECLARED_SOMEWHERE:
        return f"{shown} is declared in another App: ask that one, or declare it in this one too."
    return f"Declare {shown} with @app.workflow."


def _takes(verb: str) -> str:
    return f"{verb}() takes" if verb else "This call takes"

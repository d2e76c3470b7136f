"""Jobs that need other jobs, as users declare them. Nothing is written: a worker opens a graph when it was started.

release = app.graph("release")
@release.job                       ─► "release.lint" in the registry, and a row of this graph
release.spawn(check, "a", name=…)  ─► stored as name and arguments; what was spawned is never evaluated again
release.validate() · plan() · start ─► all rows as NewJobs, every matrix expanded, checked as a whole
"""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, TypeVarTuple, overload

from msgspec.structs import replace

from windlass.codec import Codec
from windlass.define import signature
from windlass.define.context import Context
from windlass.define.decorating import decorate
from windlass.define.graph_text import draw
from windlass.define.needs import NeedLike, read_needs
from windlass.define.options import DurationLike, shorten
from windlass.define.retry import Retry
from windlass.define.spawn import Spawn, check_spawns, new_job
from windlass.define.starting import check_arguments
from windlass.define.workflow import Openable, WorkflowDefinition
from windlass.define.workflows import Identity, are_apart, identity_of, read_definition
from windlass.define.written import Place, Written, read_matrix
from windlass.errors import InvalidInput, NotAllowed
from windlass.model.duration import to_duration
from windlass.model.graph import Need, NewJob
from windlass.rules.graphs import check_graph, check_job_name
from windlass.rules.limits import check_limit, check_name, check_priority, check_queue
from windlass.rules.matrix import MOST_COMBINATIONS

if TYPE_CHECKING:
    from windlass.define.job_context import JobContext
    from windlass.define.registry import Registry

JobFunction = TypeVar("JobFunction", bound=Callable[..., Coroutine[Any, Any, Any]])
Ts = TypeVarTuple("Ts")


class Graph(Openable):
    """Jobs that need other jobs: made by `app.graph("release")`, filled by `@release.job`, started like a workflow.

    A job begins when every job that it needs is over, and ended in a way that it accepts; else it is skipped.
    Example::

        release = app.graph("release")

        @release.job
        async def lint(ctx: windlass.JobContext) -> int: ...

        @release.job(needs=[lint], matrix={"py": ["3.11", "3.12"]})
        async def test(ctx: windlass.JobContext, py: str) -> None: ...
    """

    def __init__(
        self, name: str, *, registry: Registry, codec: Codec, place: Place, input: Any = None, **options: Any
    ) -> None:
        self.name = check_name(name, what="graph name")
        super().__init__(place.opening(self.name, takes_input=input is not None))
        self._registry, self._codec = registry, codec
        self._jobs: dict[str, Written] = {}  # in the order they were written
        self._functions: dict[Callable[..., Any] | Identity, str] = {}  # what each was declared as last
        self._planned: tuple[Codec, tuple[NewJob, ...]] | None = None
        definition = read_definition(self.opening(), name=self.name, kind="Graph", **options)
        self._definition = registry.enter(
            replace(
                definition,
                argument_types=() if input is None else (_check_input(input),),
                return_type=None,
                plan=self._plan,
                input_type=input,
            )
        )

    def __repr__(self) -> str:
        return f"Graph({self.name!r})"

    def __call__(self, ctx: Context, /, *args: Any) -> Coroutine[Any, Any, None]:
        """A graph is passed on like a function, and never called. Raises NotAllowed."""
        self._refuse_call()

    @overload
    def job(self, function: JobFunction, /) -> JobFunction: ...

    @overload
    def job(
        self,
        *,
        name: str | None = None,
        needs: Sequence[NeedLike] = (),
        matrix: Mapping[str, Sequence[Any]] | None = None,
        max_parallel: int | None = None,
        fail_fast: bool = False,
        cleanup: bool = False,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        priority: int = 0,
    ) -> Callable[[JobFunction], JobFunction]: ...

    def job(
        self,
        function: Any = None,
        *,
        name: str | None = None,
        needs: Sequence[NeedLike] = (),
        matrix: Mapping[str, Sequence[Any]] | None = None,
        max_parallel: int | None = None,
        fail_fast: bool = False,
        cleanup: bool = False,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        priority: int = 0,
    ) -> Any:
        """Declare a job: an `async def` whose first parameter is `ctx`. Returns the function unchanged.

        `needs` lists functions declared above, names, or `windlass.after(…)`. The keys of `matrix` are parameters of
        the function, and there is a job for every combination; "include" and "exclude" in it add and leave out some.
        At most `max_parallel` of them run at a time; with `fail_fast` as well, one that does not complete skips those
        that wait for their turn. A `cleanup` job runs even when the graph is cancelled. Options of the graph hold
        unless given here.
        """
        options: dict[str, Any] = {"name": name, "needs": needs, "matrix": matrix, "max_parallel": max_parallel}
        options |= {"fail_fast": fail_fast, "cleanup": cleanup, "queue": queue, "retry": retry, "timeout": timeout}
        options |= {"visibility": visibility, "priority": priority}
        return decorate(self._declare, function, options)

    @overload
    def group(self, function: JobFunction, /) -> JobFunction: ...

    @overload
    def group(
        self,
        *,
        name: str | None = None,
        needs: Sequence[NeedLike] = (),
        cleanup: bool = False,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        priority: int = 0,
    ) -> Callable[[JobFunction], JobFunction]: ...

    def group(
        self,
        function: Any = None,
        *,
        name: str | None = None,
        needs: Sequence[NeedLike] = (),
        cleanup: bool = False,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: DurationLike | None = None,
        visibility: DurationLike | None = None,
        priority: int = 0,
    ) -> Any:
        """Declare a job that returns jobs: a list of `graph.spawn(…)`. Whoever needs it needs all of them.

        What it returns joins the graph once, when it is over. An empty list is fine; if it fails, there are none.
        """
        options: dict[str, Any] = {"name": name, "needs": needs, "cleanup": cleanup, "queue": queue, "retry": retry}
        options |= {"timeout": timeout, "visibility": visibility, "priority": priority, "is_group": True}
        return decorate(self._declare, function, options)

    def spawn(
        self,
        fn: Callable[[JobContext, *Ts], Coroutine[Any, Any, Any]],
        /,
        *args: *Ts,
        name: str,
        needs: Sequence[NeedLike | Spawn] = (),
        queue: str | None = None,
        timeout: DurationLike | None = None,
        priority: int = 0,
        cleanup: bool = False,
    ) -> Spawn:
        """A job for a group to return: a workflow of the same App, or a job function of this graph, and its arguments.

        `needs` may name any job of the graph, also another one of the same group.
        Example: `return [release.spawn(check, part, name=f"check-{part}") for part in parts]`.
        """
        definition = self._spawnable(fn)
        shown = ", ".join([definition.function.__name__, *definition.argument_names])
        check_arguments(definition, args, codec=self._codec, call=f"{self.name}.spawn({shown}, name=…)")
        return Spawn(
            graph=self.name,
            name=check_job_name(name),
            definition=definition,
            args=args,
            needs=read_needs(needs, name_of=self._name_of),
            queue=definition.queue if queue is None else check_queue(queue),
            priority=check_priority(priority),
            timeout_for=definition.timeout_for
            if timeout is None
            else to_duration(timeout, what="timeout", allow_zero=False),
            is_cleanup=cleanup,
        )

    def validate(self) -> None:
        """Raise InvalidInput if the graph could not run: an unknown job, a cycle (with its path), too many jobs."""
        self._plan(self._codec)

    def plan(self) -> str:
        """The graph as text, layer by layer, with what every job needs. Raises what `validate` raises."""
        return draw(self.name, [*self._jobs.values()], self._plan(self._codec))

    def _plan(self, codec: Codec) -> tuple[NewJob, ...]:
        if self._planned is None or self._planned[0] is not codec:
            if not self._jobs:
                raise InvalidInput(
                    f"Graph {self.name!r} has no jobs. Declare one: @{self.name}.job.", reason="invalid_graph"
                )
            jobs = [job for written in self._jobs.values() for job in written.new_jobs(codec)]
            self._planned = (codec, check_graph(jobs))
        return self._planned[1]

    def _declare(
        self,
        function: Callable[..., Any],
        *,
        local: Mapping[str, Any],
        name: str | None,
        needs: object,
        is_group: bool = False,
        matrix: Mapping[str, Any] | None = None,
        max_parallel: int | None = None,
        fail_fast: bool = False,
        cleanup: bool = False,
        priority: int = 0,
        **options: Any,
    ) -> None:
        kind = "Group" if is_group else "Job"
        definition = self._read(function, name, kind=kind, local=local, options=options)
        job = definition.job or ""
        self._check_free(job, definition.function)
        written = Written(
            definition=definition,
            job=job,
            needs=self._read_needs(job, needs),
            is_group=is_group,
            is_cleanup=cleanup,
            priority=check_priority(priority),
            combinations=read_matrix(definition, matrix),
            max_parallel=max_parallel,
            fail_fast=fail_fast,
        )
        _check_window(written)
        written.new_jobs(self._codec)  # refused here, where it is written, if an argument cannot be stored
        self._registry.enter(definition)
        self._jobs[job], self._planned = written, None
        self._functions |= {definition.function: job, identity_of(definition.function): job}

    def _read(
        self,
        function: Callable[..., Any],
        name: str | None,
        *,
        kind: str,
        local: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> WorkflowDefinition:
        graph, function = self._definition, signature.check_workflow_function(function, kind=kind)
        job = check_name(function.__name__ if name is None else name, what="job name")
        given = {option: value for option, value in options.items() if value is not None}
        full = check_name(f"{self.name}.{job}", what="name of graph and job")
        definition = read_definition(
            function, name=full, kind=kind, version=graph.version, local=local, **{"queue": graph.queue, **given}
        )
        return replace(
            definition,
            retry=definition.retry or graph.retry,
            visibility_for=definition.visibility_for or graph.visibility_for,
            input_type=graph.input_type,
            graph=self.name,
            job=job,
            spawns=self._spawns_of(job) if kind == "Group" else None,
        )

    def _spawns_of(self, group: str) -> Callable[[object, Codec], tuple[NewJob, ...]]:
        def spawns(returned: object, codec: Codec) -> tuple[NewJob, ...]:
            return tuple(new_job(item, codec) for item in check_spawns(returned, graph=self.name, group=group))

        return spawns

    def _check_free(self, job: str, function: Callable[..., Any]) -> None:
        """A notebook may declare a job anew; two functions of one name in a file are two jobs."""
        known = self._jobs.get(job)
        if known is None:
            return
        is_anew = identity_of(known.definition.function) == identity_of(function)
        if not is_anew or are_apart(known.definition.function, function):
            raise InvalidInput(
                f"Graph {self.name!r} has two jobs named {job!r}: at {known.definition.location} and at "
                f"{Place.of(function)}. Rename one, or give it name=.",
                reason="duplicate_job",
                path="name",
            )

    def _read_needs(self, job: str, needs: object) -> tuple[Need, ...]:
        found = read_needs(needs, name_of=self._name_of)
        if any(need.upstream == job for need in found):
            raise InvalidInput(
                f"Job {job!r} needs itself, so it could never begin: {job} → {job}.", reason="cycle", path="needs"
            )
        return found

    def _name_of(self, wanted: object) -> str:
        """The job that a function stands for, which must be declared above."""
        if isinstance(wanted, Spawn):
            return wanted.name
        written = self._of_function(wanted)
        if written is not None:
            return written.job
        name = getattr(wanted, "__name__", None)
        if name is None or not callable(wanted):
            text = f"A need is a job, its name, or windlass.after(…), not {shorten(wanted)}."
            raise InvalidInput(text, reason="invalid_needs", path="needs")
        known = ", ".join(map(repr, self._jobs)) or "none yet"
        raise InvalidInput(
            f"{name} is no job of graph {self.name!r}. Declare it above with @{self.name}.job, or name one that comes "
            f"later by its text. Jobs so far: {known}.",
            reason="unknown_job",
            path="needs",
        )

    def _of_function(self, wanted: object) -> Written | None:
        if not isinstance(wanted, types.FunctionType):
            return None
        # By its identity: what a notebook has declared anew since.
        job = self._functions.get(wanted) or self._functions.get(identity_of(wanted))
        return None if job is None else self._jobs[job]

    def _spawnable(self, fn: Any) -> WorkflowDefinition:
        written = self._of_function(fn)
        definition = self._registry.find_workflow(fn, verb="graph.spawn") if written is None else written.definition
        if definition.plan is not None or definition.spawns is not None:
            what = "a graph" if definition.plan is not None else "a group"
            raise InvalidInput(
                f"graph.spawn() takes a workflow or a job, and {definition.name!r} is {what}.", reason="invalid_graph"
            )
        return definition

    def _refuse_call(self) -> NoReturn:
        raise NotAllowed(f"A graph is not called. Start it: app.start({self.name}), or ctx.run({self.name}).")


def _check_input(input: Any) -> Any:
    if isinstance(input, type) or input is Any or hasattr(input, "__origin__") or isinstance(input, types.UnionType):
        return input
    raise InvalidInput(
        f"input takes a type, not {shorten(input)}: the value is given to app.start().",
        reason="invalid_option",
        path="input",
    )


def _check_window(written: Written) -> None:
    if written.max_parallel is not None:
        check_limit(written.max_parallel, what="max_parallel", low=1, high=MOST_COMBINATIONS)
    if written.combinations is None and (written.max_parallel is not None or written.fail_fast):
        option = "fail_fast" if written.max_parallel is None else "max_parallel"
        raise InvalidInput(
            f"Job {written.job!r} has no matrix, so {option} says nothing. Leave it out, or give matrix=.",
            reason="invalid_matrix",
            path=option,
        )

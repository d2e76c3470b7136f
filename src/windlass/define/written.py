"""A job as it is written in a graph, and the jobs to be that it stands for: one, or one for each of a matrix."""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from windlass.codec import Codec
from windlass.define.starting import check_arguments
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput
from windlass.model.graph import Need, NewJob
from windlass.rules.graphs import check_job_name
from windlass.rules.matrix import combinations, label

INCLUDE, EXCLUDE = "include", "exclude"  # keys of a matrix that are no axes


class Written(Struct, frozen=True, kw_only=True):
    definition: WorkflowDefinition
    job: str  # its name in the graph; of a matrix, what its children have in common
    needs: tuple[Need, ...]
    is_group: bool
    is_cleanup: bool
    priority: int
    combinations: tuple[dict[str, Any], ...] | None  # of a matrix
    max_parallel: int | None
    fail_fast: bool

    def new_jobs(self, codec: Codec) -> list[NewJob]:
        """Raises InvalidInput for an argument that the function does not take, or that cannot be stored."""
        if self.combinations is None:
            return [self._new_job(self.job, codec, {})]
        return [
            self._new_job(check_job_name(f"{self.job}[{label(values)}]"), codec, values) for values in self.combinations
        ]

    def _new_job(self, name: str, codec: Codec, values: Mapping[str, Any]) -> NewJob:
        definition = self.definition
        arguments = _by_position(definition, values)
        check_arguments(definition, arguments, codec=codec)
        return NewJob(
            name=name,
            workflow=definition.name,
            version=definition.version,
            queue=definition.queue,
            priority=self.priority,
            input=codec.encode(arguments),
            needs=self.needs,
            is_group=self.is_group,
            is_cleanup=self.is_cleanup,
            timeout_for=definition.timeout_for,
            matrix=None if self.combinations is None else self.job,
            max_parallel=self.max_parallel,
            fail_fast=self.fail_fast,
        )


def read_matrix(definition: WorkflowDefinition, matrix: Mapping[str, Any] | None) -> tuple[dict[str, Any], ...] | None:
    """Its combinations, whose keys are parameters of the function. Raises InvalidInput for anything else."""
    axes: Sequence[str] = ()
    found: tuple[dict[str, Any], ...] | None = None
    if matrix is not None:
        given = _mapping(matrix)
        plain = {axis: values for axis, values in given.items() if axis not in (INCLUDE, EXCLUDE)}
        found = tuple(combinations(plain, include=given.get(INCLUDE, ()), exclude=given.get(EXCLUDE, ())))
        axes = tuple(plain)
    names, location = definition.argument_names, definition.location
    unknown = next((axis for axis in axes if axis not in names), None)
    if unknown is not None:
        raise InvalidInput(
            f"The matrix of job {definition.job!r} ({location}) has the axis {unknown!r}, which is no parameter: "
            f"async def {definition.function.__name__}(ctx, {', '.join([*names, unknown])}).",
            reason="invalid_matrix",
            path=unknown,
        )
    missing = next((name for name in names[: definition.required] if name not in axes), None)
    if missing is not None:
        raise InvalidInput(
            f"Job {definition.job!r} ({location}) takes {missing!r}, and nothing gives it. Give it a default, make it "
            "an axis of matrix=, or read ctx.input or ctx.needs.",
            reason="invalid_matrix" if axes else "invalid_workflow",
            path=missing,
        )
    return found


def _mapping(matrix: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", matrix) if isinstance(matrix, Mapping) else {}


def _by_position(definition: WorkflowDefinition, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Arguments are stored by position: a default that stands before a value of the matrix is stored, too."""
    names = definition.argument_names
    count = max((names.index(axis) + 1 for axis in values), default=0)
    parameters = inspect.signature(definition.function).parameters if count else {}
    return tuple(values.get(name, parameters[name].default) for name in names[:count])


class Place(Struct, frozen=True):
    """Where a graph is made: the same place again, as in a notebook, replaces it."""

    module: str
    within: str  # the function or module, by its qualified name
    file: str
    line: int

    @staticmethod
    def of(function: Callable[..., Any]) -> str:
        """Where a function was written, as "shop.py:12"."""
        code = function.__code__
        return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"

    def opening(self, name: str, *, takes_input: bool) -> types.FunctionType:
        """A function that stands for a graph wherever workflows are told apart by theirs. Never called."""
        template = _with_input if takes_input else _without_input
        code = template.__code__.replace(co_filename=self.file, co_firstlineno=self.line, co_name=name)
        function = types.FunctionType(code, {}, name)
        function.__module__, function.__qualname__ = self.module, f"{self.within}:{name}"
        return function


async def _with_input(ctx: Any, input: Any) -> None: ...


async def _without_input(ctx: Any) -> None: ...

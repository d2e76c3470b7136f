"""Which run is meant: by its id, by the beginning of its id, by its key, or as a job of a graph."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from windlass.api.service import Runs
from windlass.cli.ids import ID_LENGTH, IdKind
from windlass.cli.session import Text
from windlass.errors import InvalidInput, NotFound
from windlass.model.page import ListRuns
from windlass.model.run import RunId, RunKind, RunView
from windlass.rules.graphs import check_job_name
from windlass.rules.limits import check_key

Command = TypeVar("Command", bound=Callable[..., Any])

RUN = IdKind(prefix="run_", noun="run")
PAGE = 500


def check_meant(text: str) -> str:
    """The beginning of a run id, or that of a graph with the name of one of its jobs: run_01J…/test[3.11]."""
    graph, slash, job = text.partition("/")
    return RUN.check(graph) + (f"/{check_job_name(job)}" if slash else "")


def run_arguments(command: Command, *, metavar: str = "RUN") -> Command:
    """Add RUN and --key, of which exactly one is to be given."""
    command = click.option("--key", type=Text(check_key), help="The run that was started with this key.")(command)
    return click.argument("run", metavar=metavar, type=Text(check_meant), required=False)(command)


def check_one_given(run: str | None, *, key: str | None) -> None:
    if (run is None) == (key is None):
        raise click.UsageError("Name one run: its id, the beginning of its id, GRAPH/JOB, or --key KEY.")


async def find(runs: Runs, run: str | None, *, key: str | None, namespace: str) -> RunView:
    """The run meant. Raises NotFound, or InvalidInput naming the candidates if several begin like this."""
    if key is not None:
        return await runs.find_run(namespace, key)
    assert run is not None
    if "/" in run:
        graph, _, job = run.partition("/")
        return await _job_of(runs, await find(runs, graph, key=None, namespace=namespace), job)

    async def list_before(id: str | None, limit: int) -> Sequence[str]:
        page = await runs.list_runs(ListRuns(namespace=namespace, before=id, limit=limit))
        return [item.id for item in page.runs]

    return await runs.get_run(namespace, RunId(await RUN.find(run, list_before=list_before)))


async def _job_of(runs: Runs, graph: RunView, job: str) -> RunView:
    """A job by its name in its graph."""
    run = graph.run
    if run.kind is not RunKind.GRAPH:
        raise InvalidInput(
            f"{run.id} ({run.name!r}) is no graph, or no worker has opened it yet: it has no job {job!r}.",
            reason="unknown_job",
            path="RUN",
        )
    known: set[str] = set()
    # Most jobs are found among those that share its code; one that was spawned may have any.
    for name in (f"{run.name}.{job.partition('[')[0]}", None):
        query: ListRuns | None = ListRuns(namespace=run.namespace, parent=run.id, name=name, limit=PAGE)
        while query is not None:
            page = await runs.list_runs(query)
            found = next((child.id for child in page.runs if child.job == job), None)
            if found is not None:
                return await runs.get_run(run.namespace, found)
            known.update(child.job for child in page.runs if child.job is not None)
            query = None if page.next is None else replace(query, before=page.next)
    children = [name for name in sorted(known) if name.startswith(f"{job}[")][:2]  # of a matrix
    close = children or difflib.get_close_matches(job, sorted(known), n=2)
    raise NotFound("job", job, close=close, hint=f"windlass show {run.id} lists the jobs of this graph.")


def shortest(ids: Sequence[str], *, at_least: int = 14) -> int:
    """How many characters tell these ids apart."""
    ordered = sorted(ids)
    needed = [_common(one, other) + 1 for one, other in pairwise(ordered)]
    return min(ID_LENGTH, max([at_least, *needed]))


def _common(one: str, other: str) -> int:
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return min(len(one), len(other))

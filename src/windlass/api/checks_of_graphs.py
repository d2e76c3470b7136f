"""What is asked about graphs, and the jobs that a worker brings: the same question as in `checks`.

Here is decided whether each value can be at all. Whether jobs fit together, and into the graph they join, the engine
decides where it knows that graph: see rules/graphs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from windlass.api.checks_of_work import MOST_CLAIMS
from windlass.api.fields import check_duration, check_token, check_version, refused
from windlass.errors import InvalidInput
from windlass.model.duration import shown
from windlass.model.graph import AddJobs, ListGraphs, ListJobs, Need, NewJob, ReadNeeds, accepted
from windlass.model.run import TERMINAL
from windlass.rules.graphs import MOST_EDGES, MOST_JOBS, check_job_name
from windlass.rules.limits import (
    check_limit,
    check_name,
    check_namespace,
    check_payload,
    check_priority,
    check_queue,
    check_run_id,
)

PAGE_LIMIT = 500
LAST_POSITION = 2**31 - 1

Names = Mapping[str, str]  # as they came: in Unicode's composed form


def _add(command: AddJobs) -> dict[str, Any]:
    check_namespace(command.namespace)
    check_run_id(command.run_id)
    check_token(command.token)
    check_payload(command.output, what="output")
    _check_count(len(command.jobs), most=MOST_JOBS, what="jobs")
    _check_count(sum(len(job.needs) for job in command.jobs), most=MOST_EDGES, what="needs")
    names = _names(command.jobs)
    return {"jobs": tuple([_job(job, names) for job in command.jobs])}


def _check_count(count: int, *, most: int, what: str) -> None:
    if count > most:
        text = f"A graph has at most {most:,} {what}; these are {count:,}."
        raise InvalidInput(text, reason="too_many", path=what)


def _names(jobs: Sequence[NewJob]) -> Names:
    """Each name once: a graph says most of them many times."""
    given = {job.name for job in jobs}
    given.update(need.upstream for job in jobs for need in job.needs)
    given.update(job.matrix for job in jobs if job.matrix is not None)
    return {name: check_job_name(name) for name in sorted(given)}


def _job(job: NewJob, names: Names) -> NewJob:
    """With its names composed, and the ends it accepts in the order in which they are compared."""
    try:
        given = {
            "name": names[job.name],
            "workflow": check_name(job.workflow, what="workflow name"),
            "version": check_version(job.version),
            "queue": check_queue(job.queue),
            "matrix": None if job.matrix is None else names[job.matrix],
            "needs": tuple([_need(need, names) for need in job.needs]),
        }
        check_priority(job.priority)
        check_payload(job.input, what="input")
        check_duration(job.timeout_for, what="timeout", low=1)
        if job.max_parallel is not None:
            check_limit(job.max_parallel, what="max_parallel", low=1, high=MOST_JOBS)
    except InvalidInput as error:
        text = f"Job {shown(job.name)}: {error}"
        raise InvalidInput(text, reason=error.reason, path=error.path) from None
    changed = {field: value for field, value in given.items() if getattr(job, field) != value}
    return replace(job, **changed) if changed else job


def _need(need: Need, names: Names) -> Need:
    if not need.accepts:
        raise refused(need.upstream, "need", "it accepts no end, so the job could never run", reason="invalid_needs")
    for status in need.accepts:
        if status not in TERMINAL:
            text = f"{status} is not how a job ends; it ends as {', '.join(sorted(TERMINAL))}"
            raise refused(need.upstream, "need", text, reason="invalid_needs")
    upstream, accepts = names[need.upstream], accepted(need.accepts)
    if upstream == need.upstream and accepts == need.accepts:
        return need
    return replace(need, upstream=upstream, accepts=accepts)


def _read(command: ReadNeeds) -> dict[str, Any]:
    check_namespace(command.namespace)
    check_limit(len(command.claims), what="number of claims", low=0, high=MOST_CLAIMS)
    for run_id, token in command.claims:
        check_run_id(run_id)
        check_token(token)
    return {}


def _list_graphs(command: ListGraphs) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=PAGE_LIMIT)
    if command.before is not None:
        check_run_id(command.before, what="before")
    composed = {} if command.name is None else {"name": check_name(command.name, what="graph name")}
    return composed | {"namespace": check_namespace(command.namespace)}


def _list_jobs(command: ListJobs) -> dict[str, Any]:
    check_limit(command.limit, what="limit", low=1, high=PAGE_LIMIT)
    check_limit(command.after, what="after", low=-1, high=LAST_POSITION)
    check_run_id(command.graph, what="graph")
    return {"namespace": check_namespace(command.namespace)}


GRAPHS: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    AddJobs: _add,
    ReadNeeds: _read,
    ListGraphs: _list_graphs,
    ListJobs: _list_jobs,
}

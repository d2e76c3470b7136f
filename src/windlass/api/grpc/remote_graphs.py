"""The door Graphs, at the other end of the wire; and what a worker asks there about the graphs it works on."""

from __future__ import annotations

from msgspec.structs import replace

from windlass.api.grpc import envelopes as of
from windlass.api.grpc.asking import Asker
from windlass.api.grpc.channel import Channel
from windlass.api.grpc.errors import TOO_LARGE
from windlass.api.grpc.table import LARGEST_REQUEST
from windlass.errors import InvalidInput
from windlass.model.graph import Added, AddJobs, GraphPage, GraphView, JobPage, ListGraphs, ListJobs, NeedsOf, ReadNeeds
from windlass.model.run import RunId


class RemoteGraphs:
    def __init__(self, channel: Channel) -> None:
        self._asker = Asker(channel, "GraphService")

    async def list_graphs(self, query: ListGraphs) -> GraphPage:
        found: GraphPage = await self._asker.ask("ListGraphs", query, GraphPage)
        return found

    async def get_graph(self, namespace: str, graph: RunId) -> GraphView:
        found: GraphView = await self._asker.ask("GetGraph", of.OfGraph(namespace=namespace, graph=graph), GraphView)
        return found

    async def list_jobs(self, query: ListJobs) -> JobPage:
        found: JobPage = await self._asker.ask("ListJobs", query, JobPage)
        return found


async def add_jobs(asker: Asker, command: AddJobs) -> Added:
    """In one call, because all or none of them are added. Raises InvalidInput, with what to do, if they do not fit."""
    try:
        added: Added = await asker.ask("AddJobs", command, Added)
    except InvalidInput as error:
        raise _too_large(command) if error.reason == TOO_LARGE else error from None
    return added


def _too_large(command: AddJobs) -> InvalidInput:
    needs, inputs = sum(len(job.needs) for job in command.jobs), sum(len(job.input) for job in command.jobs)
    text = (
        f"{len(command.jobs):,} jobs with {needs:,} needs and {inputs:,} bytes of arguments do not fit into one call "
        f"to a server, which takes {LARGEST_REQUEST:,} bytes. Pass less to each job, such as where to find it, or let "
        "generators (graph.group) bring some of the jobs."
    )
    return InvalidInput(text, reason=TOO_LARGE, path="jobs")


async def read_needs(asker: Asker, command: ReadNeeds) -> tuple[NeedsOf, ...]:
    """Asked for again from the job on that an answer ended with, until nothing is missing.

    Once an answer was cut, no more is asked for at a time than fitted into it: a server reads all it is asked for.
    """
    found: dict[RunId, NeedsOf] = {}
    claims, partial, most = command.claims, None, len(command.claims)
    while claims:
        skip = 0 if partial is None else len(found[partial].needs)
        asked = of.ReadNeeds(namespace=command.namespace, claims=claims[:most], skip=skip)
        part: of.Needs = await asker.ask("ReadNeeds", asked, of.Needs)
        told = {needs.run_id: needs for needs in part.needs}
        if partial is not None:
            _join(found, partial, told.pop(partial, None))
        found.update(told)
        partial = None
        if part.has_more:
            partial, most = part.needs[-1].run_id, max(1, len(part.needs) - 1)
            claims = claims[[run_id for run_id, _ in claims].index(partial) :]
        else:
            claims = claims[most:]
    return tuple(found.values())


def _join(found: dict[RunId, NeedsOf], run_id: RunId, rest: NeedsOf | None) -> None:
    """Without a rest its claim was lost meanwhile, and what came of it before is worth nothing."""
    first = found.pop(run_id)
    if rest is not None:
        found[run_id] = replace(first, needs=(*first.needs, *rest.needs))

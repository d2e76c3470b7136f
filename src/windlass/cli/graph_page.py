"""A graph on a page: how far it is, its jobs drawn in layers, and why those that have not completed have not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from windlass.api.service import Graphs
from windlass.cli import records
from windlass.cli.drawing import Label, draw
from windlass.cli.terminal import STATUS_STYLES, Glyphs, cut, escape, status_glyph
from windlass.cli.waits import in_short, summary
from windlass.model.duration import between
from windlass.model.graph import Graph, GraphView, JobView, ListJobs
from windlass.model.run import RunId, RunStatus
from windlass.model.time import Instant
from windlass.rules.explain.needs import ENDS, brief_needs
from windlass.rules.layout import Node, layout
from windlass.rules.needs import may_wait

DIM = "bright_black"
UNFOLDED = 8  # of a matrix or a group, that are drawn one by one
MAX_JOBS = 12
PAGE = 500

# What stands for many is the most urgent of their statuses.
URGENCY = (
    RunStatus.FAILED,
    RunStatus.RUNNING,
    RunStatus.PAUSED,
    RunStatus.PENDING,
    RunStatus.SLEEPING,
    RunStatus.WAITING,
    RunStatus.CANCELLED,
    RunStatus.COMPLETED,
    RunStatus.SKIPPED,
)
NOT_COMPLETED = tuple(status for status in URGENCY if status is not RunStatus.COMPLETED)


async def read_jobs(graphs: Graphs, namespace: str, graph: RunId) -> tuple[JobView, ...]:
    """All jobs of a graph."""
    found: list[JobView] = []
    after: int | None = -1
    while after is not None:
        page = await graphs.list_jobs(ListJobs(namespace=namespace, graph=graph, after=after, limit=PAGE))
        found.extend(page.jobs)
        after = page.next
    return tuple(found)


def progress(graph: Graph, *, running: int, glyphs: Glyphs, is_more: bool = False) -> Text:
    """How far a graph is. `is_more`: more are running than were counted."""
    return Text(f" {glyphs.dot} ", style=DIM).join(_progress(graph, running=running, is_more=is_more))


def progress_lines(graph: Graph, *, running: int, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """The same in lines that are not longer than `width`."""
    line = Text()
    for part in _progress(graph, running=running):
        if line and line.cell_len + 3 + part.cell_len > width:
            yield line
            line = Text()
        line = line.append(f" {glyphs.dot} ", style=DIM).append_text(part) if line else part
    yield line


def _progress(graph: Graph, *, running: int, is_more: bool = False) -> Iterator[Text]:
    yield Text(f"{graph.jobs - graph.open:,} of {graph.jobs:,} over")
    at_work = min(running, graph.open)
    counts = {
        RunStatus.RUNNING: at_work,
        RunStatus.WAITING: 0 if is_more else graph.open - at_work,
        RunStatus.FAILED: graph.failed,
        RunStatus.CANCELLED: graph.cancelled,
        RunStatus.SKIPPED: graph.skipped,
    }
    for status, number in counts.items():
        if number:
            more = "+" if is_more and status is RunStatus.RUNNING else ""
            yield Text(f"{number:,}{more} {status.value}", style=STATUS_STYLES[status])


def picture(jobs: Sequence[JobView], *, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    """The jobs in layers; what the signs mean stands below."""
    if not jobs:
        return
    statuses = {job.name: job.status for job in jobs}
    found = layout(_needs(jobs), fold=_folded(jobs))
    labels = {node.name: _label(node, statuses, glyphs=glyphs) for node in found.nodes}
    for line in draw(found, labels, width=width - 2, glyphs=glyphs, is_full=is_full):
        yield Text("  ").append_text(line)
    yield _legend(statuses.values(), width=width, glyphs=glyphs)


def _needs(jobs: Sequence[JobView]) -> dict[str, list[str]]:
    """Who stands behind whom. The members of a group stand behind its generator, and for it."""
    groups = {job.state.group for job in jobs}
    found: dict[str, list[str]] = {}
    for job in jobs:
        needs = [edge.upstream for edge in job.needs if not (edge.is_resolved and edge.upstream in groups)]
        found[job.name] = needs if job.state.group is None else [job.state.group, *needs]
    return found


def _folded(jobs: Sequence[JobView]) -> dict[str, str]:
    """Under which name a job is drawn that is one of many."""
    homes = {job.name: job.state.group or job.state.matrix for job in jobs}
    sizes = Counter(home for home in homes.values() if home is not None)
    return {name: home for name, home in homes.items() if home is not None and sizes[home] > UNFOLDED}


def _label(node: Node, statuses: Mapping[str, RunStatus], *, glyphs: Glyphs) -> Label:
    ends = Counter(statuses[name] for name in node.members)
    own = [statuses[node.name]] if node.name in statuses else []
    status = min([*ends, *own], key=URGENCY.index)
    counts = " ".join(f"{ends[each]:,} {status_glyph(each, glyphs=glyphs)}" for each in _in_order(ends))
    return Label(
        sign=status_glyph(status, glyphs=glyphs),
        name=escape(node.name) + (f" {glyphs.times}{len(node.members):,}" if node.members else ""),
        style=STATUS_STYLES[status],
        more=f": {counts}" if node.members else "",
        is_over=status.is_terminal and status is not RunStatus.FAILED,
    )


def _in_order(statuses: Mapping[RunStatus, int]) -> list[RunStatus]:
    """As they are told: what is done, what is going on, what went wrong."""
    order = [RunStatus.COMPLETED, RunStatus.RUNNING, *URGENCY[2:6], RunStatus.FAILED, *URGENCY[6:]]
    return [status for status in dict.fromkeys(order) if status in statuses]


def _legend(statuses: Iterable[RunStatus], *, width: int, glyphs: Glyphs) -> Text:
    told = Text("  ")
    for status in _in_order(Counter(statuses)):
        part = f"{status_glyph(status, glyphs=glyphs)} {status.value}   "
        if told.cell_len + len(part) <= width + 3:
            told.append(part, style=STATUS_STYLES[status])
    told.rstrip()
    return told


def told_first(jobs: Sequence[JobView]) -> list[JobView]:
    """Those that have not completed, the most urgent first."""
    return sorted(
        (job for job in jobs if job.status is not RunStatus.COMPLETED),
        key=lambda job: (NOT_COMPLETED.index(job.status), job.state.position),
    )


def table(
    jobs: Sequence[JobView], briefs: Mapping[str, str], *, now: Instant, width: int, glyphs: Glyphs, is_full: bool
) -> Iterator[Text]:
    """Those that have not completed, and why. `briefs`: what a look behind their rows has found."""
    statuses, told = {job.name: job.status for job in jobs}, told_first(jobs)
    shown = told if is_full else told[:MAX_JOBS]
    room = min(max((cell_len(escape(job.name)) for job in shown), default=0), width // 3)
    for job in shown:
        name = cut(escape(job.name), room, glyphs=glyphs)
        line = Text(f"  {status_glyph(job.status, glyphs=glyphs)} ", style=STATUS_STYLES[job.status])
        line.append(name + " " * (room - cell_len(name)), style="default").append(f"  {job.status.value:9}  ")
        why = why_not(job, statuses, now=now, brief=briefs.get(job.name, ""))
        line.append(why if is_full else cut(why, width - line.cell_len, glyphs=glyphs), style="default not bold")
        line.rstrip()
        yield line
    if len(told) > len(shown):
        yield Text(f"  {glyphs.ellipsis} {len(told) - len(shown):,} more (--full)", style=DIM)


def why_not(job: JobView, statuses: Mapping[str, RunStatus], *, now: Instant, brief: str = "") -> str:
    """Why a job has not completed, in a cell of a table."""
    run, by = job.run, job.state.decided_by
    if may_wait(job.state):
        return escape(f"for {brief_needs(job, statuses)}")
    if run.status is RunStatus.SKIPPED and by is not None:
        return escape(f"because {by!r} {ENDS.get(statuses.get(by, RunStatus.FAILED), 'is not over')}")
    if run.status is RunStatus.RUNNING and run.started_at is not None:
        return f"for {between(run.started_at, now)}"
    if run.status is RunStatus.FAILED and job.failure is not None:
        return summary(job.failure)
    return "" if run.status.is_terminal else in_short(run, failure=job.failure, now=now, brief=brief)


def record(graph: GraphView, jobs: Sequence[JobView], briefs: Mapping[str, str], *, now: Instant) -> dict[str, object]:
    """What the record of a graph has besides that of every run: its counts, and its jobs."""
    statuses = {job.name: job.status for job in jobs}
    running = sum(status is RunStatus.RUNNING for status in statuses.values())
    told = [records.job(job, waits_for=_waits_for(job, statuses, briefs, now=now)) for job in jobs]
    return {"counts": records.graph(graph, running=running), "jobs": told}


def _waits_for(job: JobView, statuses: Mapping[str, RunStatus], briefs: Mapping[str, str], *, now: Instant) -> str:
    return "" if job.status.is_terminal else why_not(job, statuses, now=now, brief=briefs.get(job.name, ""))


def needed(job: JobView, jobs: Sequence[JobView], *, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    """What one job needs, how each of that stands, and which ends it accepts."""
    known = {other.name: other for other in jobs}
    edges = [edge for edge in job.needs if not edge.is_resolved and edge.upstream in known]
    shown = edges if is_full else edges[:MAX_JOBS]
    room = min(max((cell_len(escape(edge.upstream)) for edge in shown), default=0), width // 3)
    for edge in shown:
        status = known[edge.upstream].status
        name = cut(escape(edge.upstream), room, glyphs=glyphs)
        line = Text(f"  {status_glyph(status, glyphs=glyphs)} ", style=STATUS_STYLES[status])
        line.append(name + " " * (room - cell_len(name)), style="default").append(f"  {status.value:9}  ")
        accepts = " or ".join(end.value for end in edge.accepts)
        line.append(f"goes on if {accepts}" + (", and so are its members" if edge.is_group else ""), style=DIM)
        yield Text(cut(line.plain, width, glyphs=glyphs)) if line.cell_len > width else line
    if len(edges) > len(shown):
        yield Text(f"  {glyphs.ellipsis} {len(edges) - len(shown):,} more (--full)", style=DIM)

"""A job that has not begun because of other jobs of its graph, or that never will."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from windlass.model.duration import describe
from windlass.model.explanation import Explanation, Situation
from windlass.model.graph import EVERY_END, Edge, Graph, JobView
from windlass.model.run import RunStatus
from windlass.rules.explain.facts import Facts, Needed
from windlass.rules.explain.gates import closed_gates, openings
from windlass.rules.explain.words import Advice, ago, answer, joined, since
from windlass.rules.needs import may_wait

Clause = Callable[[Facts], str]  # where another run stands, going on after its name

SHOWN = 3  # upstreams that are named
ENDS = {
    RunStatus.COMPLETED: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.CANCELLED: "was cancelled",
    RunStatus.SKIPPED: "was skipped",
}


def waits_for_needs(facts: Facts, needed: Needed, *, clause: Clause) -> Explanation:
    """A job whose gate has not opened."""
    is_turn = needed.job.state.is_held and facts.run.unmet <= 1
    what = _turn(needed) if is_turn else _needs(facts, needed, clause)
    return answer(
        facts,
        Situation.WAITING_FOR_TURN if is_turn else Situation.WAITING_FOR_NEEDS,
        f"It has waited {since(facts.since, now=facts.now)} for {what} It holds no worker.",
        "" if is_turn or not needed.job.state.is_held else f"After that it waits for {_turn(needed)}",
        _time_out(needed),
        _about_graph(needed),
        closed_gates(facts),
        advice=[*_advice(needed, is_turn=is_turn), *openings(facts)],
        since=facts.since,
        brief=brief_needs(needed.job, {item.name: item.status for item in needed.upstreams}),
    )


def brief_needs(job: JobView, statuses: Mapping[str, RunStatus]) -> str:
    """What a job waits for, in a cell of a table. `statuses`: of its upstreams, as far as they are known."""
    open = [edge for edge in job.needs if _is_open(edge, statuses)]
    if not open:
        return f"its turn in {job.state.matrix!r}" if job.state.is_held else "what it needs"
    left = max(len(open), job.run.unmet - job.state.is_held)
    first = f"group {open[0].upstream!r}" if open[0].is_group else repr(open[0].upstream)
    return first if left == 1 else f"{first} and {left - 1:,} more"


def _is_open(edge: Edge, statuses: Mapping[str, RunStatus]) -> bool:
    status = statuses.get(edge.upstream)
    return status is not None and not status.is_terminal and not edge.is_resolved


def _turn(needed: Needed) -> str:
    """Siblings of its matrix have to end first."""
    state = needed.job.state
    at_work = f": now {joined([repr(name) for name in needed.siblings])}" if needed.siblings else ""
    return f"its turn: at most {state.max_parallel or 1:,} of {state.matrix!r} may be at work at a time{at_work}."


def _needs(facts: Facts, needed: Needed, clause: Clause) -> str:
    open, left = needed.upstreams, facts.run.unmet - needed.job.state.is_held
    if not open:
        return "what it needs."
    if max(left, len(open)) == 1:
        return f"{_named(needed, open[0])}, which {_stands(needed, open[0], clause)}.{_head(needed, clause)}"
    total = sum(not edge.is_resolved for edge in needed.job.needs)
    names = [repr(item.name) for item in open[:SHOWN]]
    more = [f"{left - len(names):,} more"] if left > len(names) else []
    of_all = f"{left:,} of the {total:,}" if left < total else f"the {total:,}"
    first = f"The first of them, {_named(needed, open[0])}, {_stands(needed, open[0], clause)}."
    return f"{of_all} jobs it needs: {joined([*names, *more], most=SHOWN + 1)}. {first}{_head(needed, clause)}"


def _named(needed: Needed, upstream: JobView) -> str:
    what = "group" if _is_unresolved(needed, upstream) else "job"
    return f"{what} {upstream.name!r} ({upstream.run.id})"


def _is_unresolved(needed: Needed, upstream: JobView) -> bool:
    edges = (edge for edge in needed.job.needs if edge.upstream == upstream.name)
    return any(edge.is_group and not edge.is_resolved for edge in edges)


def _stands(needed: Needed, upstream: JobView, clause: Clause) -> str:
    stands = "is not over" if needed.first is None else clause(needed.first)
    if _is_unresolved(needed, upstream):
        return f"has not said yet which jobs there are: its generator {stands}"
    return stands


def _head(needed: Needed, clause: Clause) -> str:
    head, first = needed.head, needed.first
    if head is None or first is None or head.run.id == first.run.id:
        return ""
    return f" At the head of the line, {head.run.job!r} ({head.run.id}) {clause(head)}."


def _time_out(needed: Needed) -> str:
    lasts = needed.job.state.timeout_for
    return "" if lasts is None else f"Its time-out of {describe(lasts)} begins once it may."


def _about_graph(needed: Needed) -> str:
    graph = needed.graph
    if graph.ending is not None:
        return f"Its graph {graph.id} has been cancelled, or ran out of time; this job cleans up, and still runs."
    return f"Its graph {graph.id} is paused, and nothing of it begins before it is resumed." if graph.is_paused else ""


def _advice(needed: Needed, *, is_turn: bool) -> list[Advice]:
    about = needed.head or needed.first
    found: list[Advice] = []
    if about is not None and not is_turn:
        found.append((f"more about {about.run.job!r}", f"windlass explain {about.run.id}"))
    return [*found, *graph_advice(needed.graph)]


def graph_advice(graph: Graph) -> list[Advice]:
    """What lets a paused graph go on."""
    return [("let the graph go on", f"windlass resume {graph.id}")] if graph.is_paused else []


# One that never will


def skipped(facts: Facts, needed: Needed) -> str:
    """Because of which upstream, how that ended, and what would have done."""
    told = f"It was skipped {ago(facts.run.finished_at or facts.since, now=facts.now)}"
    name = needed.job.state.decided_by
    if name is None:
        return f"{told}."
    decided = next((item for item in needed.upstreams if item.name == name), None)
    ended = "did not end as it should" if decided is None else ENDS.get(decided.status, "has not ended")
    who = repr(name) if decided is None else f"{name!r} ({decided.run.id})"
    edge = next((edge for edge in needed.job.needs if edge.upstream == name and not edge.is_resolved), None)
    if edge is None and needed.job.state.matrix is not None:
        matrix = needed.job.state.matrix
        return f"{told}: {who} {ended}, and of {matrix!r} nothing more begins once one does not complete (fail_fast)."
    accepts = "" if edge is None else f" It would have gone on if that had {_ways(edge)}."
    return f"{told}: it needs {who}, which {ended}.{accepts}"


def _ways(edge: Edge) -> str:
    """The ends an edge accepts, behind "had"."""
    words = {RunStatus.CANCELLED: "been cancelled", RunStatus.SKIPPED: "been skipped"}
    if edge.accepts == EVERY_END:
        return "ended in any way"
    return " or ".join(words.get(status, status.value) for status in edge.accepts)


def is_waiting(facts: Facts) -> bool:
    """Is it up to other jobs whether this one begins?"""
    return facts.needed is not None and may_wait(facts.needed.job.state)

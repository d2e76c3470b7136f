"""A graph: how far its jobs are, what is at work, and what the rest waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windlass.model.explanation import Explanation, Situation
from windlass.model.graph import Graph
from windlass.model.run import RunStatus
from windlass.rules.explain.facts import Facts, Jobs
from windlass.rules.explain.gates import closed_gates, openings
from windlass.rules.explain.needs import Clause, brief_needs
from windlass.rules.explain.words import Advice, answer, by, count, joined, must_end, quoted

SHOWN = 3  # jobs that are named


def waits_for_jobs(facts: Facts, jobs: Jobs, *, clause: Clause) -> Explanation:
    graph = jobs.graph
    is_ending = graph.ending is not None
    advice: list[Advice] = [("end those too", f"windlass cancel {graph.id}")] if is_ending else []
    return answer(
        facts,
        Situation.CANCELLING if is_ending else Situation.WAITING_FOR_JOBS,
        _ends(facts, graph) if is_ending else f"It waits for its jobs: {over(graph)}.",
        _at_work(jobs.open),
        _waiting(jobs, clause),
        must_end(facts),
        closed_gates(facts),
        advice=[*advice, *_about_first(jobs), *openings(facts)],
        since=facts.since,
        brief=_brief(graph),
    )


def _brief(graph: Graph) -> str:
    told = f"{graph.jobs - graph.open:,} of {count(graph.jobs, 'job', 'jobs')} over"
    return told if graph.ending is None else f"to be {graph.ending.value}, {told}"


def _ends(facts: Facts, graph: Graph) -> str:
    """The jobs that clean up are let run."""
    deed = facts.cancel
    why = (
        "ran out of time" if graph.ending is RunStatus.FAILED else f"has been cancelled{by(deed.by)}{quoted(deed.note)}"
    )
    left = count(graph.open, "job that cleans up is", "jobs that clean up are")
    return f"It {why}; it ends as {graph.ending.value if graph.ending else ''} once {left} over: {over(graph)}."


def _at_work(open: Mapping[str, RunStatus]) -> str:
    names = [repr(name) for name, status in open.items() if status is RunStatus.RUNNING]
    if not names:
        return "None is at work."
    return f"{len(names):,} {'is' if len(names) == 1 else 'are'} at work: {_some(names)}."


def _waiting(jobs: Jobs, clause: Clause) -> str:
    """What keeps the first job that no other job keeps; else what the first of the rest waits for."""
    rest = [name for name, status in jobs.open.items() if status is not RunStatus.RUNNING]
    if not rest:
        return ""
    said = f"{len(rest):,} {'waits' if len(rest) == 1 else 'wait'}"
    first, waiting = jobs.first, jobs.waiting
    if first is not None:
        return f"{said}; the first of them, {first.run.job!r} ({first.run.id}), {clause(first)}."
    if waiting is not None:
        return f"{said}; the first of them, {waiting.name!r}, for {brief_needs(waiting, jobs.open)}."
    return f"{said}: {_some([repr(name) for name in rest])}."


def _about_first(jobs: Jobs) -> list[Advice]:
    """What keeps a job that no other job keeps may need somebody."""
    first = jobs.first
    return [] if first is None else [(f"more about {first.run.job!r}", f"windlass explain {first.run.id}")]


def _some(names: Sequence[str]) -> str:
    return joined(names, most=SHOWN)


def over(graph: Graph) -> str:
    """ "5 of its 8 jobs are over (4 completed, 1 failed)"."""
    done = graph.jobs - graph.open
    if not done:
        return f"none of its {count(graph.jobs, 'job', 'jobs')} is over"
    verb = "is" if done == 1 else "are"
    return f"{done:,} of its {count(graph.jobs, 'job', 'jobs')} {verb} over ({counted(graph)})"


def counted(graph: Graph) -> str:
    """How the jobs ended that are over: "4 completed, 1 failed"."""
    ends = {"completed": graph.completed, "failed": graph.failed}
    ends |= {"cancelled": graph.cancelled, "skipped": graph.skipped}
    return ", ".join(f"{number:,} {word}" for word, number in ends.items() if number)


def ended_jobs(jobs: Jobs | None) -> str:
    """How the jobs of a graph ended that is over, and which of them failed."""
    if jobs is None:
        return ""
    names = f" Failed: {_some([repr(name) for name in jobs.failed])}." if jobs.failed else ""
    return f"Its {count(jobs.graph.jobs, 'job', 'jobs')}: {counted(jobs.graph)}.{names}"

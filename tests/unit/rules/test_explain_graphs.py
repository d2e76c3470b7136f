"""Does the rule behind `explain` name the job that keeps another from beginning, and tell how far a graph is?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.cli.samples import a_log, a_run, at
from windlass.model.explanation import Explanation, Situation
from windlass.model.failure import Failure, FailureKind
from windlass.model.gate import Gate, GateKind
from windlass.model.graph import COMPLETED_ONLY, EVERY_END, Accepted, Edge, Graph, JobState, JobView
from windlass.model.run import CANCELLED_BY, PAUSED_BY, LogEntry, RunId, RunKind, RunStatus, RunView
from windlass.model.time import SECOND, Duration
from windlass.rules.explain import Facts, explain
from windlass.rules.explain.facts import Jobs, Needed
from windlass.rules.graph_ends import failure_of

GRAPH = RunId("run_G")


def needs(job: str, *upstreams: str, accepts: Accepted = COMPLETED_ONLY, **changes: Any) -> tuple[Edge, ...]:
    return tuple(Edge(job=job, upstream=name, accepts=accepts, **changes) for name in upstreams)


def a_job(name: str, status: RunStatus, *upstreams: str, unmet: int = 0, **changes: Any) -> JobView:
    run = a_run(
        status,
        end=5 if status.is_terminal else None,
        id=RunId(f"run_{name}"),
        name=f"release.{name}",
        kind=RunKind.JOB,
        parent=GRAPH,
        parent_step=name,
        unmet=unmet,
        attempts=0 if unmet or status in (RunStatus.PENDING, RunStatus.SKIPPED) else 1,
        available_at=at(60) if status is RunStatus.RUNNING else None,
    )
    return JobView(state=JobState(run=run, name=name, **changes), needs=needs(name, *upstreams))


def a_graph(**changes: Any) -> Graph:
    return Graph(namespace="default", id=GRAPH, name="release", jobs=8, **changes)


def facts_of(job: JobView, *, cause: str = "", **known: Any) -> Facts:
    log = tuple(a_log((0, job.status.value, cause)))
    facts = Facts(view=RunView(run=job.run, failure=job.failure), steps=(), log=log, workers=(), now=at(10))
    return replace(facts, **known)


def told(job: JobView, *upstreams: JobView, graph: Graph | None = None, head: JobView | None = None) -> Explanation:
    """Explain a job that came into its status at noon, whose first upstreams that are not over are these."""
    needed = Needed(
        graph=graph or a_graph(open=3),
        job=job,
        upstreams=upstreams,
        first=facts_of(upstreams[0]) if upstreams else None,
        head=None if head is None else facts_of(head),
    )
    return explain(facts_of(job, needed=needed))


LINT = a_job("lint", RunStatus.RUNNING)


def test_a_job_names_the_upstream_it_waits_for_and_where_that_stands() -> None:
    found = told(a_job("test", RunStatus.WAITING, "lint", unmet=1), LINT)

    assert (found.code, found.since, found.brief) == (Situation.WAITING_FOR_NEEDS, at(0), "'lint'")
    assert found.text == (
        "It has waited since 12:00:00 UTC (10 s) for job 'lint' (run_lint), "
        "which is held by a worker that has stopped. It holds no worker. More about 'lint': windlass explain run_lint"
    )


def test_of_several_upstreams_the_first_three_are_named_and_the_rest_counted() -> None:
    names = [f"shard-{number}" for number in range(6)]
    job = a_job("report", RunStatus.WAITING, "lint", *names, unmet=5)

    found = told(job, *(a_job(name, RunStatus.PENDING) for name in names[:3]))

    assert found.brief == "'shard-0' and 4 more"
    assert "for 5 of the 7 jobs it needs: 'shard-0', 'shard-1', 'shard-2' and 2 more. The first of them, " in found.text


def test_the_job_at_the_head_of_the_line_says_what_keeps_them_all() -> None:
    found = told(
        a_job("deploy", RunStatus.WAITING, "test", unmet=1),
        a_job("test", RunStatus.WAITING, "lint", unmet=1),
        head=a_job("lint", RunStatus.PENDING),
    )

    assert "for job 'test' (run_test), which waits for what it needs." in found.text
    assert (
        " At the head of the line, 'lint' (run_lint) waits for a worker, and none that is alive runs it." in found.text
    )
    assert found.text.endswith("More about 'lint': windlass explain run_lint")


def test_a_group_that_is_not_resolved_has_not_said_which_jobs_there_are() -> None:
    job = replace(
        a_job("report", RunStatus.WAITING, unmet=1), needs=needs("report", "shards", is_group=True, is_resolved=False)
    )

    found = told(job, a_job("shards", RunStatus.PENDING, is_group=True))

    assert found.brief == "group 'shards'"
    assert "for group 'shards' (run_shards), which has not said yet which jobs there are: its generator " in found.text


def test_a_job_that_its_matrix_keeps_waits_for_its_turn() -> None:
    job = a_job("test[3.13]", RunStatus.WAITING, unmet=1, is_held=True, matrix="test", max_parallel=2)
    needed = Needed(graph=a_graph(open=3), job=job, siblings=("test[3.11]", "test[3.12]"))

    found = explain(facts_of(job, needed=needed))

    assert (found.code, found.brief) == (Situation.WAITING_FOR_TURN, "its turn in 'test'")
    assert (
        "for its turn: at most 2 of 'test' may be at work at a time: now 'test[3.11]' and 'test[3.12]'." in found.text
    )


def test_one_that_waits_for_needs_and_then_for_its_turn_says_both() -> None:
    job = a_job("test[3.13]", RunStatus.WAITING, "lint", unmet=2, is_held=True, matrix="test", max_parallel=1)

    found = told(job, LINT)

    assert (found.code, found.brief) == (Situation.WAITING_FOR_NEEDS, "'lint'")
    assert "for job 'lint' (run_lint), which " in found.text
    assert "After that it waits for its turn: at most 1 of 'test' may be at work at a time." in found.text


def test_a_time_out_begins_when_the_needs_are_met() -> None:
    job = a_job("test", RunStatus.WAITING, "lint", unmet=1, timeout_for=Duration(300 * SECOND))

    assert "Its time-out of 5 min begins once it may." in told(job, LINT).text


def test_a_job_of_a_paused_graph_says_how_the_graph_goes_on() -> None:
    waiting = told(a_job("test", RunStatus.WAITING, "lint", unmet=1), LINT, graph=a_graph(open=3, is_paused=True))
    paused = told(a_job("test", RunStatus.PAUSED), graph=a_graph(open=3, is_paused=True))

    assert "Its graph run_G is paused, and nothing of it begins before it is resumed." in waiting.text
    assert waiting.text.endswith("let the graph go on: windlass resume run_G")
    assert (paused.code, "Its graph run_G is paused as a whole." in paused.text) == (Situation.PAUSED, True)
    assert paused.text.endswith("Let the graph go on: windlass resume run_G")


def test_a_job_that_cleans_up_runs_after_its_graph_was_cancelled() -> None:
    graph = a_graph(open=1, ending=RunStatus.CANCELLED)

    found = told(a_job("tidy", RunStatus.WAITING, "test", unmet=1, is_cleanup=True), LINT, graph=graph)

    assert "this job cleans up, and still runs." in found.text


@pytest.mark.spec("graphs:23")
@pytest.mark.parametrize(
    ("status", "ended"),
    [(RunStatus.FAILED, "failed"), (RunStatus.CANCELLED, "was cancelled"), (RunStatus.SKIPPED, "was skipped")],
)
def test_a_skipped_job_says_because_of_whom_and_what_would_have_done(status: RunStatus, ended: str) -> None:
    found = told(a_job("test", RunStatus.SKIPPED, "lint", decided_by="lint"), a_job("lint", status))

    assert found.code is Situation.SKIPPED
    assert found.text == (
        f"It was skipped at 12:00:05 UTC, 5 s ago: it needs 'lint' (run_lint), which {ended}. "
        "It would have gone on if that had completed."
    )


@pytest.mark.parametrize(
    ("accepts", "ways"),
    [
        ((RunStatus.FAILED,), "failed"),
        ((RunStatus.COMPLETED, RunStatus.SKIPPED), "completed or been skipped"),
        (EVERY_END, "ended in any way"),
    ],
)
def test_the_ends_an_edge_accepts_are_told(accepts: Accepted, ways: str) -> None:
    job = replace(a_job("undo", RunStatus.SKIPPED, decided_by="lint"), needs=needs("undo", "lint", accepts=accepts))

    assert f"It would have gone on if that had {ways}." in told(job, a_job("lint", RunStatus.COMPLETED)).text


def test_a_sibling_that_fails_fast_is_told_as_the_reason() -> None:
    job = a_job("test[3.13]", RunStatus.SKIPPED, decided_by="test[3.11]", matrix="test", fail_fast=True)

    found = told(job, a_job("test[3.11]", RunStatus.FAILED, matrix="test"))

    assert found.text == (
        "It was skipped at 12:00:05 UTC, 5 s ago: 'test[3.11]' (run_test[3.11]) failed, "
        "and of 'test' nothing more begins once one does not complete (fail_fast)."
    )


def test_a_job_whose_code_is_gone_failed_by_drift() -> None:
    failure = Failure(kind=FailureKind.DRIFT, type="windlass.Drift", message="no worker declares 'release.test'")

    found = told(replace(a_job("test", RunStatus.FAILED), failure=failure))

    assert found.code is Situation.DRIFT
    assert "because its code is gone. No worker declares 'release.test'." in found.text


# A graph


def a_graph_run(status: RunStatus, jobs: Jobs, *, log: list[LogEntry] | None = None, **known: Any) -> Explanation:
    run = a_run(status, id=GRAPH, name="release", kind=RunKind.GRAPH, end=5 if status.is_terminal else None)
    facts = Facts(
        view=RunView(run=run, failure=known.pop("failure", None)),
        steps=(),
        log=tuple(log or a_log((0, status.value, "open"))),
        workers=(),
        now=at(10),
        jobs=jobs,
    )
    return explain(replace(facts, **known))


REPORT = a_job("report", RunStatus.WAITING, "build", unmet=1)


def test_a_graph_tells_what_is_over_what_is_at_work_and_what_the_first_of_the_rest_waits_for() -> None:
    graph = a_graph(open=3, completed=4, failed=1)
    open = {"build": RunStatus.RUNNING, "report": RunStatus.WAITING, "tidy": RunStatus.WAITING}

    found = a_graph_run(RunStatus.WAITING, Jobs(graph=graph, open=open, waiting=REPORT))

    assert (found.code, found.brief) == (Situation.WAITING_FOR_JOBS, "5 of 8 jobs over")
    assert found.text == (
        "It waits for its jobs: 5 of its 8 jobs are over (4 completed, 1 failed). 1 is at work: 'build'. "
        "2 wait; the first of them, 'report', for 'build'."
    )


def test_a_graph_of_which_nothing_is_at_work_says_what_keeps_the_first_job() -> None:
    first = facts_of(a_job("lint", RunStatus.PENDING))
    open = {"report": RunStatus.WAITING, "lint": RunStatus.PENDING}

    found = a_graph_run(RunStatus.WAITING, Jobs(graph=a_graph(open=8), open=open, first=first, waiting=REPORT))

    assert "none of its 8 jobs is over. None is at work. 2 wait; the first of them, 'lint' (run_lint), " in found.text
    assert "waits for a worker, and none that is alive runs it. " in found.text
    assert found.text.endswith("More about 'lint': windlass explain run_lint")


def test_a_cancelled_graph_waits_for_those_that_clean_up() -> None:
    graph = a_graph(open=1, cancelled=7, ending=RunStatus.CANCELLED)

    found = a_graph_run(
        RunStatus.WAITING,
        Jobs(graph=graph, open={"tidy": RunStatus.RUNNING}),
        log=a_log((0, "waiting", "open"), (3, "waiting", CANCELLED_BY)),
    )

    assert (found.code, found.brief) == (Situation.CANCELLING, "to be cancelled, 7 of 8 jobs over")
    assert "It has been cancelled; it ends as cancelled once 1 job that cleans up is over" in found.text
    assert "1 is at work: 'tidy'." in found.text
    assert "End those too: windlass cancel run_G" in found.text


def test_a_paused_graph_says_who_paused_it_and_how_it_goes_on() -> None:
    pause = replace(a_log((2, "paused", PAUSED_BY))[0], from_status="waiting", data=b'{"by":"ann","note":"later"}')

    found = a_graph_run(
        RunStatus.PAUSED,
        Jobs(graph=a_graph(open=8, is_paused=True), open={"report": RunStatus.WAITING}),
        log=[*a_log((0, "waiting", "open")), pause],
    )

    assert (found.code, found.brief) == (Situation.PAUSED, "paused by ann")
    assert found.text == (
        'It has been paused by ann since 12:00:02 UTC (8 s): "later". None of its 8 jobs is over; nothing more of it '
        "begins. Let it go on: windlass resume run_G"
    )


def test_a_graph_that_failed_counts_its_jobs_and_names_those_that_did() -> None:
    graph = a_graph(completed=4, failed=1, skipped=3)
    failure = Failure(kind=FailureKind.LOGIC, type="windlass.RunFailed", message="1 job failed")

    found = a_graph_run(RunStatus.FAILED, Jobs(graph=graph, failed=("lint",)), failure=failure)

    assert "Its 8 jobs: 4 completed, 1 failed, 3 skipped. Failed: 'lint'." in found.text
    assert "in the workflow itself" not in found.text


def test_a_graph_whose_jobs_failed_says_so_once_and_how_to_go_on() -> None:
    graph = a_graph(completed=4, failed=1, skipped=3)
    failure = failure_of(graph, [("lint", Failure(kind=FailureKind.DRIFT, type="Drift", message="no code"))])

    found = a_graph_run(RunStatus.FAILED, Jobs(graph=graph, failed=("lint",)), failure=failure)

    assert found.code is Situation.FAILED  # drift is the job's
    assert found.text.count("lint") == found.text.count("3 skipped") == 1
    assert "1 of 8 jobs failed: lint (Drift: no code). 3 skipped." in found.text
    assert "do the rest again: windlass retry run_G" in found.text


def test_a_closed_gate_is_told_of_a_job_that_waits_for_others_too() -> None:
    gate = Gate(namespace="default", kind=GateKind.QUEUE, name="default", is_paused=True)
    job = a_job("test", RunStatus.WAITING, "lint", unmet=1)

    found = explain(facts_of(job, needed=Needed(graph=a_graph(open=3), job=job, upstreams=(LINT,)), gates=(gate,)))

    assert "Queue 'default' has been paused" in found.text

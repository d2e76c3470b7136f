"""When may a job begin, when never, and what does the end of one job decide about those below?"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.integration.cli.samples import a_run
from windlass.model.graph import COMPLETED_ONLY, EVERY_END, POLICIES, Accepted, Edge, JobState, NeedPolicy
from windlass.model.run import TERMINAL, RunStatus
from windlass.rules.needs import Below, Decided, decide, judge, may_wait

COMPLETED, FAILED, CANCELLED, SKIPPED = RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.SKIPPED


def waiting(name: str, unmet: int = 1, *, status: RunStatus = RunStatus.WAITING, **changes: Any) -> JobState:
    run = a_run(status, end=None, attempts=changes.pop("attempts", 0), unmet=unmet, name=f"release.{name}")
    return JobState(run=run, name=name, **changes)


def edge(job: str, upstream: str, accepts: Accepted = COMPLETED_ONLY, **changes: Any) -> Edge:
    return Edge(job=job, upstream=upstream, accepts=accepts, **changes)


def decided(
    ended: Mapping[str, RunStatus],
    edges: Sequence[Edge] = (),
    *jobs: JobState,
    held: Mapping[str, Sequence[str]] | None = None,
    over: Sequence[JobState] = (),
    skips: Mapping[str, str] | None = None,
) -> Decided:
    """`jobs` are those below; of edges that name others, each waits for as many as it has edges."""
    known = {job.name: job for job in jobs}
    counts = Counter(edge.job for edge in edges if not edge.is_resolved)
    known = {name: waiting(name, unmet) for name, unmet in counts.items()} | known
    below = Below(edges, known, held or {})
    return decide(ended, below, matrices={job.name: job for job in over}, skips=skips)


# Dispatch


@pytest.mark.spec("graphs:25", "invariants:I-26")
def test_a_job_whose_last_need_is_met_is_released() -> None:
    found = decided({"lint": COMPLETED}, [edge("build", "lint")])

    assert found.released == ["build"]
    assert found.met == {"build": 1}
    assert not found.skipped


@pytest.mark.spec("graphs:26", "invariants:I-26")
def test_while_another_upstream_is_unfinished_nothing_is_decided() -> None:
    found = decided({"lint": COMPLETED}, [edge("build", "lint"), edge("build", "fetch")])

    assert found.met == {"build": 1}
    assert not found.released
    assert not found.skipped


@pytest.mark.spec("graphs:24")
def test_what_ended_before_counts() -> None:
    found = decided({"lint": COMPLETED}, [edge("build", "lint")], waiting("build", 1))

    assert found.released == ["build"]
    assert not decided({"lint": COMPLETED}, [edge("build", "lint")], waiting("build", 2)).released


@pytest.mark.spec("graphs:24")
def test_two_upstreams_that_end_together_release_a_job_once() -> None:
    found = decided({"a": COMPLETED, "b": COMPLETED}, [edge("c", "a"), edge("c", "b")])

    assert found.released == ["c"]
    assert found.met == {"c": 2}


@pytest.mark.spec("graphs:22")
def test_only_edges_from_what_ended_are_followed() -> None:
    found = decided({"a": COMPLETED}, [edge("b", "a"), edge("d", "c"), edge("a", "z")])

    assert found.released == ["b"]
    assert set(found.met) == {"b"}


def test_jobs_are_released_in_the_order_of_their_names() -> None:
    edges = [edge(name, "root") for name in ("c", "a", "b")]

    assert decided({"root": COMPLETED}, edges).released == ["a", "b", "c"]


# Skips


@pytest.mark.spec("graphs:40", "graphs:41", "graphs:23")
@pytest.mark.parametrize("end", sorted(TERMINAL - {COMPLETED}))
def test_without_a_policy_whatever_is_no_success_skips_and_the_reason_is_named(end: RunStatus) -> None:
    found = decided({"lint": end}, [edge("build", "lint")])

    assert found.skipped == {"build": "lint"}
    assert not found.released
    assert not found.met


@pytest.mark.spec("graphs:42")
@pytest.mark.parametrize("end", sorted(TERMINAL))
def test_an_edge_that_accepts_every_end_lets_the_job_go_ahead(end: RunStatus) -> None:
    assert decided({"lint": end}, [edge("report", "lint", EVERY_END)]).released == ["report"]


@pytest.mark.parametrize("policy", list(NeedPolicy))
@pytest.mark.parametrize("end", sorted(TERMINAL))
def test_a_job_begins_after_exactly_those_ends_that_its_policy_names(policy: NeedPolicy, end: RunStatus) -> None:
    expected = {
        NeedPolicy.COMPLETED: {COMPLETED},
        NeedPolicy.FAILED: {FAILED},
        NeedPolicy.SKIPPED: {COMPLETED, SKIPPED},
        NeedPolicy.ALWAYS: TERMINAL,
    }

    found = decided({"lint": end}, [edge("next", "lint", POLICIES[policy])])

    assert bool(found.released) == (end in expected[policy])
    assert bool(found.skipped) == (end not in expected[policy])


@pytest.mark.spec("graphs:43")
def test_each_edge_has_a_policy_of_its_own() -> None:
    edges = [edge("report", "lint"), edge("report", "test", EVERY_END)]

    assert decided({"lint": COMPLETED, "test": FAILED}, edges).released == ["report"]
    assert decided({"lint": FAILED, "test": COMPLETED}, edges).skipped == {"report": "lint"}


def test_a_handler_of_failures_is_skipped_by_a_success() -> None:
    edges = [edge("ship", "build"), edge("undo", "build", POLICIES[NeedPolicy.FAILED])]

    found = decided({"build": COMPLETED}, edges)

    assert (found.released, found.skipped) == (["ship"], {"undo": "build"})


def test_a_skip_does_not_wait_for_the_other_upstreams() -> None:
    found = decided({"lint": FAILED}, [edge("ship", "lint"), edge("ship", "test"), edge("ship", "docs")])

    assert found.skipped == {"ship": "lint"}


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_a_need_that_is_met_and_one_that_is_not_the_skip_wins(names: tuple[str, str]) -> None:
    good, bad = names

    found = decided({good: COMPLETED, bad: FAILED}, [edge("c", "a"), edge("c", "b")])

    assert found.skipped == {"c": bad}
    assert not found.met
    assert not found.released


# Cascades


@pytest.mark.spec("graphs:27")
def test_what_is_skipped_is_over_and_decides_about_those_below() -> None:
    found = decided({"a": FAILED}, [edge("b", "a"), edge("c", "b"), edge("d", "c")])

    assert found.skipped == {"b": "a", "c": "b", "d": "c"}


@pytest.mark.spec("graphs:27")
def test_an_edge_that_accepts_a_skip_ends_the_cascade() -> None:
    found = decided({"a": FAILED}, [edge("b", "a"), edge("c", "b", POLICIES[NeedPolicy.SKIPPED]), edge("d", "c")])

    assert found.skipped == {"b": "a"}
    assert found.released == ["c"]
    assert "d" not in found.met


def test_a_failure_further_up_is_no_failure_of_the_upstream_itself() -> None:
    found = decided({"a": FAILED}, [edge("b", "a"), edge("handler", "b", POLICIES[NeedPolicy.FAILED])])

    assert found.skipped == {"b": "a", "handler": "b"}


@pytest.mark.spec("graphs:27", "invariants:I-28")
def test_a_job_below_two_that_are_skipped_is_skipped_once() -> None:
    edges = [edge("b", "a"), edge("c", "a"), edge("d", "b"), edge("d", "c"), edge("e", "d", EVERY_END)]

    found = decided({"a": CANCELLED}, edges)

    assert found.skipped == {"b": "a", "c": "a", "d": "b"}
    assert found.met == {"e": 1}
    assert found.released == ["e"]


@pytest.mark.spec("graphs:28")
def test_a_cascade_ends_however_long_it_is() -> None:
    names = [f"j{number}" for number in range(10_000)]
    edges = [edge(job, upstream) for upstream, job in itertools.pairwise(names)]

    assert len(decided({"j0": FAILED}, edges).skipped) == 9_999


@pytest.mark.spec("graphs:44")
def test_what_a_failure_would_skip_is_asked_without_doing_it() -> None:
    edges = [edge("build", "lint"), edge("ship", "build"), edge("report", "ship", EVERY_END), edge("docs", "fetch")]
    jobs = {name: waiting(name) for name in ("build", "ship", "report", "docs")}
    before = dict(jobs)

    found = decide({"lint": FAILED}, Below(edges, jobs))

    assert set(found.skipped) == {"build", "ship"}
    assert jobs == before


# Who is not decided about any more


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_what_is_over_stays_as_it_ended(status: RunStatus) -> None:
    job = waiting("b", status=status)

    for end in TERMINAL:
        found = decided({"a": end}, [edge("b", "a"), edge("c", "b")], job)
        assert not found.skipped
        assert not found.met


def test_what_has_begun_is_not_skipped() -> None:
    assert not may_wait(waiting("b", 0, status=RunStatus.RUNNING, attempts=1))
    assert not may_wait(waiting("b", 1, status=RunStatus.WAITING, attempts=1))  # for a child of its own
    assert not may_wait(waiting("b", 0, status=RunStatus.PENDING))
    assert may_wait(waiting("b", 1, status=RunStatus.PAUSED))


def test_a_job_that_waits_for_a_person_is_skipped_all_the_same() -> None:
    assert decided({"a": FAILED}, [edge("b", "a")], waiting("b", status=RunStatus.PAUSED)).skipped == {"b": "a"}


def test_jobs_may_be_skipped_to_begin_with() -> None:
    found = decided(
        {"shards": COMPLETED}, [edge("s2", "s1"), edge("s3", "s1", EVERY_END)], waiting("s1"), skips={"s1": "lint"}
    )

    assert found.skipped == {"s1": "lint", "s2": "s1"}
    assert found.released == ["s3"]


# Groups


@pytest.mark.spec("invariants:I-31")
def test_a_group_that_is_not_resolved_holds_its_dependents_up() -> None:
    edges = [edge("report", "lint"), edge("report", "shards", is_group=True)]

    found = decided({"lint": COMPLETED}, edges)

    assert not found.released
    assert judge(edges, {"lint": COMPLETED}) == (1, None)
    assert judge(edges, {"lint": COMPLETED, "shards": RunStatus.RUNNING}) == (1, None)


@pytest.mark.parametrize("end", sorted(TERMINAL - {COMPLETED}))
def test_a_generator_that_does_not_complete_skips_its_dependents_unless_they_accept_it(end: RunStatus) -> None:
    edges = [edge("ship", "shards", is_group=True), edge("report", "shards", EVERY_END, is_group=True)]

    found = decided({"shards": end}, edges)

    assert found.skipped == {"ship": "shards"}
    assert found.released == ["report"]


def test_a_group_that_is_resolved_is_decided_by_its_members() -> None:
    edges = [
        edge("report", "shards", is_group=True, is_resolved=True),
        edge("report", "s1"),
        edge("report", "s2"),
    ]

    assert not decided({"shards": COMPLETED}, edges).met
    assert not decided({"shards": COMPLETED, "s1": COMPLETED}, edges).released
    assert decided({"shards": COMPLETED, "s1": COMPLETED, "s2": COMPLETED}, edges).released == ["report"]
    assert decided({"s2": FAILED}, edges).skipped == {"report": "s2"}


@pytest.mark.spec("invariants:I-31")
def test_an_empty_group_that_succeeded_is_a_need_that_is_met() -> None:
    assert decided({"shards": COMPLETED}, [edge("report", "shards", is_group=True)]).released == ["report"]


# Windows of a matrix


def children(*labels: str, held: str = "", **changes: Any) -> dict[str, JobState]:
    """Children of "test": those of `held` wait for a turn, and for nothing else."""
    found: dict[str, JobState] = {}
    for label in labels:
        is_held = label in held
        job = waiting(f"test[{label}]", int(is_held), matrix="test", max_parallel=2, is_held=is_held, **changes)
        found[label] = job
    return found


def freed(ended: Mapping[str, RunStatus], edges: Sequence[Edge] = (), **changes: Any) -> Decided:
    """a and b are at work, c and d wait for a turn."""
    jobs = children("a", "b", "c", "d", held="cd", **changes)
    over = [jobs[label] for label in ended]
    ends = {f"test[{label}]": end for label, end in ended.items()}
    return decided(ends, edges, jobs["c"], jobs["d"], held={"test": ["test[c]", "test[d]"]}, over=over)


@pytest.mark.parametrize("end", sorted(TERMINAL))
def test_whoever_ends_gives_its_turn_to_the_next_of_its_matrix(end: RunStatus) -> None:
    found = freed({"a": end})

    assert found.turns == ["test[c]"]
    assert found.released == ["test[c]"]
    assert not found.skipped


def test_two_that_end_free_two_turns() -> None:
    assert freed({"a": COMPLETED, "b": FAILED}).turns == ["test[c]", "test[d]"]


def test_a_turn_does_not_release_what_needs_more() -> None:
    job = waiting("test[c]", 2, matrix="test", max_parallel=1, is_held=True)
    over = waiting("test[a]", 0, matrix="test", max_parallel=1)

    found = decided({"test[a]": COMPLETED}, [], job, held={"test": ["test[c]"]}, over=[over])

    assert found.turns == ["test[c]"]
    assert found.met == {"test[c]": 1}
    assert not found.released


@pytest.mark.parametrize("end", sorted(TERMINAL - {COMPLETED}))
def test_with_fail_fast_one_that_does_not_complete_skips_all_that_wait_for_a_turn(end: RunStatus) -> None:
    found = freed({"a": end}, [edge("report", "test[d]", EVERY_END)], fail_fast=True)

    assert found.skipped == {"test[c]": "test[a]", "test[d]": "test[a]"}
    assert not found.turns
    assert found.released == ["report"]


def test_with_fail_fast_one_that_completes_gives_its_turn_on() -> None:
    assert freed({"a": COMPLETED}, fail_fast=True).turns == ["test[c]"]


def test_a_turn_passes_over_who_is_skipped_by_another() -> None:
    edges = [edge("test[c]", "lint")]
    jobs = children("a", "c", "d", held="cd")
    ends = {"lint": FAILED, "test[a]": COMPLETED}

    found = decided(ends, edges, jobs["c"], jobs["d"], held={"test": ["test[c]", "test[d]"]}, over=[jobs["a"]])

    assert found.skipped == {"test[c]": "lint"}
    assert found.turns == ["test[d]"]
    assert found.released == ["test[d]"]


def test_a_turn_that_went_to_one_who_is_skipped_goes_on_to_the_next() -> None:
    edges = [edge("test[c]", "upstream")]
    jobs = children("a", "c", "d", held="cd")
    ends = {"test[a]": COMPLETED, "upstream": FAILED}  # worked through in this order

    found = decided(ends, edges, jobs["c"], jobs["d"], held={"test": ["test[c]", "test[d]"]}, over=[jobs["a"]])

    assert found.skipped == {"test[c]": "upstream"}
    assert found.turns == ["test[d]"]


def test_who_is_skipped_while_it_waits_for_a_turn_is_given_none_later() -> None:
    jobs = children("c", "d", held="cd")
    begun = waiting("test[a]", 1, matrix="test", max_parallel=1)
    edges = [edge("test[c]", "lint"), edge("between", "lint"), edge("test[a]", "between")]

    found = decided({"lint": FAILED}, edges, begun, *jobs.values(), held={"test": ["test[c]", "test[d]"]})

    assert set(found.skipped) == {"test[a]", "test[c]", "between"}
    assert found.turns == ["test[d]"]
    assert found.released == ["test[d]"]


def test_who_ends_without_a_turn_gives_none_away() -> None:
    jobs = children("c", "d", held="cd")

    found = decided({"test[c]": CANCELLED}, [], jobs["d"], held={"test": ["test[d]"]}, over=[jobs["c"]])

    assert not found.turns
    assert not found.released


def test_a_matrix_that_is_skipped_as_a_whole_releases_nobody() -> None:
    jobs = [
        waiting(f"test[{label}]", 1 + is_held, matrix="test", max_parallel=1, is_held=is_held)
        for label, is_held in (("a", False), ("b", True), ("c", True))
    ]
    edges = [edge(job.name, "build") for job in jobs]

    found = decided({"build": FAILED}, edges, *jobs, held={"test": ["test[b]", "test[c]"]})

    assert set(found.skipped) == {"test[a]", "test[b]", "test[c]"}
    assert not found.turns
    assert not found.met


def test_a_turn_stays_in_its_matrix() -> None:
    jobs = children("a", "c", held="c")
    other = waiting("other[x]", 1, matrix="other", max_parallel=1, is_held=True)

    found = decided(
        {"test[a]": COMPLETED},
        [],
        jobs["c"],
        other,
        held={"other": ["other[x]"], "test": ["test[c]"]},
        over=[jobs["a"]],
    )

    assert found.turns == ["test[c]"]


# Judging from all edges


@pytest.mark.spec("graphs:48")
def test_a_job_that_still_waits_although_all_it_needs_is_over_is_found() -> None:
    edges = [edge("c", "a"), edge("c", "b", EVERY_END)]

    assert judge(edges, {"a": COMPLETED, "b": FAILED}) == (0, None)
    assert judge(edges, {"a": COMPLETED}) == (1, None)
    assert judge(edges, {"a": COMPLETED, "b": RunStatus.PENDING}) == (1, None)


def test_of_several_that_skip_a_job_the_first_by_name_is_said() -> None:
    assert judge([edge("d", "c"), edge("d", "b"), edge("d", "a")], {"c": FAILED, "b": SKIPPED}) == (1, "b")


def test_a_job_that_needs_nothing_waits_for_nothing() -> None:
    assert judge([], {}) == (0, None)

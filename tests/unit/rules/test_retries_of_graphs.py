"""Which jobs are kept when a graph is tried again."""

from __future__ import annotations

import pytest

from windlass.errors import NotFound
from windlass.model.graph import EVERY_END, Edge
from windlass.model.run import RunStatus
from windlass.rules.retries_of_graphs import kept_jobs

DONE, FAILED, SKIPPED = RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.SKIPPED


def test_what_completed_above_a_failure_is_kept_and_all_below_it_is_done_again() -> None:
    ends = {"lint": DONE, "test": FAILED, "report": DONE, "deploy": SKIPPED}
    edges = [
        Edge(job="test", upstream="lint"),
        Edge(job="report", upstream="test", accepts=EVERY_END),
        Edge(job="deploy", upstream="test"),
    ]

    kept = kept_jobs(ends, edges, {})

    assert [kept.jobs, kept.resumed] == [{"lint"}, {"test"}]  # what stands below it begins from nothing


def test_a_job_is_named_from_which_on_all_is_done_again() -> None:
    ends = {"lint": DONE, "test": DONE, "report": FAILED}
    edges = [Edge(job="test", upstream="lint"), Edge(job="report", upstream="test")]

    again = kept_jobs(ends, edges, {}, from_job="test")

    assert [again.jobs, again.resumed] == [{"lint"}, set()]
    with pytest.raises(NotFound, match="test"):
        kept_jobs(ends, edges, {}, from_job="tset")


def test_the_members_of_a_generator_that_is_done_again_are_dropped() -> None:
    ends = {"shards": DONE, "shard-0": DONE, "shard-1": FAILED, "report": SKIPPED}
    edges = [Edge(job="report", upstream="shards", is_group=True, is_resolved=True)]
    edges += [Edge(job="report", upstream=f"shard-{number}") for number in range(2)]
    groups = {"shard-0": "shards", "shard-1": "shards"}

    kept, again = kept_jobs(ends, edges, groups), kept_jobs(ends, edges, groups, from_job="shards")

    assert [kept.jobs, kept.dropped] == [{"shards", "shard-0"}, set()]
    assert [again.jobs, again.dropped] == [set(), {"shard-0", "shard-1"}]


def test_whoever_needs_a_dropped_member_by_name_is_generated_again_too() -> None:
    ends = {"g1": DONE, "g1-0": DONE, "g2": DONE, "m": DONE, "n": DONE}
    edges = [
        Edge(job="m", upstream="g1-0"),
        Edge(job="n", upstream="g1", is_group=True, is_resolved=True),
        Edge(job="n", upstream="g1-0"),
    ]

    found = kept_jobs(ends, edges, {"g1-0": "g1", "m": "g2", "n": "g3"} | {}, from_job="g1")

    assert found.dropped == {"g1-0", "m"}  # and n waits for the group as a whole
    assert "g2" not in found.jobs

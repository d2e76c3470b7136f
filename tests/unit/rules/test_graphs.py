"""Which graphs are accepted, what every need is expanded to, and does a refusal say what is wrong?"""

from __future__ import annotations

import itertools
import unicodedata
from typing import Any

import pytest

from windlass.errors import InvalidInput
from windlass.model.graph import COMPLETED_ONLY, EVERY_END, Accepted, Edge, Need, NewJob
from windlass.model.run import RunStatus
from windlass.rules.graphs import (
    MOST_EDGES,
    MOST_JOBS,
    Known,
    check_graph,
    check_job_name,
    find_cycle,
    member_edges,
)
from windlass.rules.matrix import MOST_COMBINATIONS

FAILED_ONLY: Accepted = (RunStatus.FAILED,)


def a_job(name: str, *needs: str | Need, **changes: Any) -> NewJob:
    read = tuple(Need(upstream=need) if isinstance(need, str) else need for need in needs)
    return NewJob(name=name, workflow="release.job", needs=read, **changes)


def a_matrix(name: str, *labels: str, **changes: Any) -> list[NewJob]:
    return [a_job(f"{name}[{label}]", matrix=name, **changes) for label in labels]


def after(upstream: str, accepts: Accepted, **changes: Any) -> Need:
    return Need(upstream=upstream, accepts=accepts, **changes)


def needs_of(name: str, jobs: tuple[NewJob, ...]) -> dict[str, Accepted]:
    (found,) = [job for job in jobs if job.name == name]
    assert len({need.upstream for need in found.needs}) == len(found.needs)
    return {need.upstream: need.accepts for need in found.needs}


def refusal(*jobs: NewJob, **around: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        check_graph(jobs, **around)
    assert "\n" not in str(caught.value)
    return caught.value


# Names


@pytest.mark.parametrize("name", ["lint", "test[3.11]", "test[3.11-linux]", "a.b:c", "test[a b/c]", "日本[東]"])
def test_a_name_is_that_of_a_job_or_of_a_child_of_a_matrix(name: str) -> None:
    assert check_job_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "a b", "[x]", "te st[a]", "test]", "test[", "test[]", "test[ ]", "test[a]b", "test[a][b]"),
        *("test[a\nb]", "test[\ud800]", "test[" + "a" * 200 + "]", "a" * 201),
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_job_name(name)

    assert caught.value.reason in ("invalid_name", "invalid_text")


def test_what_is_no_text_is_no_name() -> None:
    number: Any = 7
    with pytest.raises(InvalidInput):
        check_job_name(number)


def test_two_spellings_of_a_name_are_one_name() -> None:
    apart = unicodedata.normalize("NFD", "prüfung")

    (first, second) = check_graph([a_job(apart), a_job("b", apart)])

    assert first.name == "prüfung"
    assert second.needs == (Need(upstream="prüfung"),)
    assert refusal(a_job(apart), a_job("prüfung")).reason == "duplicate_job"


# Expansion


def test_jobs_that_need_nothing_special_come_back_as_they_are() -> None:
    jobs = (a_job("lint"), a_job("build", "lint"), a_job("ship", "build", after("lint", EVERY_END)))

    assert check_graph(jobs) == jobs


def test_a_need_may_name_what_is_written_later() -> None:
    assert needs_of("a", check_graph([a_job("a", "b"), a_job("b")])) == {"b": COMPLETED_ONLY}


def test_needing_a_matrix_is_needing_every_child_with_the_same_ends() -> None:
    jobs = check_graph([*a_matrix("test", "3.11", "3.12"), a_job("report", after("test", EVERY_END))])

    assert needs_of("report", jobs) == {"test[3.11]": EVERY_END, "test[3.12]": EVERY_END}


def test_every_child_of_a_matrix_needs_every_child_of_another() -> None:
    children = [a_job(f"test[{label}]", "build", matrix="test") for label in "ab"]

    jobs = check_graph([*a_matrix("build", "x", "y"), *children])

    for child in children:
        assert set(needs_of(child.name, jobs)) == {"build[x]", "build[y]"}


def test_one_child_of_a_matrix_may_be_needed_alone() -> None:
    jobs = check_graph([*a_matrix("test", "3.11", "3.12"), a_job("report", "test[3.12]")])

    assert set(needs_of("report", jobs)) == {"test[3.12]"}


@pytest.mark.parametrize("is_said", [True, False])
def test_needing_a_generator_is_needing_its_group(is_said: bool) -> None:
    jobs = check_graph([a_job("shards", is_group=True), a_job("report", after("shards", EVERY_END, is_group=is_said))])

    assert jobs[1].needs == (Need(upstream="shards", accepts=EVERY_END, is_group=True),)


def test_a_group_that_is_resolved_is_needed_with_its_members() -> None:
    known = Known(jobs=frozenset({"shards", "s1", "s2"}), groups={"shards": ("s1", "s2")})

    (job,) = check_graph([a_job("late", "shards")], known=known)

    assert job.needs == (Need(upstream="shards", is_group=True), Need(upstream="s1"), Need(upstream="s2"))


@pytest.mark.spec("invariants:I-31")
@pytest.mark.parametrize("members", [None, ()])
def test_a_group_without_members_is_needed_as_a_group_all_the_same(members: tuple[str, ...] | None) -> None:
    known = Known(jobs=frozenset({"shards"}), groups={"shards": members})

    (job,) = check_graph([a_job("late", "shards")], known=known)

    assert job.needs == (Need(upstream="shards", is_group=True),)


def test_what_is_no_generator_is_not_needed_as_a_group() -> None:
    assert refusal(a_job("a"), a_job("b", after("a", EVERY_END, is_group=True))).reason == "invalid_needs"


def test_what_was_expanded_stays_as_it_is() -> None:
    known = Known(
        jobs=frozenset({"shards", "s1", "s2", "test[a]"}),
        groups={"shards": ("s1", "s2")},
        matrices={"test": ("test[a]",)},
    )

    once = check_graph([a_job("late", after("shards", EVERY_END), "s1", "test")], known=known)

    assert needs_of("late", once)["s1"] == COMPLETED_ONLY
    assert check_graph(once, known=known) == once


@pytest.mark.spec("graphs:15", "security:65")
def test_the_same_edge_twice_is_one_edge() -> None:
    jobs = check_graph([a_job("a"), a_job("b", "a", "a", after("a", (RunStatus.COMPLETED, RunStatus.COMPLETED)))])

    assert jobs[1].needs == (Need(upstream="a"),)


def test_the_order_of_accepted_ends_does_not_matter() -> None:
    some = (RunStatus.SKIPPED, RunStatus.COMPLETED)

    jobs = check_graph([a_job("a"), a_job("b", after("a", some), after("a", some[::-1]))])

    assert jobs[1].needs == (after("a", (RunStatus.COMPLETED, RunStatus.SKIPPED)),)


# Conflicts


@pytest.mark.spec("security:65")
@pytest.mark.parametrize("upstream", ["lint", "test", "shards"])
def test_one_name_needed_twice_with_different_ends_is_a_conflict(upstream: str) -> None:
    jobs = [a_job("lint"), *a_matrix("test", "a"), a_job("shards", is_group=True)]

    found = refusal(*jobs, a_job("b", upstream, after(upstream, EVERY_END)))

    assert found.reason == "conflicting_edge"
    assert found.path == "b.needs"
    assert f"'{upstream}' twice" in str(found)


@pytest.mark.parametrize("direct_first", [True, False])
def test_a_child_needed_by_name_and_with_its_matrix_must_end_as_both_accept(direct_first: bool) -> None:
    needs = [after("test[a]", (RunStatus.COMPLETED, RunStatus.FAILED)), after("test", COMPLETED_ONLY)]

    jobs = check_graph([*a_matrix("test", "a", "b"), a_job("b", *(needs if direct_first else needs[::-1]))])

    assert needs_of("b", jobs) == {"test[a]": COMPLETED_ONLY, "test[b]": COMPLETED_ONLY}


@pytest.mark.spec("security:65")
def test_a_child_and_its_matrix_that_agree_in_no_end_are_a_conflict() -> None:
    found = refusal(*a_matrix("test", "a", "b"), a_job("b", "test", after("test[b]", FAILED_ONLY)))

    assert found.reason == "conflicting_edge"
    assert "'test[b]'" in str(found)


def test_a_member_needed_by_name_and_with_its_group_must_end_as_both_accept() -> None:
    known = Known(jobs=frozenset({"shards", "s1", "s2"}), groups={"shards": ("s1", "s2")})

    jobs = check_graph([a_job("late", after("s1", EVERY_END), "shards")], known=known)

    assert needs_of("late", jobs)["s1"] == COMPLETED_ONLY
    assert refusal(a_job("late", after("s1", FAILED_ONLY), "shards"), known=known).reason == "conflicting_edge"


# Refusals


@pytest.mark.spec("security:66")
def test_a_graph_without_jobs_is_refused() -> None:
    assert refusal().reason == "invalid_graph"


@pytest.mark.spec("invariants:I-31")
def test_a_generator_may_bring_nothing() -> None:
    known = Known(jobs=frozenset({"shards"}), groups={"shards": None})

    assert check_graph([], known=known, group="shards") == ()


@pytest.mark.spec("security:66", "invariants:I-30")
def test_a_graph_has_at_most_so_many_jobs_in_all() -> None:
    jobs = [a_job(f"j{number}") for number in range(MOST_JOBS)]
    known = Known(jobs=frozenset({"shards"}), groups={"shards": None})

    assert len(check_graph(jobs)) == MOST_JOBS
    assert refusal(*jobs, a_job("more")).reason == "too_many"
    assert refusal(*jobs, known=known, group="shards").reason == "too_many"
    assert "10,001 jobs" in str(refusal(*jobs, a_job("more")))


@pytest.mark.spec("security:66", "invariants:I-30")
def test_edges_are_counted_as_they_are_expanded() -> None:
    labels = [str(number) for number in range(MOST_COMBINATIONS)]
    matrix = a_matrix("test", *labels)
    fitting = MOST_EDGES // MOST_COMBINATIONS
    jobs = [a_job(f"j{number}", "test") for number in range(fitting + 1)]

    assert len(check_graph([*matrix, *jobs[:-1]])) == len(matrix) + fitting
    assert refusal(*matrix, *jobs).reason == "too_many"


def test_edges_from_who_needs_the_group_are_counted_too() -> None:
    waiting = [f"w{number}" for number in range(100)]
    known = Known(
        jobs=frozenset({"shards", *waiting}),
        groups={"shards": None},
        edges=[Edge(job=name, upstream="shards", is_group=True) for name in waiting],
    )
    members = [a_job(f"s{number}") for number in range(1_000)]

    assert len(check_graph(members[:999], known=known, group="shards")) == 999
    assert refusal(*members, known=known, group="shards").reason == "too_many"


@pytest.mark.spec("security:65", "invariants:I-30")
@pytest.mark.parametrize("name", ["lint", "test", "test[a]", "shards", "s1"])
def test_a_name_belongs_to_one_job(name: str) -> None:
    known = Known(
        jobs=frozenset({"lint", "test[a]", "shards", "s1", "more"}),
        matrices={"test": ("test[a]",)},
        groups={"shards": ("s1",), "more": None},
    )
    jobs = [a_job("lint"), *a_matrix("test", "a"), a_job("shards", is_group=True), a_job("s1")]

    for found in (refusal(*jobs, a_job(name)), refusal(a_job(name), known=known, group="more")):
        assert found.reason == "duplicate_job"
        assert repr(name) in str(found)


@pytest.mark.spec("security:65")
@pytest.mark.parametrize("known", [None, Known(jobs=frozenset({"test[b]"}), matrices={"test": ("test[b]",)})])
def test_a_matrix_has_a_name_of_its_own(known: Known | None) -> None:
    others = [a_job("test")] if known is None else []

    assert refusal(*others, *a_matrix("test", "a"), known=known).reason == "duplicate_job"


@pytest.mark.spec("security:64", "invariants:I-30")
def test_an_unknown_upstream_is_refused_with_a_suggestion() -> None:
    found = refusal(a_job("lint"), a_job("build"), a_job("ship", "biuld"))

    assert (found.reason, found.path) == ("unknown_job", "ship.needs")
    assert "'biuld'" in str(found)
    assert "Did you mean 'build'?" in str(found)


@pytest.mark.spec("security:64")
def test_an_unknown_upstream_that_looks_like_nothing_is_refused_without_one() -> None:
    assert "mean" not in str(refusal(a_job("lint"), a_job("ship", "zzzzzz")))


@pytest.mark.spec("security:64", "invariants:I-30")
def test_what_a_generator_brings_may_need_only_what_is_there() -> None:
    known = Known(jobs=frozenset({"lint", "shards"}), groups={"shards": None})

    assert len(check_graph([a_job("s1", "lint"), a_job("s2", "s1")], known=known, group="shards")) == 2
    assert "Did you mean 'lint'?" in str(refusal(a_job("s1", "lnt"), known=known, group="shards"))


@pytest.mark.spec("security:68")
@pytest.mark.parametrize("accepts", [(), ("running",), ("completed", "happy"), (7,)])
def test_what_is_no_end_is_not_accepted(accepts: Any) -> None:
    found = refusal(a_job("a"), a_job("b", after("a", accepts)))

    assert (found.reason, found.path) == ("invalid_needs", "b.needs")
    assert "completed, failed, skipped" in str(found)


def test_a_generator_brings_no_generator() -> None:
    known = Known(jobs=frozenset({"shards"}), groups={"shards": None})

    assert refusal(a_job("more", is_group=True), known=known, group="shards").reason == "invalid_graph"


@pytest.mark.parametrize(
    "child",
    [
        a_job("test[a]", matrix="test", max_parallel=0),
        a_job("test[a]", matrix="other"),
        a_job("test[a]", matrix="test", is_group=True),
        a_job("test", max_parallel=2),
        a_job("test", fail_fast=True),
        a_job("test[a]", matrix="test", fail_fast=True),  # nobody would wait for a turn
    ],
)
def test_a_matrix_that_cannot_be_is_refused(child: NewJob) -> None:
    assert refusal(child).reason == "invalid_matrix"


def test_children_of_a_matrix_share_one_window_and_what_they_need() -> None:
    one, other = a_matrix("test", "a", max_parallel=1), a_matrix("test", "b", max_parallel=2)
    before = a_job("test[b]", "test[a]", matrix="test", max_parallel=1)  # would have the only turn, or wait for it

    assert refusal(*one, *other).reason == "invalid_matrix"
    assert refusal(*one, before).reason == "invalid_matrix"


@pytest.mark.spec("security:70")
def test_a_matrix_has_at_most_so_many_children() -> None:
    children = a_matrix("test", *map(str, range(MOST_COMBINATIONS + 1)))

    assert len(check_graph(children[:-1])) == MOST_COMBINATIONS
    assert refusal(*children).reason == "too_many"


# Cycles


@pytest.mark.spec("graphs:46", "security:63", "invariants:I-30")
def test_a_cycle_is_refused_with_its_path() -> None:
    found = refusal(a_job("d", "a"), a_job("a", "b"), a_job("b", "c", "e"), a_job("c", "a"), a_job("e"))

    assert found.reason == "cycle"
    assert "a → b → c → a " in str(found)  # neither what waits for the cycle nor what it waits for


@pytest.mark.spec("graphs:46", "security:63")
@pytest.mark.parametrize("needed", ["a", "a[x]"])
def test_a_job_that_needs_itself_is_refused(needed: str) -> None:
    job = a_job("a", "a") if needed == "a" else a_job("a[x]", "a", matrix="a")

    found = refusal(job)

    assert found.reason == "cycle"
    assert str(found).endswith(f"{needed} → {needed}.")


@pytest.mark.spec("graphs:46", "security:63")
def test_a_cycle_through_a_matrix_is_found() -> None:
    children = [a_job(f"test[{label}]", "lint", "build", matrix="test") for label in "ab"]

    found = refusal(a_job("build", "test[b]"), a_job("lint"), *children)

    assert "build → test[b] → build" in str(found)


@pytest.mark.spec("graphs:45", "graphs:46", "security:63")
def test_a_cycle_through_a_group_is_found_before_it_is_resolved() -> None:
    found = refusal(a_job("shards", "report", is_group=True), a_job("report", "build"), a_job("build", "shards"))

    assert "build → shards → report → build" in str(found)


@pytest.mark.spec("graphs:47", "invariants:I-30")
def test_a_member_that_needs_who_waits_for_its_group_is_a_cycle() -> None:
    known = Known(
        jobs=frozenset({"shards", "report", "ship"}),
        groups={"shards": None},
        edges=[Edge(job="report", upstream="shards", is_group=True), Edge(job="ship", upstream="report")],
    )

    found = refusal(a_job("s1"), a_job("s2", "ship"), known=known, group="shards")

    assert found.reason == "cycle"
    assert "report → shards → s2 → ship → report" in str(found)


@pytest.mark.spec("graphs:47")
def test_a_member_that_needs_its_own_group_is_a_cycle() -> None:
    known = Known(jobs=frozenset({"shards"}), groups={"shards": None})

    assert "s1 → shards → s1" in str(refusal(a_job("s1", "shards"), known=known, group="shards"))


@pytest.mark.spec("graphs:47")
def test_members_of_two_groups_that_need_the_other_group_are_a_cycle() -> None:
    edges = [Edge(job="a1", upstream="b", is_group=True)]
    known = Known(jobs=frozenset({"a", "b", "a1"}), groups={"a": ("a1",), "b": None}, edges=edges)

    assert "a → a1 → b → b1 → a" in str(refusal(a_job("b1", "a"), known=known, group="b"))


def test_a_member_may_need_what_its_generator_needed_and_other_members() -> None:
    known = Known(
        jobs=frozenset({"lint", "shards", "report"}),
        groups={"shards": None},
        edges=[Edge(job="shards", upstream="lint"), Edge(job="report", upstream="shards", is_group=True)],
    )

    assert len(check_graph([a_job("s1", "lint"), a_job("s2", "s1", "lint")], known=known, group="shards")) == 2


@pytest.mark.spec("security:63", "security:66")
def test_long_chains_and_long_cycles_are_walked_without_recursion() -> None:
    chain = [a_job("j0"), *(a_job(f"j{number}", f"j{number - 1}") for number in range(1, MOST_JOBS))]

    assert len(check_graph(chain)) == MOST_JOBS
    found = refusal(a_job("j0", f"j{MOST_JOBS - 1}"), *chain[1:])
    assert found.reason == "cycle"
    assert "… 9,991 more …" in str(found)
    assert len(str(found)) < 300


@pytest.mark.spec("security:63")
def test_the_cycle_that_is_found_does_not_depend_on_the_order() -> None:
    needs = {"d": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}

    for order in itertools.permutations(needs):
        assert find_cycle({name: needs[name] for name in order}) == ("a", "b", "c", "a")


def test_upstreams_that_are_no_keys_need_nothing() -> None:
    assert find_cycle({"a": ["elsewhere"], "b": ["a", "elsewhere"]}) is None


# Resolution


def test_every_dependent_of_a_group_gets_an_edge_to_each_member_as_accepting_as_its_own() -> None:
    edges = [
        Edge(job="report", upstream="shards", accepts=EVERY_END, is_group=True),
        Edge(job="ship", upstream="shards", is_group=True),
    ]

    assert member_edges(edges, ["s1", "s2"]) == [
        Edge(job="report", upstream="s1", accepts=EVERY_END),
        Edge(job="report", upstream="s2", accepts=EVERY_END),
        Edge(job="ship", upstream="s1"),
        Edge(job="ship", upstream="s2"),
    ]
    assert member_edges(edges, []) == []


def test_a_group_is_resolved_once() -> None:
    resolved = Edge(job="report", upstream="shards", is_group=True, is_resolved=True)

    assert member_edges([resolved, Edge(job="report", upstream="lint")], ["s1"]) == []

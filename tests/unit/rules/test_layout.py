"""Does every job stand behind what it needs, near what it is joined with, and always at the same place?"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence

import pytest

from windlass.rules.layout import Layout, Node, layers, layout

RELEASE = {
    "lint": [],
    "build": ["lint"],
    "test": ["build"],
    "docs": ["lint"],
    "ship": ["test", "docs"],
}


def depths(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    return {job: layer for layer, jobs in enumerate(layers(needs)) for job in jobs}


def crossings(found: Sequence[Sequence[str]], needs: Mapping[str, Sequence[str]]) -> int:
    """Pairs of lines between neighbouring layers that cross."""
    place = {job: (layer, row) for layer, jobs in enumerate(found) for row, job in enumerate(jobs)}
    lines = [(place[one], place[job]) for job in needs for one in needs[job] if place[job][0] == place[one][0] + 1]
    return sum(
        upper[0] == other[0] and upper[1] < other[1] and lower[1] > under[1]
        for upper, lower in lines
        for other, under in lines
    )


def some_graph(jobs: int, *, edges: int, seed: int) -> dict[str, list[str]]:
    chance = random.Random(seed)
    return {
        f"j{number}": [f"j{chance.randrange(max(0, number - 300), number)}" for _ in range(edges)] if number else []
        for number in range(jobs)
    }


def test_a_job_stands_one_layer_behind_its_latest_upstream() -> None:
    assert layers(RELEASE) == [["lint"], ["build", "docs"], ["test"], ["ship"]]


def test_nothing_has_no_layers() -> None:
    assert layers({}) == []
    assert layout({}) == Layout(nodes=(), edges=())


def test_every_job_stands_somewhere_once_and_behind_all_it_needs() -> None:
    needs = some_graph(300, edges=3, seed=7)

    found = depths(needs)

    assert sorted(found) == sorted(needs)
    assert sum(map(len, layers(needs))) == len(needs)
    for job, upstreams in needs.items():
        assert found[job] == max((found[name] + 1 for name in upstreams), default=0)


def test_jobs_that_nothing_tells_apart_stand_by_name_as_people_count() -> None:
    shards: dict[str, list[str]] = {f"shard-{number}": [] for number in (10, 2, 1)}

    assert layers(shards) == [["shard-1", "shard-2", "shard-10"]]


def test_jobs_stand_near_what_they_need() -> None:
    needs = {"a": [], "b": [], "c": [], "x": ["c"], "y": ["b"], "z": ["a"]}

    found = layers(needs)

    assert crossings([["a", "b", "c"], ["x", "y", "z"]], needs) == 3
    assert crossings(found, needs) == 0


def test_few_lines_cross() -> None:
    by_name = by_layout = 0
    for seed in range(30):
        needs = some_graph(25, edges=2, seed=seed)
        found = layers(needs)
        by_name += crossings([sorted(jobs) for jobs in found], needs)
        by_layout += crossings(found, needs)

    assert by_layout < by_name / 2


def test_the_same_graph_is_always_drawn_the_same() -> None:
    needs = some_graph(60, edges=3, seed=3)
    chance = random.Random(5)
    expected = layout(needs)

    for _ in range(5):
        jobs = list(needs)
        chance.shuffle(jobs)
        shuffled = {job: chance.sample(needs[job], len(needs[job])) for job in jobs}
        assert layout(shuffled) == expected


def test_upstreams_that_are_not_shown_are_left_out() -> None:
    assert layout({"a": ["elsewhere", "a"], "b": ["a"]}).edges == (("a", "b"),)
    assert layers({"a": ["elsewhere"]}) == [["a"]]


def test_a_layout_says_where_and_how_joined() -> None:
    found = layout(RELEASE)

    assert found.nodes[:3] == (
        Node(name="lint", layer=0, row=0),
        Node(name="build", layer=1, row=0),
        Node(name="docs", layer=1, row=1),
    )
    assert found.edges == (("lint", "build"), ("lint", "docs"), ("build", "test"), ("docs", "ship"), ("test", "ship"))


def test_what_is_folded_is_one_node_with_its_edges_once() -> None:
    children = [f"test[{number}]" for number in range(12)]
    needs = {"build": [], **{child: ["build"] for child in children}, "ship": children}

    found = layout(needs, fold=dict.fromkeys(children, "test"))

    assert [node.name for node in found.nodes] == ["build", "test", "ship"]
    assert found.nodes[1].members == tuple(children)
    assert found.edges == (("build", "test"), ("test", "ship"))


def test_a_generator_is_shown_together_with_its_group_and_is_no_member() -> None:
    needs = {"lint": [], "shards": ["lint"], "s1": [], "s2": ["s1"], "report": ["shards", "s1", "s2"]}

    found = layout(needs, fold={"s1": "shards", "s2": "shards"})

    assert [(node.name, node.members) for node in found.nodes] == [
        ("lint", ()),
        ("shards", ("s1", "s2")),
        ("report", ()),
    ]
    assert found.edges == (("lint", "shards"), ("shards", "report"))


def test_folding_may_make_a_circle_and_nothing_is_lost() -> None:
    needs = {"s1": [], "between": ["s1"], "s2": ["between"], "last": ["s2"]}

    found = layout(needs, fold={"s1": "shards", "s2": "shards"})

    assert {node.name for node in found.nodes} == {"shards", "between", "last"}
    assert set(found.edges) == {("shards", "between"), ("between", "shards"), ("shards", "last")}


def test_a_long_chain_is_laid_out_without_recursion() -> None:
    chain = {f"j{number}": [f"j{number - 1}"] if number else [] for number in range(10_000)}

    assert len(layers(chain)) == 10_000


@pytest.mark.parametrize(("jobs", "most"), [(1_000, 0.1), (10_000, 2.0)])
def test_a_large_graph_is_laid_out_at_once(jobs: int, most: float) -> None:
    needs = some_graph(jobs, edges=5, seed=1)

    def spent() -> float:
        began = time.process_time()  # of this process alone: others may be at work
        layout(needs)
        return time.process_time() - began

    assert min(spent() for _ in range(3)) < most

"""What a job can read of the jobs that it needed: by function and by name, decoded as they declare it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from windlass import App, Context, Graph, InvalidInput, JobContext, Need, Spawn
from windlass.codec import Codec
from windlass.define.job_context import Needs, read_input
from windlass.model.failure import Failure, FailureKind
from windlass.model.graph import Met, NeedsOf
from windlass.model.run import RunId, RunStatus
from windlass.settings import Settings

CODEC = Codec()
COMPLETED = RunStatus.COMPLETED


@dataclass
class Report:
    lines: int


@pytest.fixture
def app() -> App:
    return App("sqlite:///:memory:", settings=Settings())


async def lint(ctx: JobContext) -> Report:
    return Report(3)


async def probe(ctx: JobContext, py: str) -> str:
    return py


async def shards(ctx: JobContext) -> list[Spawn]:
    return []


async def check(ctx: Context, part: str) -> Report:
    return Report(len(part))


async def stranger(ctx: JobContext) -> None: ...


@pytest.fixture
def release(app: App) -> Graph:
    graph = app.graph("release")
    graph.job(lint)
    graph.job(matrix={"py": ["3.11", "3.12"]})(probe)
    graph.group(shards)
    app.workflow(check)
    return graph


def met(job: str, workflow: str, status: RunStatus = COMPLETED, output: Any = None, **more: Any) -> Met:
    stored = CODEC.encode(output) if status is COMPLETED else None
    return Met(job=job, workflow=workflow, version="", status=status, output=stored, **more)


def needs(app: App, *found: Met) -> Needs:
    given = NeedsOf(run_id=RunId("run_1"), graph=RunId("run_0"), job="report", input=b"[]", needs=found)
    return Needs(given, app._registry, CODEC)


ALL = (
    met("lint", "release.lint", output={"lines": 3}),
    met("probe[3.11]", "release.probe", output="3.11", matrix="probe"),
    met("probe[3.12]", "release.probe", RunStatus.SKIPPED, matrix="probe"),
    met("shards", "release.shards", is_group=True, output=["check-a"]),
    met("check-a", "check", output={"lines": 1}, group="shards"),
)


@pytest.mark.spec("graphs:8")
def test_an_upstream_is_read_by_function_or_by_name_as_it_declares_its_result(app: App, release: Graph) -> None:
    found = needs(app, *ALL)

    for key in (lint, "lint"):
        need = found[key]
        assert isinstance(need, Need)
        assert (need.name, need.status, need.output, need.error) == ("lint", "completed", Report(3), None)
    assert found["probe[3.11]"].output == "3.11"


def test_a_matrix_and_a_group_are_lists(app: App, release: Graph) -> None:
    found = needs(app, *ALL)

    for key in (probe, "probe"):
        assert [(need.name, need.status, need.output) for need in found[key]] == [
            ("probe[3.11]", "completed", "3.11"),
            ("probe[3.12]", "skipped", None),
        ]
    for key in (shards, "shards"):
        assert [(need.name, need.output) for need in found[key]] == [("check-a", Report(1))]


def test_an_empty_group_is_an_empty_list(app: App, release: Graph) -> None:
    assert needs(app, met("shards", "release.shards", is_group=True))[shards] == []


def test_a_group_that_failed_is_told_from_an_empty_one(app: App, release: Graph) -> None:
    failure = Failure(kind=FailureKind.LOGIC, type="ValueError", message="no parts")

    empty = needs(app, met("shards", "release.shards", is_group=True))[shards]
    broken = needs(app, met("shards", "release.shards", RunStatus.FAILED, is_group=True, failure=failure))[shards]

    assert (empty, empty.status, empty.error) == ([], "completed", None)
    assert (broken, broken.status, broken.error) == ([], "failed", "ValueError: no parts")


def test_what_was_needed_can_be_gone_through_by_name(app: App, release: Graph) -> None:
    found = needs(app, *ALL)

    assert list(found) == ["lint", "probe", "shards"]
    assert len(found) == 3
    assert (lint in found, "check-a" in found, stranger in found, "stranger" in found, 7 in found) == (
        True,
        True,
        False,
        False,
        False,
    )
    assert (found.get(stranger), found.get("nothing", 7)) == (None, 7)
    assert repr(found) == "Needs(lint, probe, shards)"
    with pytest.raises(TypeError):
        found["lint"] = 1  # type: ignore[index]


@pytest.mark.spec("security:71")
def test_a_job_that_is_not_needed_is_refused_with_what_there_is(app: App, release: Graph) -> None:
    app.graph("other").job(stranger)
    found = needs(app, *ALL)

    for key in (stranger, "stranger"):
        with pytest.raises(InvalidInput) as refused:
            found[key]
        assert (refused.value.reason, refused.value.path) == ("unknown_output", "needs['stranger']")
        assert str(refused.value).startswith(
            "Job 'report' does not need 'stranger', so it knows nothing of it. "
            "It needs 'lint', 'probe', 'shards', 'probe[3.11]', 'probe[3.12]', 'check-a'."
        )
    with pytest.raises(InvalidInput, match="Did you mean 'lint'"):
        found["lnit"]
    with pytest.raises(InvalidInput, match="It needs nothing"):
        needs(app)["lint"]


@pytest.mark.spec("security:71")
def test_what_failed_has_no_output_but_says_why(app: App, release: Graph) -> None:
    failure = Failure(kind=FailureKind.LOGIC, type="shop.Broken", message="no\nfunds")

    need = needs(app, met("lint", "release.lint", RunStatus.FAILED, failure=failure))[lint]

    assert (need.status, need.output, need.error) == ("failed", None, "Broken: no funds")
    assert repr(need) == "Need('lint', failed)"


def test_one_function_may_be_a_job_of_two_graphs(app: App, release: Graph) -> None:
    app.graph("other").job(name="other-lint")(lint)

    assert needs(app, met("lint", "release.lint", output={"lines": 3}))[lint].name == "lint"
    assert needs(app, met("other-lint", "other.other-lint", output={"lines": 3}))[lint].name == "other-lint"


def test_the_output_of_code_that_is_not_known_here_is_plain_data(app: App, release: Graph) -> None:
    assert needs(app, met("old", "release.old", output={"lines": 3}))["old"].output == {"lines": 3}


def test_the_input_of_a_graph_is_read_as_it_declares_it() -> None:
    stored = CODEC.encode((Report(7),))

    assert read_input(stored, Report, CODEC) == Report(7)
    assert read_input(CODEC.encode(()), None, CODEC) is None
    with pytest.raises(InvalidInput):
        read_input(stored, str, CODEC)


def test_a_member_that_is_needed_by_its_own_name_stands_for_itself(app: App) -> None:
    found = (Met(job="s-1", workflow="w", version="", status=COMPLETED, group="shards", output=b"1"),)
    given = NeedsOf(run_id=RunId("run_1"), graph=RunId("run_0"), job="report", input=b"[]", needs=found)

    needs = Needs(given, app._registry, CODEC)

    assert [*needs] == ["s-1"]
    assert "shards" not in needs

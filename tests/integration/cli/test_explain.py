"""Does `windlass explain` find the run, keep to the width of the terminal, and give programs stable names?"""

from __future__ import annotations

import pytest

from tests.integration.cli.scene import Scene, declare_order
from tests.programs import sleeps, steps
from windlass import StepError
from windlass.cli.terminal import wrapped
from windlass.testing.harness import Harness

TEXT = "It has slept since 00:00:00 UTC (30 s) and holds no worker; it goes on at 00:03:00 UTC, in 2 min 30 s."


def sleeping(scene: Scene) -> str:
    async def nap(harness: Harness) -> str:
        nap = harness.app.workflow(name="nap")(sleeps("3m"))
        handle = await harness.start(nap, key="nap-1")
        await harness.idle()
        harness.clock.advance("30s")
        return handle.id

    run_id: str = scene.play(nap)
    return run_id


def test_a_run_is_explained_in_one_paragraph(scene: Scene) -> None:
    run_id = sleeping(scene)

    assert scene.shown("explain", run_id) == (
        f"☾ sleeping  nap  {run_id}\n"
        "  It has slept since 00:00:00 UTC (30 s) and holds no worker; it goes on at\n"
        "  00:03:00 UTC, in 2 min 30 s.\n"
    )


def test_a_run_is_found_by_the_beginning_of_its_id_and_by_its_key(scene: Scene) -> None:
    run_id = sleeping(scene)

    assert scene.shown("explain", run_id[:12]) == scene.shown("explain", run_id)
    assert scene.shown("explain", "--key", "nap-1") == scene.shown("explain", run_id)


def test_json_has_stable_names(scene: Scene) -> None:
    run_id = sleeping(scene)

    assert scene.json("explain", run_id) == {
        "id": run_id,
        "workflow": "nap",
        "status": "sleeping",
        "code": "sleeping",
        "text": TEXT,
        "at": "2026-01-01T00:00:30.000000Z",
        "since": "2026-01-01T00:00:00.000000Z",
        "until": "2026-01-01T00:03:00.000000Z",
        "worker": None,
        "step": "sleep",
    }


def test_show_says_the_same(scene: Scene) -> None:
    run_id = sleeping(scene)

    explained = scene.json("explain", run_id)["text"]

    assert explained in " ".join(scene.shown("show", run_id).split())


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_is_longer_than_the_terminal(scene: Scene, columns: int) -> None:
    async def start(harness: Harness) -> str:
        return (await harness.start(declare_order(harness), "7", queue="slow")).id

    run_id = scene.play(start, has_worker=False)

    shown = scene.shown("explain", run_id, COLUMNS=str(columns))

    assert max(map(len, shown.splitlines())) <= columns
    assert "windlass --url shop.db worker MODULE:APP --queue slow" in " ".join(shown.split())


def test_what_users_wrote_cannot_move_the_cursor(scene: Scene) -> None:
    async def fail(harness: Harness) -> str:
        async def ship() -> None:
            raise StepError("\x1b[2Jgone\u202e", kind="logic")

        order = harness.app.workflow(steps(ship))
        handle = await harness.start(order)
        await harness.idle()
        return handle.id

    shown = scene.shown("explain", scene.play(fail))

    assert "\\x1b[2Jgone\\u202e" in shown
    assert shown.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("args", "exit_code"), [(["run_ZZZZ"], 1), (["--key", "nobody"], 1), ([], 2), (["run_0", "--key", "x"], 2)]
)
def test_a_run_that_is_not_there_is_one_line(scene: Scene, args: list[str], exit_code: int) -> None:
    sleeping(scene)

    result = scene.run("explain", *args)

    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (exit_code, "", 1)


def test_a_command_is_not_broken_over_two_lines() -> None:
    text = "Start one: windlass worker MODULE:APP --queue slow, or wait. Then: windlass resume run_1 and go on"

    assert wrapped(text, width=30) == [
        "Start one:",
        "windlass worker MODULE:APP --queue slow,",
        "or wait. Then:",
        "windlass resume run_1 and go",
        "on",
    ]

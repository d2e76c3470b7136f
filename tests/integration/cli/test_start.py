"""Does `windlass start` start what was meant, with the arguments that were typed, and refuse everything else?"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.scene import Scene
from windlass import Context, JobContext, after
from windlass.model.commands import RegisterWorker
from windlass.model.run import RunId, WorkerId
from windlass.model.worker import Served
from windlass.testing.harness import Harness

SHOP = """
from dataclasses import dataclass
from datetime import datetime

import windlass

app = windlass.App()


@dataclass
class Item:
    name: str
    count: int = 1


@app.workflow
async def order(ctx: windlass.Context, id: str, is_gift: bool = False) -> str: ...


@app.workflow(queue="billing")
async def bill(ctx: windlass.Context, amount: int, item: Item, due: datetime | None = None) -> None: ...


@app.workflow
async def anything(ctx: windlass.Context, value) -> None: ...


release = app.graph("release", input=str)


@release.job
async def lint(ctx: windlass.JobContext) -> None: ...
"""


@pytest.fixture
def shop(module: Path) -> str:
    module.write_text(SHOP)
    return "shop:app"


def started(scene: Scene, *args: str) -> Any:
    """The record of a run that was started with these words."""
    return scene.json("show", scene.shown("start", *args).strip())


def test_a_started_run_is_stored_and_its_id_is_printed(either: Scene, shop: str) -> None:
    printed = either.shown("start", shop, "order", "7", "true", "--key", "order-7")

    run = either.json("show", "--key", "order-7")
    assert printed == f"{run['id']}\n"
    assert (run["workflow"], run["status"], run["input"]) == ("order", "pending", {"$tuple": ["7", True]})


def test_the_same_key_is_the_same_run_and_other_arguments_are_refused(scene: Scene, shop: str) -> None:
    first = scene.shown("start", shop, "order", "7", "--key", "order-7")

    assert scene.shown("start", shop, "order", "7", "--key", "order-7") == first
    assert f"Key 'order-7' belongs to {first.strip()}" in scene.refused("start", shop, "order", "8", "--key", "order-7")
    assert len(scene.json("runs")["runs"]) == 1


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("7", 7),
        ("-7.5", -7.5),
        ("word", "word"),
        ("two words", "two words"),
        ('"7"', "7"),
        ("null", None),
        ('{"a": [1, "x"]}', {"a": [1, "x"]}),
        ('{"$tuple": [1]}', {"$tuple": [1]}),
        ("True", "True"),
        ("", ""),
        ("https://example.org/?a=1", "https://example.org/?a=1"),
    ],
)
def test_an_argument_is_json_and_what_is_not_is_text(scene: Scene, shop: str, typed: str, stored: Any) -> None:
    assert started(scene, shop, "anything", "--", typed)["input"] == {"$tuple": [stored]}


def test_an_argument_becomes_what_the_workflow_declares(scene: Scene, shop: str) -> None:
    assert started(scene, shop, "order", "007")["input"] == {"$tuple": ["007"]}
    bill = started(scene, shop, "bill", "12", '{"name": "tea"}', "2030-01-01T00:00:00Z")["input"]
    assert bill["$tuple"][:2] == [12, {"name": "tea", "count": 1}]
    assert "2030-01-01" in json.dumps(bill["$tuple"][2])


def test_options_say_where_and_when(scene: Scene, shop: str) -> None:
    later = started(scene, shop, "order", "7", "--delay", "1h30m", "--priority", "-10", "--timeout", "2h")
    at = started(scene, shop, "order", "7", "--at", "2026-01-01T02:00:00+01:00", "--queue", "billing")

    assert (later["available_at"], later["priority"]) == ("2026-01-01T01:30:00.000000Z", -10)
    assert later["expires_at"] == "2026-01-01T03:30:00.000000Z"
    assert (at["available_at"], at["queue"]) == ("2026-01-01T01:00:00.000000Z", "billing")


@pytest.mark.spec("security:99")
@pytest.mark.parametrize(
    "args",
    [
        [],
        ["shop:app"],
        ["shop", "order"],
        ["shop:app", "order", "7", '{"id": 7'],
        ["shop:app", "order", "7", "[1,"],
        ["shop:app", "order", "7", '"half'],
        ["shop:app", "order", "7", '{"a": 1, "a": 2}'],
        ["shop:app", "anything", "1e999"],
        ["shop:app", "anything", json.dumps({"$set": [{"$int": str(number * 2**64)} for number in range(1, 1_002)]})],
        ["shop:app", "anything", "bad\udcff"],
        ["shop:app", "order", "7", "--delay", "-5s"],
        ["shop:app", "order", "7", "--delay", "soon"],
        ["shop:app", "order", "7", "--timeout", "0s"],
        ["shop:app", "order", "7", "--timeout", "11000d"],
        ["shop:app", "order", "7", "--at", "2030-01-01T00:00:00"],
        ["shop:app", "order", "7", "--at", "tomorrow"],
        ["shop:app", "order", "7", "--delay", "5s", "--at", "2030-01-01T00:00:00Z"],
        ["shop:app", "order", "7", "--priority", "11"],
        ["shop:app", "order", "7", "--priority", "99999999999999999999"],
        ["shop:app", "order", "7", "--priority", "high"],
        ["shop:app", "order", "7", "--queue", "a b"],
        ["shop:app", "order", "7", "--key", ""],
    ],
)
def test_words_that_cannot_be_meant_are_refused_before_anything_is_stored(
    scene: Scene, shop: str, folder: Path, args: list[str]
) -> None:
    assert scene.refused("start", *args, exit_code=2).endswith("Try: windlass start --help")
    assert not (folder / "shop.db").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["oder", "7"], "Workflow 'oder' does not exist. Did you mean 'order'?"),
        (["order"], "Workflow 'order' needs 'id' (str) and got no arguments"),
        (["order", "7", "maybe"], "Workflow 'order': Expected bool, got str at $.is_gift."),
        (["order", "7", "true", "more"], "Workflow 'order' takes 2 arguments and got 3"),
        (
            ["bill", "12", '{"name": "tea"}', "2030-01-01"],
            "Workflow 'bill': 'due' is a date and time with its zone, such as 2030-01-01T12:00:00Z, "
            "and '2030-01-01' is none.",
        ),
        (["order", "7", "--at", "2126-01-01T00:00:00Z"], "it is more than 10 years ahead."),
        (["bill", "twelve", "{}"], "Workflow 'bill': Expected int, got str at $.amount."),
        (["bill", "12", '{"nme": "tea"}'], "missing required field name at $.item."),
    ],
)
@pytest.mark.spec("security:9", "security:15")
def test_what_the_app_does_not_take_is_refused_as_by_the_app(
    scene: Scene, shop: str, folder: Path, args: list[str], said: str
) -> None:
    assert said in scene.refused("start", shop, *args)
    assert not (folder / "shop.db").exists()


def test_a_negative_number_is_answered_with_how_to_type_it(scene: Scene, shop: str) -> None:
    refused = scene.refused("start", shop, "anything", "-5", "7", exit_code=2)

    assert refused == f"Negative numbers go behind --: windlass --url {scene.url} start {shop} anything -- -5 7"
    in_json = json.loads(scene.run("start", shop, "anything", "-5", "7", "--json").stderr)
    assert in_json == {"error": {"code": "usage", "message": refused}}
    assert scene.refused("start", shop, "anything", "-5", "--key", "k", exit_code=2) == (
        "Negative numbers go behind a -- of their own, after all options."
    )


def test_what_a_module_prints_at_import_is_not_the_answer(scene: Scene, module: Path, shop: str) -> None:
    module.write_text(f"print('loading')\n{SHOP}")

    result = scene.run("start", shop, "order", "7")

    assert scene.json("show", result.stdout.strip())["workflow"] == "order"
    assert result.stderr == "loading\n"


@pytest.mark.spec("security:9")
def test_a_queue_that_nobody_knows_is_used_with_a_warning_that_names_the_nearest(scene: Scene, shop: str) -> None:
    result = scene.run("start", shop, "order", "7", "--queue", "biling")

    assert (result.exit_code, result.stderr) == (
        0,
        "windlass: No live worker serves queue 'biling', and no workflow declares it. Did you mean 'billing'?\n",
    )
    assert scene.json("show", result.stdout.strip())["queue"] == "biling"
    for known in ("billing", "default"):
        assert scene.run("start", shop, "order", "7", "--queue", known).stderr == ""


@pytest.mark.spec("security:9")
def test_a_queue_that_a_live_worker_serves_is_known(scene: Scene, shop: str) -> None:
    async def beside_a_worker(harness: Harness) -> list[str]:
        await harness.opened.work.register_worker(
            RegisterWorker(
                namespace="default",
                id=WorkerId(harness.opened.ids.worker()),
                host="here",
                pid=1,
                served=(Served("night", "order"),),
                slots=1,
            )
        )
        return [
            (await asyncio.to_thread(scene.run, "start", shop, "order", "7", "--queue", queue)).stderr
            for queue in ("night", "nihgt", "elsewhere")
        ]

    known, near, far = scene.play(beside_a_worker, has_worker=False)
    assert known == ""
    assert near.endswith("Did you mean 'night'?\n")
    assert far.endswith("Known: 'billing', 'default', 'night'.\n")


def test_a_warning_is_json_where_json_is_asked_for(scene: Scene, shop: str) -> None:
    result = scene.run("start", shop, "order", "7", "--queue", "biling", "--json")

    assert "Did you mean 'billing'?" in json.loads(result.stderr)["warning"]
    run = json.loads(result.stdout)
    assert (run["workflow"], run["status"], run["queue"]) == ("order", "pending", "biling")


def test_waiting_prints_the_result_below_the_id(either: Scene, shop: str) -> None:
    async def beside_a_worker(harness: Harness) -> list[str]:
        @harness.app.workflow
        async def order(ctx: Context, id: str, is_gift: bool = False) -> str:
            return f"order {id} done"

        words = ("start", shop, "order", "7", "--wait")
        return [await asyncio.to_thread(either.shown, *words), await asyncio.to_thread(either.shown, *words, "--json")]

    shown, record = either.play(beside_a_worker)

    id, result = shown.splitlines()
    assert (id[:4], result) == ("run_", "'order 7 done'")
    assert {name: json.loads(record)[name] for name in ("status", "output")} == {
        "status": "completed",
        "output": "order 7 done",
    }


def test_waiting_for_a_graph_prints_what_became_of_its_jobs(scene: Scene, shop: str) -> None:
    async def serve(harness: Harness) -> list[str]:
        release = harness.app.graph("release", input=str)

        @release.job
        async def lint(ctx: JobContext) -> str:
            return ctx.input

        @release.job(needs=[after(lint, on="failed")])
        async def alarm(ctx: JobContext) -> None: ...

        words = ("start", shop, "release", "v1", "--wait")
        return [await asyncio.to_thread(scene.shown, *words), await asyncio.to_thread(scene.shown, *words, "--json")]

    told, record = scene.play(serve)

    assert told.splitlines()[1:] == ["1 of 2 jobs completed, 1 skipped"]
    found = json.loads(record)
    assert (found["status"], found["counts"]["completed"], found["counts"]["skipped"]) == ("completed", 1, 1)
    assert [(job["name"], job["status"]) for job in found["jobs"]] == [("lint", "completed"), ("alarm", "skipped")]


def test_waiting_for_a_run_that_fails_or_is_cancelled_is_an_error(scene: Scene, shop: str) -> None:
    async def beside_a_worker(harness: Harness) -> list[str]:
        @harness.app.workflow
        async def order(ctx: Context, id: str, is_gift: bool = False) -> str:
            raise ValueError(f"no {id}")

        failed = await asyncio.to_thread(scene.run, "start", shop, "order", "7", "--wait")
        waiting = asyncio.create_task(
            asyncio.to_thread(scene.run, "start", shop, "order", "8", "--wait", "--key", "8", "--queue", "billing")
        )
        handle = harness.app.handle(order, key="8")
        await _until_known(harness, "8")
        await handle.cancel()
        cancelled = await waiting
        assert (failed.exit_code, cancelled.exit_code) == (1, 1)
        return [failed.stderr, cancelled.stderr]

    failed, cancelled = scene.play(beside_a_worker)
    assert "ValueError: no 7" in failed
    assert "cancelled" in cancelled
    assert (failed.count("\n"), cancelled.count("\n")) == (1, 1)


async def _until_known(harness: Harness, key: str) -> RunId:
    while True:
        try:
            return (await harness.opened.runs.find_run("default", key)).run.id
        except Exception:
            await asyncio.sleep(0.001)


def test_an_app_that_names_its_database_is_followed_also_in_what_is_advised(
    scene: Scene, module: Path, folder: Path
) -> None:
    module.write_text(SHOP.replace("windlass.App()", "windlass.App('its own.db', namespace='blue')"))
    there = Scene("its own.db")

    refused = scene.refused("start", "shop:app", "order", "7")
    assert "names its database itself (its own.db)" in refused

    run_id = there.shown("start", "shop:app", "order", "7", "--namespace", "blue").strip()
    assert there.json("show", run_id, "--namespace", "blue")["workflow"] == "order"
    assert "works in namespace 'blue'" in there.refused("start", "shop:app", "order", "7", "--namespace", "green")


def test_runs_in_memory_are_not_started(scene: Scene, module: Path) -> None:
    module.write_text(SHOP)

    refused = scene.refused("start", "--url", "sqlite:///:memory:", "shop:app", "order", "7")

    assert refused == "shop:app keeps its runs in memory: this one would be gone when the command ends."

"""Behind grpc:// the beginning of an id is enough, wherever it is on a database."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import windlass
from tests.integration.conftest import eventually
from tests.integration.server.process import ServerProcess
from tests.programs import receives, runs
from windlass.cli.main import cli
from windlass.cli.session import Session


async def fill(url: str) -> None:
    """One of each kind that has an id; it stays as it is."""
    app = windlass.App(url)
    paid, letters = app.event("paid", int), app.topic("letters", str)
    parcel = app.workflow(name="parcel")(receives(paid))
    order = app.workflow(name="order")(runs(parcel))
    release = app.graph("release")

    @release.job
    async def test(ctx: windlass.JobContext) -> int:
        return await ctx.receive(paid)

    @app.pipeline("post").consumer(letters)
    async def sort(ctx: windlass.NextContext, events: list[windlass.TopicEvent[str]]) -> None: ...

    async with app, app.worker():
        handle, graph = await app.start(order), await app.start(release)
        item = await app.items.create("Paint the shop")
        await app.when(handle, enters="failed", start=parcel)
        await app.when(item, enters="done", start=parcel)
        await app.publish(letters, "hello", id="1", input=windlass.Input("mail", "letter", "1", title="A letter"))

        async def is_settled() -> bool:
            return await handle.status() == "waiting" and {job.status for job in await graph.jobs()} == {"waiting"}

        await eventually(is_settled)


class Shell:
    """Where commands are typed: at the database, or afar."""

    def __init__(self, url: str, *, token: str = "") -> None:
        self.url, self.token = url, token

    def type(self, *args: str) -> Result:
        return CliRunner(env={"WINDLASS_TOKEN": self.token}).invoke(cli, ["--url", self.url, *args], obj=Session())

    def json(self, *args: str) -> Any:
        result = self.type(*args, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture(scope="module")
def afar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder: Path = tmp_path_factory.mktemp("server")
    url = f"sqlite:///{folder / 'windlass.db'}"
    asyncio.run(fill(url))
    process = ServerProcess(folder, env={"WINDLASS_URL": url})
    process.until_serving()
    yield Shell(f"grpc://127.0.0.1:{process.grpc_port}", token=process.token)
    process.stop()
    process.close()


@pytest.fixture(scope="module")
def ids(afar: Shell) -> dict[str, str]:
    found = {run["workflow"]: run["id"] for run in afar.json("runs")["runs"]}
    found["item"] = afar.json("items")["items"][0]["id"]
    found["signal"] = afar.json("signals")["signals"][0]["id"]
    found["input"] = afar.json("inputs", "post")["inputs"][0]["id"]
    return found


ASKED_AT = {"at": "when it was asked"}
LOOKS = (
    "show {order}",
    "explain {order}",
    "show {release}/test",
    "explain {release}/test",
    "runs --parent {order}",
    "signals --kind run --subject {order}",
    "signals --kind item --subject {item}",
    "items show {item}",
    "show {item}",
    "signals show {signal}",
    "explain {signal}",
    "firings {signal}",
    "inputs post {input}",
)


@pytest.mark.parametrize("command", LOOKS)
def test_the_beginning_of_an_id_shows_what_the_whole_of_it_shows(
    afar: Shell, ids: dict[str, str], command: str
) -> None:
    begun = {what: id[:-1] for what, id in ids.items()}

    by_beginning, by_id = (afar.json(*command.format(**given).split()) for given in (begun, ids))

    assert without_times(by_beginning) == without_times(by_id)


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    """Both were asked, one after the other: how long something waits by then differs."""
    text = answer.get("text")
    return answer | ASKED_AT | ({} if text is None else {"text": re.sub(r"[0-9.]+ m?s", "a while", text)})


@pytest.mark.parametrize(
    "command",
    [
        "pause {order}",
        "resume {order}",
        "send {parcel} paid 12",
        "signals pause {signal}",
        "signals resume {signal}",
        "signals cancel {signal}",
        "items move {item} ready",
        "items task {item} Buy-paint",
        "skip post --input {input}",
        "cancel {release}",
        "retry {release}",
    ],
)
def test_who_steers_names_the_beginning_of_an_id(afar: Shell, ids: dict[str, str], command: str) -> None:
    begun = {what: id[:-1] for what, id in ids.items()}

    result = afar.type(*command.format(**begun).split())

    assert result.exit_code == 0, result.output


def test_what_several_ids_begin_with_is_said_to_be_too_short(afar: Shell, ids: dict[str, str]) -> None:
    short, nothing = ids["order"][:6], "run_7ZZZ"

    several, none = afar.type("show", short), afar.type("show", nothing)

    assert several.stderr.startswith(f"windlass: Several runs begin with '{short}': run_")
    assert several.stderr.endswith("Write more of the id.\n")
    assert none.stderr == f"windlass: run {nothing!r} does not exist.\n"

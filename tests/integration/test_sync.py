"""Does `app.sync` answer blocking code as the awaited methods answer the others, from any thread, and end in order?"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import windlass
from tests.programs import steps
from windlass import AlreadyExists, App, Context, InvalidInput, NotAllowed, NotFound, ResultTimeout, RunFailed
from windlass.client.asks import Asks
from windlass.client.handle import Handle
from windlass.client.sync import Sync, SyncHandle
from windlass.settings import Settings

PATIENCE = 60.0


async def order(ctx: Context, id: str) -> str:
    if id == "bad":
        raise ValueError("no such order")
    return f"order {id} done"


async def wait_for_reply(ctx: Context) -> str:
    return await ctx.receive(windlass.Event("replied", str))


@pytest.fixture
def app(url: str) -> Iterator[App]:
    app = App(url, settings=Settings())
    app.workflow(order)
    yield app
    app.sync.close()
    assert sync_threads() == []


def sync_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "windlass-sync"]


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_a_run_is_started_executed_and_answered(app: App) -> None:
    with app.sync.worker():
        handle = app.sync.start(order, "7", key="order-7")

        assert handle.result() == "order 7 done"
        assert app.sync.handle(order, key="order-7").result() == "order 7 done"
        assert app.sync.handle(handle.id).result() == "order 7 done"
        assert app.sync.handle(order, key="order-7").id == handle.id
        assert handle.status() == "completed"
        assert "completed" in handle.explain()
        assert repr(handle) == f"SyncHandle('{handle.id}')"
    assert len(sync_threads()) == 1


def test_many_are_started(app: App) -> None:
    handles = app.sync.start_many([windlass.call(order, str(number)) for number in range(20)])

    with app.sync.worker():
        assert [handle.result() for handle in handles] == [f"order {number} done" for number in range(20)]


def test_what_is_refused_is_refused_as_elsewhere(app: App) -> None:
    first = app.sync.start(order, "7", key="order-7")

    with pytest.raises(InvalidInput):
        app.sync.start(order, 7)  # type: ignore[arg-type]
    with pytest.raises(AlreadyExists, match=f"belongs to {first.id}"):
        app.sync.start(order, "8", key="order-7")
    with pytest.raises(NotFound):
        app.sync.handle(order, key="never").status()
    with pytest.raises(InvalidInput, match="takes a run id"):
        app.sync.handle(order)  # type: ignore[call-overload]
    with pytest.raises(ResultTimeout):
        first.result(timeout=0)
    with app.sync.worker(), pytest.raises(RunFailed, match="ValueError: no such order"):
        app.sync.start(order, "bad").result()


def test_a_run_is_steered(app: App) -> None:
    handle = app.sync.start(order, "7", delay="1d")

    assert handle.cancel(by="ann") is True
    assert handle.cancel() is False
    again = handle.retry()

    assert isinstance(again, SyncHandle)
    assert again.id != handle.id


def test_an_event_is_sent(app: App) -> None:
    replied = app.event("replied", str)
    app.workflow(wait_for_reply)
    handle = app.sync.start(wait_for_reply)

    with app.sync.worker():
        assert handle.send(replied, "yes", id="mail-1") is True
        assert handle.send(replied, "yes", id="mail-1") is False
        assert handle.result() == "yes"


def test_threads_may_ask_all_at_once_and_the_first_call_is_made_once(app: App) -> None:
    together = threading.Barrier(16)

    def ask(number: int) -> tuple[str, str]:
        together.wait(PATIENCE)
        handle = app.sync.start(order, str(number % 4), key=f"order-{number % 4}")
        return handle.id, handle.result(timeout="50s")

    with app.sync.worker(), ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(16)))

    assert len({id for id, _ in answers}) == 4
    assert [result for _, result in answers] == [f"order {number % 4} done" for number in range(16)]


@pytest.mark.parametrize("url", ["memory"], indirect=True)
async def test_inside_a_running_loop_it_names_the_way(app: App) -> None:
    handle = app.sync.handle("run_" + 26 * "0")
    calls: dict[str, Any] = {
        "app.sync.start() blocks, and an event loop runs here (Jupyter, FastAPI?). Use: await app.start(…).": (
            lambda: app.sync.start(order, "7")
        ),
        "result() of a handle of app.sync blocks, and an event loop runs here (Jupyter, FastAPI?). "
        "Use: await app.handle(…).result().": handle.result,
        "app.sync.worker() blocks, and an event loop runs here (Jupyter, FastAPI?). "
        'Use: "async with app.worker():".': app.sync.worker().__enter__,
        '"with app.sync:" blocks, and an event loop runs here (Jupyter, FastAPI?). Use: "async with app:".': (
            app.sync.__enter__
        ),
    }

    for text, call in calls.items():
        with pytest.raises(NotAllowed) as refused:
            call()
        assert str(refused.value) == text
    assert sync_threads() == []


@pytest.mark.parametrize("url", ["memory"], indirect=True)
async def test_an_app_that_is_open_on_a_loop_is_not_shared_with_another(app: App) -> None:
    async with app:
        with pytest.raises(NotAllowed, match="open on another event loop that still runs"):
            await asyncio.to_thread(app.sync.start, order, "7")
        with pytest.raises(NotAllowed, match="open on another event loop that still runs"):
            await asyncio.to_thread(app.sync.close)
        handle = await app.start(order, "7")
        assert await handle.status() == "pending"


@pytest.mark.parametrize("url", ["memory"], indirect=True)
def test_a_loop_of_its_own_cannot_be_begun_while_sync_holds_the_app(app: App) -> None:
    app.sync.start(order, "7")

    with pytest.raises(NotAllowed, match=r"open on another event loop, so app.run\(\) cannot start its own"):
        app.run(order, "7")


def test_the_end_of_the_block_closes_the_app_for_good(app: App) -> None:
    with app.sync as sync:
        handle = sync.start(order, "7")
    app.sync.close()

    with pytest.raises(NotAllowed, match="This App is closed"):
        handle.status()
    with pytest.raises(NotAllowed, match="This App is closed"):
        asyncio.run(app.handle(handle.id).status())


@pytest.mark.parametrize("url", ["memory"], indirect=True)
async def test_closing_where_a_loop_runs_is_refused_and_leaves_it_open(app: App) -> None:
    handle = await asyncio.to_thread(app.sync.start, order, "7")

    with pytest.raises(NotAllowed) as refused:
        app.sync.close()

    assert str(refused.value) == (
        "app.sync.close() blocks, and an event loop runs here (Jupyter, FastAPI?). "
        "Use: await asyncio.to_thread(app.sync.close)."
    )
    assert await asyncio.to_thread(handle.status) == "pending"


def test_a_step_may_ask_the_app_that_executes_it(app: App) -> None:
    def ask_for(id: str) -> str:
        return app.sync.start(order, id, key=f"order-{id}").result()

    shop = app.workflow(steps(ask_for, "7"))

    with app.sync.worker():
        assert app.sync.start(shop).result() == "order 7 done"


def test_closing_inside_the_block_of_a_worker_stops_it_too(app: App) -> None:
    with app.sync.worker():
        assert app.sync.start(order, "7").result() == "order 7 done"
        app.sync.close()

    assert (app._workers, app._opening.is_open) == ([], False)


def test_queues_are_held_back_and_let_go(app: App) -> None:
    app.sync.pause(queue="default", by="ann")
    handle = app.sync.start(order, "7")

    with app.sync.worker(slots=3):
        assert "paused" in handle.explain()
        app.sync.resume(queue="default")
        assert handle.result() == "order 7 done"


def test_closing_what_was_never_asked_leaves_the_app_as_it_is(url: str) -> None:
    app = App(url, settings=Settings())
    app.workflow(order)
    app.sync.close()

    assert app.run(order, "7") == "order 7 done"


def test_a_call_that_waits_while_another_thread_closes_is_told_so(app: App) -> None:
    handle = app.sync.start(order, "7")
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            handle.result()
        except windlass.WindlassError as error:
            failures.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    app.sync.close()
    waiting.join(PATIENCE)

    assert not waiting.is_alive()
    assert [type(error) for error in failures] == [NotAllowed]


@pytest.mark.parametrize("url", ["disk"], indirect=True)
def test_a_forked_process_is_told_to_open_its_own(app: App) -> None:
    app.sync.start(order, "7")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            app.sync.start(order, "8")
        except NotAllowed as error:
            os.write(writer, str(error).encode())
        finally:
            app.sync.close()  # what a normal end would do: it must leave the parent's loop alone, and come back
            os._exit(0)
    os.close(writer)
    said = os.read(reader, 1_000).decode()
    os.close(reader)
    _, status = os.waitpid(child, 0)

    assert (said, status) == ("This App was opened before the process forked. Open it after the fork.", 0)
    assert app.sync.start(order, "8").status() == "pending"


SCRIPT = """
import windlass
app = windlass.App()

@app.workflow
async def order(ctx: windlass.Context, id: str) -> str:
    return f"order {id} done"

with app.sync.worker():
    print(app.sync.start(order, "7").result())
print(app.sync.start(order, "8").status())
"""


def test_a_program_that_does_not_close_ends_all_the_same(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")}

    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "order 7 done\npending\n", "")


def test_nothing_of_the_awaited_surface_is_missing() -> None:
    assert public(Asks) <= public(Sync)
    assert public(Handle) <= public(SyncHandle)

"""Does the command behave as a process should: exit codes, signals, pipes, terminals, encodings?"""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli.scene import Scene, declare_order
from windlass.testing.harness import Harness

WINDLASS = [sys.executable, "-m", "windlass"]
PATIENCE = 120

SHOP = """
import asyncio, windlass
app = windlass.App()
@app.workflow
async def order(ctx: windlass.Context, id: str) -> str:
    return f"order {id} done"
async def start() -> None:
    async with app:
        await app.start(order, "7", key="order-7")
if __name__ == "__main__":
    asyncio.run(start())
"""


def environment(**changes: str) -> dict[str, str]:
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")
    }
    return {**inherited, "TERM": "xterm", "PYTHONDONTWRITEBYTECODE": "1", **changes}


def windlass(*args: str | bytes, **changes: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*WINDLASS, *args], capture_output=True, env=environment(**changes), timeout=PATIENCE, check=False
    )


def on_a_terminal(*args: str, columns: int = 80, **changes: str) -> str:
    """What a command writes to a real terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*WINDLASS, *args], stdout=slave, env=environment(COLUMNS=str(columns), **changes)
    ) as process:
        os.close(slave)
        written = b""
        while True:
            try:
                chunk = os.read(master, 65_536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            written += chunk
        assert process.wait(PATIENCE) == 0
    os.close(master)
    return written.decode()


@pytest.fixture
def listed(scene: Scene) -> Scene:
    async def many(harness: Harness) -> None:
        order = declare_order(harness)
        for number in range(400):
            await harness.start(order, str(number), key=f"order-{number}", delay="1h")

    scene.play(many, has_worker=False)
    return scene


@pytest.mark.spec("security:99")
def test_exit_codes_are_0_1_and_2(scene: Scene) -> None:
    scene.shown("migrate")

    assert windlass("runs", "--url", "shop.db").returncode == 0
    assert windlass("runs", "--url", "missing.db").returncode == 1
    assert windlass("runs", "--colour").returncode == 2
    assert windlass(b"runs", b"--name", b"\xff\xfe").returncode == 2
    assert b"Traceback" not in windlass(b"\xff\xfe").stderr


@pytest.mark.spec("security:99")
def test_a_reader_that_has_seen_enough_ends_the_command_quietly(listed: Scene) -> None:
    command = [*WINDLASS, "runs", "--url", listed.url, "--limit", "1000", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(2) == b"{\n"
        process.stdout.close()

        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == b""


def test_a_reader_that_has_gone_before_the_first_line_is_fine(listed: Scene) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = subprocess.run(
            [*WINDLASS, "runs", "--url", listed.url],
            stdout=writer,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(writer)

    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.spec("security:99")
def test_output_that_cannot_be_written_is_one_line(listed: Scene) -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [*WINDLASS, "runs", "--url", listed.url],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=PATIENCE,
            check=False,
        )

    assert result.returncode == 1
    assert result.stderr == b"windlass: No space left on device: the output cannot be written\n"


def test_a_long_list_is_written_whole_into_a_pipe(listed: Scene) -> None:
    lines = windlass("runs", "--url", listed.url, "--limit", "1000").stdout.decode().splitlines()

    assert len(lines) == 401
    assert all(line.startswith("run_") and f"order-{399 - number} " in line for number, line in enumerate(lines[1:]))


def test_colours_are_for_terminals_and_for_those_who_want_them(listed: Scene) -> None:
    command = ("runs", "--url", listed.url, "--limit", "3")

    coloured = on_a_terminal(*command)

    assert "\x1b[33m· pending" in coloured
    assert "\x1b" not in on_a_terminal(*command, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(*command, TERM="dumb")
    assert b"\x1b" not in windlass(*command).stdout
    assert b"\x1b" not in windlass(*command, FORCE_COLOR="1").stdout


def test_a_terminal_gets_short_ids_that_show_understands_and_the_next_page(listed: Scene) -> None:
    _, first, *_, older = on_a_terminal("runs", "--url", listed.url, "--limit", "3", NO_COLOR="1").splitlines()
    (newest,) = listed.json("runs", "--limit", "1")["runs"]

    short = first.split()[0]
    assert len(short) < len(newest["id"])
    assert listed.json("show", short)["id"] == newest["id"]
    assert older.startswith(f"older: windlass --url {shlex.quote(listed.url)} runs --before run_")
    assert len(first) <= 80


def test_an_encoding_without_our_signs_gets_ascii(listed: Scene) -> None:
    for encoding in ("ascii", "latin-1"):
        result = windlass("show", "--url", listed.url, "--key", "order-7", PYTHONIOENCODING=encoding, PYTHONUTF8="0")

        assert result.returncode == 0
        assert result.stdout.isascii()
        assert result.stdout.startswith(b". pending  order('7')")


def serving(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*WINDLASS, "worker", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )


def test_a_worker_serves_the_app_of_the_current_folder_until_it_is_told_to_stop(folder: Path, scene: Scene) -> None:
    (folder / "shop.py").write_text(SHOP)
    subprocess.run([sys.executable, "shop.py"], check=True, env=environment(WINDLASS_URL="shop.db"), timeout=PATIENCE)

    with serving("shop:app", "--url", "shop.db", "--queue", "default", "--slots", "3", "--json") as process:
        assert process.stdout is not None
        begun = json.loads(process.stdout.readline())
        while scene.json("show", "--key", "order-7")["status"] != "completed":
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        ended = json.loads(process.stdout.read())
        assert process.wait(PATIENCE) == 0

    about = {"app": "shop:app", "queues": ["default"], "left_out": [], "slots": 3, "namespace": "default"}
    assert (begun, ended) == ({"event": "serving", **about}, {"event": "stopped", **about})
    assert scene.json("show", "--key", "order-7")["output"] == "order 7 done"


def test_without_queues_a_worker_serves_all_that_the_app_names_and_says_which(folder: Path, scene: Scene) -> None:
    (folder / "shop.py").write_text(SHOP.replace("@app.workflow\n", '@app.workflow(queue="slow")\n'))
    subprocess.run([sys.executable, "shop.py"], check=True, env=environment(WINDLASS_URL="shop.db"), timeout=PATIENCE)

    with serving("shop:app", "--url", "shop.db") as process:
        assert process.stderr is not None
        said = [process.stderr.readline(), process.stderr.readline()]
        while scene.json("show", "--key", "order-7")["status"] != "completed":
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0

    assert said[1].endswith("Serving shop:app: queues default, slow, 100 slots\n"), said


@pytest.mark.spec("security:99")
def test_ctrl_c_before_it_serves_ends_with_130_and_no_traceback(folder: Path) -> None:
    (folder / "slow.py").write_text('import threading\nprint("importing", flush=True)\nthreading.Event().wait()\n')

    with serving("slow:app") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "importing\n"
        process.send_signal(signal.SIGINT)

        assert process.wait(PATIENCE) == 130
        assert process.stderr.read().strip() == ""

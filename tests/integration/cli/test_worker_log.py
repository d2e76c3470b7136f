"""How `windlass worker` writes its log: as it is told by its options, the environment and the file."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.cli.test_process import PATIENCE, WINDLASS, environment, windlass

FAILING = """
import windlass
app = windlass.App()
async def charge(card: str) -> None:
    raise ValueError(f"refused: {card}")
@app.workflow
async def order(ctx: windlass.Context, card: str) -> None:
    ctx.log.info("an order")
    await ctx.step(charge, card, retry=windlass.Retry(1))
"""


def log_of(*options: str, **changes: str) -> list[str]:
    """What a worker writes while it executes a run that fails."""
    Path("shop.py").write_text(FAILING)
    assert windlass("start", "shop:app", "order", "hunter2", "--url", "shop.db").returncode == 0
    command = [*WINDLASS, "worker", "shop:app", "--url", "shop.db", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(**changes)) as process:
        assert process.stderr is not None
        written = []
        for line in process.stderr:
            written.append(line.rstrip("\n"))
            if "failed: ValueError in step" in line:
                process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert not any("hunter2" in line for line in written)
    return written


def test_json_is_one_object_per_line_from_the_first_to_the_last() -> None:
    written = log_of("--log-format", "json", WINDLASS_SCHEDULER_BATCH_SIZE="7")

    told = [json.loads(line) for line in written]
    (warned, *_) = told
    assert (warned["level"], warned["logger"]) == ("warning", "windlass.settings")
    assert warned["message"].endswith("Set WINDLASS_COORDINATOR_BATCH_SIZE instead.")
    assert [item["logger"] for item in told].count("windlass.settings") == 1
    (said,) = [item for item in told if item["logger"] == "windlass.run"]
    (failed,) = [item for item in told if item["message"].startswith("Run ")]
    assert said["message"] == f"[{said['run']}] an order"
    assert (failed["level"], failed["workflow"], failed["step"]) == ("warning", "order", "charge")
    assert failed["run"] == said["run"]


def test_plain_is_one_line_per_record_and_the_default() -> None:
    written = log_of()

    record = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING) windlass(\.\w+)?  \S.*")
    assert all(record.fullmatch(line) for line in written), written
    assert " INFO windlass  Using " in written[0]
    assert written[1].endswith(" INFO windlass  Serving shop:app: queues default, 100 slots")


def test_options_win_over_the_environment_and_that_over_the_file() -> None:
    Path("windlass.toml").write_text('[log]\nformat = "plain"\nlevel = "error"\n')

    written = log_of("--log-level", "warning", WINDLASS_LOG_FORMAT="json", WINDLASS_LOG_LEVEL="debug")

    assert {json.loads(line)["level"] for line in written} == {"warning"}


@pytest.mark.parametrize(
    ("options", "changes", "complaint"),
    [
        ([], {"WINDLASS_LOG_FORMAT": "xml"}, "windlass: WINDLASS_LOG_FORMAT (environment) must be one of plain, json"),
        (["--log-level", "loud"], {}, "windlass: Invalid value for '--log-level': 'loud' is not one of 'debug'"),
    ],
)
def test_a_wrong_way_of_logging_is_refused(options: list[str], changes: dict[str, str], complaint: str) -> None:
    Path("shop.py").write_text(FAILING)

    result = windlass("worker", "shop:app", *options, **changes)

    assert result.returncode in (1, 2)
    assert result.stderr.decode().startswith(complaint)
    assert result.stderr.count(b"\n") == 1

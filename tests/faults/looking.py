"""Type every command that only reads, and write down what it answers: `python -m tests.faults.looking DATABASE`."""

from __future__ import annotations

import json
import sys
from typing import Any

from click.testing import CliRunner

from tests.integration.cli.every_command import ITEM, LOOKING, READING, RUN, SIGNAL
from windlass.cli.main import cli
from windlass.cli.session import Session
from windlass.testing.clock import FakeClock


def type_command(url: str, *words: str) -> Any:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["--url", url, *words], obj=Session(clock=FakeClock()))
    return result.exit_code, result.stdout, result.stderr


def look(url: str) -> dict[str, Any]:
    """What each of them answers; about things that are there."""
    known = {
        RUN: json.loads(type_command(url, "runs", "--json")[1])["runs"][0]["id"],
        ITEM: json.loads(type_command(url, "items", "--json")[1])["items"][0]["id"],
        SIGNAL: json.loads(type_command(url, "signals", "--json")[1])["signals"][0]["id"],
        "daily": json.loads(type_command(url, "schedules", "--json")[1])["schedules"][0]["name"],
        "mail": json.loads(type_command(url, "pipelines", "--json")[1])["pipelines"][0]["name"],
    }
    return {
        name: type_command(url, *name.split(), *(known.get(word, word) for word in words))
        for name, words in {**READING, **LOOKING}.items()
    }


if __name__ == "__main__":
    print(json.dumps(look(sys.argv[1])))

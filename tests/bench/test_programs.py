"""Do programs answer alike, and only for what is durable? Does the command line ask for what the table holds?"""

from __future__ import annotations

import sys

import msgspec
import pytest

from bench.peers.protocol import Answer, answer
from bench.programs import Record, environment
from bench.run import PARTS, asked_sizes, parse

FULL = {"synchronous": 2, "journal_mode": "wal"}
ON = {"fsync": "on", "synchronous_commit": "on"}


def ask(monkeypatch: pytest.MonkeyPatch, durability: dict[str, object], *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["program", *arguments])
    answer({"drain": lambda url, size: Answer({"runs_per_second": float(size)}, durability)}, size=100)


@pytest.mark.parametrize(
    ("url", "store", "durability"), [("some.db", "sqlite", FULL), ("postgresql://there/db", "postgresql", ON)]
)
def test_a_program_answers_with_one_record(
    url: str,
    store: str,
    durability: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ask(monkeypatch, durability, "drain", "--db", url, "--size", "7")

    record = msgspec.json.decode(capsys.readouterr().out, type=Record)
    assert (record.case, record.store, record.size) == ("drain", store, 7)
    assert record.figures == {"runs_per_second": 7}


@pytest.mark.parametrize(
    "durability", [{"synchronous": 1}, {"fsync": "off", "synchronous_commit": "on"}, ON | {"fsync": "off"}, {}]
)
def test_what_is_not_durable_is_not_reported(
    durability: dict[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="not durable"):
        ask(monkeypatch, durability, "drain", "--db", "some.db")

    assert capsys.readouterr().out == ""


def test_the_shell_does_not_change_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WINDLASS_URL", "PYTHONPATH", "PGHOST", "DBOS__VMID"):
        monkeypatch.setenv(name, "somewhere")
    monkeypatch.setenv("LANG", "C")

    found = environment()

    assert found["LANG"] == "C"
    assert [name for name in found if name.startswith(("WINDLASS_", "PYTHON", "PG", "DBOS"))] == []


def test_a_quick_look_is_not_written() -> None:
    with pytest.raises(SystemExit):
        parse(["--quick", "--write"])


@pytest.mark.parametrize(
    ("arguments", "rounds", "flat_rounds"), [([], 5, 5), (["--rounds", "3"], 3, 5), (["--rounds", "7"], 7, 7)]
)
def test_drains_side_by_side_are_at_least_five(arguments: list[str], rounds: int, flat_rounds: int) -> None:
    sizes = asked_sizes(parse(arguments))

    assert (sizes.rounds, sizes.flat_rounds) == (rounds, flat_rounds)


def test_a_quick_look_is_small_everywhere() -> None:
    full, quick = asked_sizes(parse([])), asked_sizes(parse(["--quick"]))

    assert all(few < many for few, many in zip(quick[:-1], full[:-1], strict=True))  # type: ignore[operator]


def test_parts_are_asked_for_by_name() -> None:
    assert parse(["--only", "flat", "--only", "idle"]).only == ["flat", "idle"]
    assert list(PARTS) == [
        *("raw", "steps", "drain", "alone", "flat", "idle", "wire", "graphs", "pipelines", "signals", "pages")
    ]

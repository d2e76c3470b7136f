"""Does every mistake become one line and the exit code it deserves, and never a traceback?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.integration.cli.scene import Scene, declare_order
from windlass.cli.main import cli
from windlass.testing.harness import Harness

pytestmark = pytest.mark.spec("security:99")


@pytest.mark.parametrize(
    "command",
    [
        ["runs"],
        ["show", "run_0"],
        ["show", "--key", "x"],
        ["send", "run_0", "paid", "12"],
        ["approve", "run_0"],
        ["reject", "run_0"],
        ["cancel", "run_0"],
        ["retry", "run_0"],
        ["pause", "run_0"],
        ["pause", "--all"],
        ["resume", "run_0"],
        ["resume", "--queue", "billing"],
    ],
)
def test_looking_at_a_database_that_does_not_exist_creates_none(scene: Scene, folder: Path, command: list[str]) -> None:
    result = scene.run(*command)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "windlass: database 'shop.db' does not exist. Name another with --url, or create it: "
        "windlass --url shop.db migrate\n"
    )
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [
        ["rnus"],
        ["runs", "--colour"],
        ["runs", "extra"],
        ["runs", "--name", "bad\udcff"],
        ["--namespace", "a b", "runs"],
        ["--namespace", "bad\udcff", "runs"],
        ["--url", "bad\udcff", "runs"],
        ["bad\udcff"],
        ["runs", "--bad\udcff"],
        ["worker"],
        ["worker", "shop"],
        ["worker", "shop:app", "--slots", "0"],
        ["worker", "shop:app", "--queue", "a b"],
        ["worker", "../shop:app"],
        ["worker", "bad\udcff:app"],
        ["migrate", "now"],
    ],
)
def test_a_wrong_command_line_is_one_line_with_a_hint_and_exit_code_2(scene: Scene, args: list[str]) -> None:
    result = scene.run(*args)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("windlass: ")
    assert result.stderr.endswith(" --help\n")
    assert result.stderr.count("\n") == 1
    assert result.stderr[:-1].isprintable()


def test_a_slip_of_the_finger_gets_a_suggestion(scene: Scene) -> None:
    assert "Did you mean 'schedules'? Try: windlass --help" in scene.run("schedlues").stderr


@pytest.mark.spec("security:100")
@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("mysql://host/db", "url"),
        ("sqlite:/one-slash", "three slashes"),
        ("postgresql://", "host"),
        ("postgresql://user:secret@host:0/db", "port"),
        ("missing/folder/x.db", "missing/folder/x.db"),
        ("", "url"),
    ],
)
def test_a_database_that_cannot_be_meant_is_refused(scene: Scene, url: str, named: str) -> None:
    result = scene.run("runs", "--url", url)

    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert named in result.stderr
    assert "secret" not in result.stderr


@pytest.mark.spec("security:100")
def test_a_typo_in_the_configuration_is_named(scene: Scene, folder: Path) -> None:
    (folder / "windlass.toml").write_text('[worker]\nvisibilty_timeout_secs = "5"\n')

    result = scene.run("runs")

    assert result.exit_code == 1
    assert "worker.visibilty_timeout_secs" in result.stderr
    assert "Did you mean 'worker.visibility_timeout_secs'?" in result.stderr
    assert scene.run("--help").exit_code == 0


def test_with_json_an_error_is_a_line_of_json_on_the_standard_error(scene: Scene) -> None:
    missing, misused = scene.run("runs", "--json"), scene.run("runs", "--json", "--limit", "0")

    assert (missing.exit_code, missing.stdout, json.loads(missing.stderr)["error"]["code"]) == (1, "", "not_found")
    assert (misused.exit_code, misused.stdout, json.loads(misused.stderr)["error"]["code"]) == (2, "", "usage")


@pytest.mark.parametrize(
    "args", [["runs", "--colour", "--json"], ["rnus", "--json"], ["start", "a:b", "c", "-5", "--json"]]
)
def test_with_json_also_what_cannot_be_read_is_answered_in_json(scene: Scene, args: list[str]) -> None:
    result = scene.run(*args)

    assert (result.exit_code, result.stdout, json.loads(result.stderr)["error"]["code"]) == (2, "", "usage")


def test_help_and_version_need_no_database(scene: Scene, folder: Path) -> None:
    assert scene.shown("--version").startswith("windlass 0.")
    assert "resume" in scene.shown("--help")
    assert [name for name in cli.commands if "--json" not in scene.shown(name, "--help")] == []
    assert list(folder.iterdir()) == []


UNNAMED = "import windlass\nfirst = windlass.App()"
DETERMINED = "import windlass\napp = windlass.App('other.db')"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "module 'shop' does not exist."),
        ("import nowhere_at_all", "(shop.py:1): ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("x = 1\nx / 0", "(shop.py:2): ZeroDivisionError: division by zero"),
        ("def f(:", "(shop.py:1): SyntaxError: "),
        ("import sys\nsys.exit(3)", "(shop.py:2): SystemExit: 3"),
        ("raise SystemExit", "(shop.py:1): SystemExit"),
        (UNNAMED, "'app' in module 'shop' does not exist. Did you mean 'shop:first'?"),
        ("app = 7", "shop:app is of type int, not a windlass.App."),
        (DETERMINED, "shop:app names its database itself (other.db)"),
    ],
)
def test_a_worker_that_cannot_begin_says_why(
    scene: Scene, folder: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, expected: str
) -> None:
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("WINDLASS_URL", "")  # the command sets it; this takes it back
    if text is not None:
        (folder / "shop.py").write_text(text)

    result = scene.run("worker", "shop:app")

    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert expected in result.stderr


def test_nothing_asked_is_answered_with_the_help() -> None:
    result = CliRunner().invoke(cli, [])

    assert result.exit_code == 2
    assert "Usage: windlass" in result.stdout


def test_postgresql_answers_like_a_file(scene: Scene, postgres_url: str) -> None:
    async def order(harness: Harness) -> str:
        workflow = declare_order(harness)
        handle = await harness.start(workflow, "7", key="order-7")
        await harness.run(workflow, "7", key="order-7")
        return handle.id

    there = Scene(postgres_url)
    run_id = there.play(order)

    assert there.json("show", run_id[:20])["status"] == "completed"
    assert "✓ completed" in there.shown("runs", "--name", "order")
    assert "  charge   'ch_778'" in there.shown("show", "--key", "order-7")
    assert there.run("resume", run_id).exit_code == 1
    assert scene.run("runs", "--url", postgres_url + "_not_there").exit_code == 1

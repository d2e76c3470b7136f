"""Do imports go down only, and would the contracts notice if they did not?"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.architecture.source import ROOT

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS = {contract["id"]: contract["name"] for contract in CONFIGURATION["contracts"]}
LAYERS = [
    [name.strip(" ()") for name in layer.split("|")]
    for contract in CONFIGURATION["contracts"]
    if contract["id"] == "layers"
    for layer in contract["layers"]
]

# One import each, and the contract it breaks.
BAD_IMPORTS = [
    ("layers", "app", "import windlass.demo"),
    ("layers", "demo", "import windlass.cli"),
    ("layers", "demo", "import windlass.bench"),
    ("layers", "model", "import windlass.rules"),
    ("layers", "errors", "import windlass.runtime"),
    ("layers", "api", "import windlass.engine"),
    ("layers", "store", "import windlass.engine"),
    ("doors", "worker", "import windlass.engine"),
    ("doors", "client", "import windlass.store"),
    ("doors", "define", "import windlass.engine"),
    ("store", "store", "import windlass.rules"),
    ("settings", "engine", "import windlass.settings"),
    ("testing", "cli", "import windlass.testing"),
    ("drivers", "engine", "import apsw"),
    ("drivers", "worker", "from asyncpg import connect"),
    ("layers", "telemetry", "import windlass.rules"),
    ("instruments", "worker", "import prometheus_client"),
    ("instruments", "engine", "from opentelemetry import trace"),
]
GOOD_IMPORTS = [
    ("cli", "import windlass.settings, windlass.demo"),
    ("demo", "import windlass.settings, windlass.app"),
    ("bench", "import windlass.settings, windlass.app, apsw, asyncpg"),
    ("app", "import windlass.settings"),
    ("engine", "import windlass.store, windlass.rules"),
    ("store", "import apsw, asyncpg"),
    ("notify", "import asyncpg"),
    ("telemetry", "import windlass.model, prometheus_client, opentelemetry"),
    ("testing", "import windlass.engine, windlass.settings, asyncpg"),
    ("worker", "import windlass.define, windlass.api"),
]


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of our pyproject.toml against the package found in `directory`."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--config", str(ROOT / "pyproject.toml"), "--no-cache", "--no-logo"]
    environment = os.environ | {"PYTHONPATH": str(directory), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=directory, check=False)


def make_package(directory: Path, imports: list[tuple[str, str]]) -> None:
    package = directory / "windlass"
    beside = ("", "settings", "settings_url", "settings_values", "testing")
    for name in (*beside, *(name for layer in LAYERS for name in layer)):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    for number, (module, statement) in enumerate(imports):
        (package / module / f"sample_{number}.py").write_text(f"{statement}\n")


def test_imports_go_down_only() -> None:
    result = lint(ROOT / "src")

    assert result.returncode == 0, result.stdout + result.stderr


def test_every_contract_is_kept_by_good_imports(tmp_path: Path) -> None:
    make_package(tmp_path, GOOD_IMPORTS)

    result = lint(tmp_path)

    assert f"{len(CONTRACTS)} kept, 0 broken" in result.stdout, result.stdout + result.stderr


def test_every_bad_import_is_found(tmp_path: Path) -> None:
    make_package(tmp_path, GOOD_IMPORTS + [(module, statement) for _, module, statement in BAD_IMPORTS])

    result = lint(tmp_path)

    assert result.returncode == 1, result.stdout + result.stderr
    assert f"0 kept, {len(CONTRACTS)} broken" in result.stdout
    findings = result.stdout.partition("Broken contracts")[2]
    for number, (contract, module, statement) in enumerate(BAD_IMPORTS, start=len(GOOD_IMPORTS)):
        section = findings.partition(f"{CONTRACTS[contract]}\n---")[2].partition("\n---")[0]
        assert f"windlass.{module}.sample_{number} " in section, f"{contract} did not notice: {module}: {statement}"


def test_every_contract_has_a_bad_sample() -> None:
    assert {contract for contract, _, _ in BAD_IMPORTS} == set(CONTRACTS)


def test_a_new_top_level_module_must_find_its_layer(tmp_path: Path) -> None:
    make_package(tmp_path, GOOD_IMPORTS)
    (tmp_path / "windlass" / "newcomer.py").touch()

    result = lint(tmp_path)

    assert result.returncode == 1
    assert "newcomer" in result.stdout

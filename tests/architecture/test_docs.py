"""Do the documents keep what they promise: links that lead somewhere, code that compiles, nothing left out?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import windlass
from tests.architecture.documents import (
    bad_python,
    broken_links,
    code_blocks,
    collapsed,
    is_named,
    markdown_files,
    relative_links,
)
from tests.architecture.source import ROOT, File
from windlass.cli.main import cli
from windlass.settings import DEFAULT_URL, OPTIONS, Settings

REFERENCE = ROOT / "docs" / "reference"


def test_every_relative_link_leads_somewhere() -> None:
    assert [complaint for file in markdown_files() for complaint in broken_links(file)] == []


def test_every_python_block_compiles() -> None:
    blocks = [block for file in markdown_files() for block in code_blocks(file, "python")]

    assert len(blocks) > 10, "hardly any code found: have the documents moved?"
    assert [complaint for file in markdown_files() for complaint in bad_python(file)] == []


@pytest.mark.parametrize("path", ["README.md", "docs/tutorial.md"])
def test_the_first_program_is_the_example_that_is_tried(path: str) -> None:
    _, program = next(code_blocks(File(path, (ROOT / path).read_text()), "python"))

    assert collapsed(program) == collapsed((ROOT / "examples" / "order.py").read_text())


def test_every_document_is_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "docs" / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        file = File(path.relative_to(ROOT).as_posix(), path.read_text())
        targets = [(path.parent / target.partition("#")[0]).resolve() for target in relative_links(file)]
        waiting += [target for target in targets if target.suffix == ".md" and ROOT in target.parents]

    assert {path for path in (ROOT / "docs").rglob("*.md")} - reached == set()


def test_every_setting_is_documented_with_its_default() -> None:
    rows = [line for line in (REFERENCE / "settings.md").read_text().splitlines() if line.startswith("| `WINDLASS_")]
    documented = {row.split("`")[1]: row for row in rows}

    assert documented.keys() == {option.variable for option in OPTIONS}
    for option in OPTIONS:
        assert f"`{option.path}`" in documented[option.variable]
        assert f"| {shown_default(option.field, option.path)} |" in documented[option.variable]


def shown_default(field: str, path: str) -> str:
    default = {"url": DEFAULT_URL}.get(field, getattr(Settings(), field))
    if default is None or default == ():
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, int):
        return str(default // 1_000_000 if path.endswith("_secs") else default)
    return f"`{default}`"


def test_every_public_name_is_in_the_reference() -> None:
    text = (REFERENCE / "api.md").read_text()

    assert [name for name in windlass.__all__ if not is_named(name, text)] == []


def test_every_error_is_explained_with_its_code() -> None:
    text = (REFERENCE / "errors.md").read_text()
    names = [name for name in windlass.__all__ if isinstance(getattr(windlass, name), type)]
    errors = [kind for name in names if issubclass(kind := getattr(windlass, name), windlass.WindlassError)]

    assert [kind.__name__ for kind in errors if f"| `{kind.__name__}` | `{kind.code}` |" not in text] == []


def test_every_command_and_its_options_are_in_the_reference() -> None:
    text = (REFERENCE / "command-line.md").read_text()
    commands = dict(every_command(cli, "windlass"))
    options = {name for command in commands.values() for option in command.params for name in option.opts}

    assert [name for name in cli.commands if f"## `windlass {name}`" not in text] == []
    assert [name for name in commands if f"`{name}" not in text] == []
    assert sorted(name for name in options if name.startswith("--") and name not in text) == []


def every_command(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from every_command(command, f"{path} {name}")


@pytest.mark.spec("runs:P6.7")
def test_the_changelog_marks_breaking_entries() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    head, *releases = text.split("\n## ")

    assert "marked **Breaking**" in collapsed(head)
    assert len(releases) >= 2, "Unreleased and at least one version"
    assert unmarked_removals(text) == []


def unmarked_removals(text: str) -> list[str]:
    """Entries about something that is gone, which always breaks somebody, without the mark."""
    sections = [part for part in text.split("\n### ") if part.startswith("Removed")]
    entries = [entry for section in sections for entry in section.split("\n## ")[0].split("\n- ")[1:]]
    return [collapsed(entry) for entry in entries if not entry.startswith("**Breaking**")]


def test_a_broken_link_is_found() -> None:
    def sample(text: str) -> list[str]:
        return broken_links(File("docs/sample.md", text))

    assert sample("see [this](nowhere.md)") == ["docs/sample.md: nowhere.md does not exist"]
    assert sample("see [this](../nowhere.md#part)") != []
    assert (
        sample("[here](tutorial.md) [part](tutorial.md#x) [out](https://example.org/x) [up](../README.md) [x](#x)")
        == []
    )
    assert sample("`[no](link.md)` and\n```\n[no](link.md)\n```\n") == []


def test_bad_python_is_found_with_its_line() -> None:
    file = File("docs/sample.md", "# Title\n\n```python\nawait x\nif:\n```\n\n```console\n$ if:\n```\n")

    assert [complaint.rpartition(":")[0] for complaint in bad_python(file)] == ["docs/sample.md:5"]


def test_a_name_counts_where_it_stands_in_code() -> None:
    assert is_named("Retry", "use `Retry(5)`")
    assert is_named("Retry", "use `windlass.Retry`")
    assert not is_named("Retry", "use `RetryPolicy` or Retry")


def test_a_removal_without_its_mark_is_found() -> None:
    text = "# Log\n\n## 2\n\n### Removed\n\n- **Breaking** one\n- two\n  words\n\n### Added\n\n- three\n\n## 1\n"

    assert unmarked_removals(text) == ["two words"]

"""Does every file say what it answers, bear a name that means something, and hold nothing that does not belong?"""

from __future__ import annotations

import pytest

from tests.architecture.shape import machine_paths, missing_docstring, nameless, unsafe_imports
from tests.architecture.source import PACKAGE, File, all_files, python_files


def test_every_module_says_what_question_it_answers() -> None:
    assert [complaint for file in python_files(PACKAGE) for complaint in missing_docstring(file)] == []


def test_every_name_means_something() -> None:
    assert [complaint for file in all_files() if file.path.endswith(".py") for complaint in nameless(file)] == []


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    assert [complaint for file in all_files() for complaint in machine_paths(file)] == []


def test_nothing_unpickles() -> None:
    assert [complaint for file in python_files("") for complaint in unsafe_imports(file)] == []


def test_the_walk_sees_the_project() -> None:
    paths = {file.path for file in all_files()}

    assert {"pyproject.toml", "Makefile", "src/windlass/runtime.py", "tests/architecture/test_files.py"} <= paths
    assert not any(path.startswith((".venv", ".git/")) for path in paths)


def test_a_missing_docstring_is_found() -> None:
    assert missing_docstring(File("src/windlass/sample.py", "import os\n")) != []
    assert missing_docstring(File("src/windlass/__init__.py", "import os\n")) != []
    assert missing_docstring(File("src/windlass/__init__.py", "\n")) == []
    assert missing_docstring(File("src/windlass/sample.py", '"""Why."""\n')) == []


@pytest.mark.parametrize("path", ["src/windlass/utils.py", "src/windlass/core/run.py", "tests/test_helpers.py"])
def test_a_name_that_says_nothing_is_found(path: str) -> None:
    assert len(nameless(File(path, ""))) == 1


@pytest.mark.parametrize("path", ["src/windlass/score.py", "src/windlass/model/run.py"])
def test_a_name_that_says_something_passes(path: str) -> None:
    assert nameless(File(path, "")) == []


@pytest.mark.parametrize("folder", ["work", "root", "home"])
def test_a_path_of_a_machine_is_found(folder: str) -> None:
    def sample(text: str) -> list[str]:
        return machine_paths(File("docs/sample.md", text))

    assert sample(f"see /{folder}/main/x.py") != []
    assert sample(f'"/{folder}/x"') != []
    assert sample(f"GET /v1/{folder}/items and src/{folder}/x and https://example.org/{folder}/") == []


@pytest.mark.parametrize(
    "text", ["import pickle", "from pickle import loads", "import os, marshal", "import dill.source"]
)
def test_an_unsafe_import_is_found(text: str) -> None:
    assert len(unsafe_imports(File("bench/sample.py", f"def f():\n    {text}\n"))) == 1


def test_a_safe_import_passes() -> None:
    assert unsafe_imports(File("bench/sample.py", "import pickleball, json\nfrom . import x\n")) == []

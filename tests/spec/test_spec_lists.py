"""Are the lists of demands complete, and does the reporter count them honestly?"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent


def load_report() -> ModuleType:
    """Load the script by its path: it is no package, and pytest's import mode must not matter."""
    spec = importlib.util.spec_from_file_location("windlass_spec_report", FOLDER / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


report = load_report()


def count_out(last: dict[str, int]) -> set[str]:
    return {f"{prefix}{number}" for prefix, end in last.items() for number in range(1, end + 1)}


NUMBERS = {
    "runs": count_out({"G": 11, "P1.": 4, "P2.": 13, "P3.": 6, "P4.": 9, "P5.": 5, "P6.": 7, "V": 7}),
    "graphs": count_out({"": 56}),
    "pipelines": count_out({"": 152}),
    "signals": count_out({"": 55}),
}
SUPERSEDED = {
    "runs": """G1 G7 G10 G11 P1.1 P1.2 P1.4 P2.5 P2.6 P2.7 P2.8 P2.9 P2.10 P2.11 P2.12 P2.13 P4.1 P4.2 P4.4 P4.5 P4.8
               P5.1 P5.4 P6.1 P6.2 P6.3 P6.4 P6.5 P6.6 P6.7""",
    "graphs": "9 10 14 16 21 36 40 42 44 47 49 50 51",
    "pipelines": "25 45 46 48 49 112 121 122 123 124 126 127 128 129 130 133 134 135 137 150",
    "signals": "12 13 14 15 16 17 18 23 24 25 26 27 31 32 33 39 42 45 52",
}
MODELS = sorted(NUMBERS)


# -- the lists -------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "size"), [("runs", 62), ("graphs", 56), ("pipelines", 152), ("signals", 55)])
def test_every_number_of_the_checklist_is_listed_once(model: str, size: int) -> None:
    numbers = [demand.number for demand in report.load_list(FOLDER / f"{model}.toml")]

    assert len(numbers) == len(set(numbers)) == size
    assert set(numbers) == NUMBERS[model]


@pytest.mark.parametrize("model", MODELS)
def test_exactly_the_superseded_numbers_say_what_is_tested_instead(model: str) -> None:
    demands = report.load_list(FOLDER / f"{model}.toml")

    assert {demand.number for demand in demands if demand.instead} == set(SUPERSEDED[model].split())


@pytest.mark.parametrize("model", MODELS)
def test_each_demand_is_one_own_sentence(model: str) -> None:
    demands = report.load_list(FOLDER / f"{model}.toml")

    sentences = [sentence for demand in demands for sentence in (demand.text, demand.instead or demand.text)]

    assert [sentence for sentence in sentences if not sentence.strip() or not sentence.endswith(".")] == []
    assert len({demand.text for demand in demands}) == len(demands)
    assert [demand.number for demand in demands if demand.text == demand.instead] == []


def test_every_marker_of_this_repository_names_a_number_that_exists() -> None:
    assert report.build_report(report.REPOSITORY).problems == []


# -- the reporter ----------------------------------------------------------------------------

FAKE_LISTS = {
    "runs": '[[demand]]\nnumber = "G1"\ntext = "One."\n'
    '[[demand]]\nnumber = "G2"\ntext = "Two."\ninstead = "Other two."\n'
    '[[demand]]\nnumber = "G3"\ntext = "Three."\n'
    '[[demand]]\nnumber = "G4"\ntext = "Four."\ninstead = "Other four."\n',
    "graphs": "".join(f'[[demand]]\nnumber = "{number}"\ntext = "T."\n' for number in range(1, 7)),
    "pipelines": '[[demand]]\nnumber = "1"\ntext = "T."\n',
    "signals": '[[demand]]\nnumber = "1"\ntext = "T."\n',
}

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write one file of a small tree that has its own lists."""

    def write_file(name: str, content: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    for model, content in FAKE_LISTS.items():
        write_file(f"tests/spec/{model}.toml", content)
    return write_file


def names_in(root: Path) -> list[str]:
    """What the markers of a tree name, all of them readable."""
    markers, problems = report.collect_markers(root)
    assert problems == []
    return sorted(marker.name for marker in markers)


def test_demands_are_counted_as_tested_superseded_or_missing(
    tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write("tests/test_a.py", 'import pytest\n@pytest.mark.spec("runs:G1", "runs:G2")\ndef test_a(): ...\n')
    write("tests/deep/test_b.py", 'import pytest\n@pytest.mark.spec("graphs:4")\nasync def test_b(): ...\n')

    code = report.main(["--root", str(tmp_path)])

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert lines[:4] == [
        "runs: 4 demands, 1 tested, 1 superseded, 2 missing",
        "G3 G4",
        "graphs: 6 demands, 1 tested, 0 superseded, 5 missing",
        "1..3 5 6",
    ]


def test_unknown_number_is_an_error_that_names_its_test(
    tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write("tests/test_a.py", 'import pytest\n\n@pytest.mark.spec("runs:G1", "runs:G9")\ndef test_a(): ...\n')

    code = report.main(["--root", str(tmp_path)])

    assert code == 1
    assert capsys.readouterr().err == "error: tests/test_a.py:3 test_a: 'runs:G9': runs has no number 'G9'\n"


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("invariants:I-07", True),
        ("invariants:I-65", True),
        ("invariants:I-66", False),
        ("invariants:I-7", False),
        ("security:105", True),
        ("security:106", False),
        ("security:S-42", True),
        ("security:S-43", False),
        ("G1", False),
        ("walks:1", False),
        ("", False),
    ],
)
def test_catalogues_without_a_list_are_known_by_their_range(
    tmp_path: Path, write: Write, name: str, is_known: bool
) -> None:
    write("tests/test_a.py", f'import pytest\n@pytest.mark.spec("{name}")\ndef test_a(): ...\n')

    assert (report.build_report(tmp_path).problems == []) is is_known


def test_json_lists_numbers_and_the_tests_behind_them(
    tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write("tests/test_a.py", 'import pytest\n@pytest.mark.spec("runs:G2", "graphs:7")\ndef test_a(): ...\n')

    code = report.main(["--root", str(tmp_path), "--json"])

    answer = json.loads(capsys.readouterr().out)
    assert code == 1
    assert answer["lists"]["runs"] == {"total": 4, "tested": [], "superseded": ["G2"], "missing": ["G1", "G3", "G4"]}
    assert answer["tests"]["runs:G2"] == ["tests/test_a.py:2 test_a"]
    assert [error["place"] for error in answer["errors"]] == ["tests/test_a.py:2 test_a"]


def test_missing_spells_out_what_a_test_has_to_prove(
    tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write("tests/test_a.py", 'import pytest\n@pytest.mark.spec("runs:G1")\ndef test_a(): ...\n')

    code = report.main(["--root", str(tmp_path), "--missing", "runs"])

    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "runs: 3 of 4 missing",
        "  G2  Other two.",
        "  G3  Three.",
        "  G4  Other four.",
    ]


def test_missing_refuses_a_list_that_does_not_exist(tmp_path: Path, write: Write) -> None:
    with pytest.raises(SystemExit) as refusal:
        report.main(["--root", str(tmp_path), "--missing", "walks"])

    assert refusal.value.code == 2


@pytest.mark.parametrize(
    "source",
    [
        "pytestmark = pytest.mark.spec('runs:G1')\ndef test_a(): ...",
        "pytestmark = [pytest.mark.slow, pytest.mark.spec('runs:G1')]\ndef test_a(): ...",
        "@pytest.mark.spec('runs:G1')\nclass TestA:\n    def test_a(self): ...",
        "class TestA:\n    pytestmark = pytest.mark.spec('runs:G1')\n    def test_a(self): ...",
        "class TestA:\n    @pytest.mark.spec('runs:G1')\n    def test_a(self): ...",
        "@pytest.mark.spec('runs:G1')\nclass TestA(Claims): ...",
        "@pytest.mark.parametrize('a', [pytest.param(1, marks=pytest.mark.spec('runs:G1'))])\ndef test_a(a): ...",
        "CASES = [pytest.param(1, marks=pytest.mark.spec('runs:G1'))]\ndef test_a(): ...",
        "from pytest import mark\n@mark.spec('runs:G1')\ndef test_a(): ...",
        "demand = pytest.mark.spec\n@demand('runs:G1')\ndef test_a(): ...",
        "@pytest.mark.skipif(True, reason='no server')\n@pytest.mark.spec('runs:G1')\ndef test_a(): ...",
    ],
)
def test_every_way_to_mark_a_test_is_found(tmp_path: Path, write: Write, source: str) -> None:
    write("tests/test_a.py", f"import pytest\n{source}\n")

    assert names_in(tmp_path) == ["runs:G1"]


@pytest.mark.parametrize(
    "source",
    [
        "'@pytest.mark.spec(\"runs:G1\")'",
        "# @pytest.mark.spec('runs:G1')",
        "@pytest.mark.skip\n@pytest.mark.spec('runs:G1')\ndef test_a(): ...",
        "@pytest.mark.xfail(strict=True)\n@pytest.mark.spec('runs:G1')\ndef test_a(): ...",
        "pytestmark = [pytest.mark.skip]\n@pytest.mark.spec('runs:G1')\ndef test_a(): ...",
        "@pytest.mark.skip\n@pytest.mark.spec('runs:G1')\nclass TestA:\n    def test_a(self): ...",
        "@pytest.mark.skip\nclass TestA:\n    @pytest.mark.spec('runs:G1')\n    def test_a(self): ...",
    ],
)
def test_a_marker_that_proves_nothing_does_not_count(tmp_path: Path, write: Write, source: str) -> None:
    write("tests/test_a.py", f"import pytest\n{source}\n")

    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("@pytest.mark.spec('runs:G1')\ndef helper(): ...", "is not a test"),
        ("pytestmark = pytest.mark.spec('runs:G1')", "is not a test"),
        ("@pytest.mark.spec('runs:G1')\nclass Helper:\n    def help(self): ...", "is not a test"),
        ("@pytest.mark.spec(f'runs:{1}')\ndef test_a(): ...", "is not a plain string"),
        ("@pytest.mark.spec(*NAMES)\ndef test_a(): ...", "is not a plain string"),
        ("@pytest.mark.spec(7)\ndef test_a(): ...", "is not a plain string"),
        ("@pytest.mark.spec()\ndef test_a(): ...", "takes one or more names"),
        ("@pytest.mark.spec(name='runs:G1')\ndef test_a(): ...", "takes one or more names"),
        ("def test_a(:", "cannot be read"),
    ],
)
def test_a_marker_that_cannot_be_read_is_an_error(tmp_path: Path, write: Write, source: str, message: str) -> None:
    write("tests/test_a.py", f"import pytest\n{source}\n")

    markers, problems = report.collect_markers(tmp_path)

    assert markers == []
    assert [message in problem.message for problem in problems] == [True]


def test_the_summary_is_aligned_and_coloured_only_on_request(tmp_path: Path, write: Write) -> None:
    coverages = report.build_report(tmp_path).coverages

    plain = report.summarise(coverages, colour=False)
    coloured = report.summarise(coverages, colour=True)

    heads = [line for line in plain.splitlines() if "demands" in line]
    assert len(heads) == 6
    assert len({line.index("tested") for line in heads}) == 1
    assert "\033" not in plain
    assert coloured.replace("\033[31m", "").replace("\033[0m", "") == plain

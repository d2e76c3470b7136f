"""Which numbered demands of the specification does a test name, and which does none?

Markers are read from the syntax tree, so nothing is imported and no database is needed:

    @pytest.mark.spec("runs:P2.9", "invariants:I-17")   on a test, a test class, a `pytest.param`,
                                                        or as `pytestmark` of a class or module

A test that is skipped or expected to fail proves nothing, so its markers do not count.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
MODELS = ("runs", "graphs", "pipelines", "signals")
TESTS = "tests"
UNPROVEN = frozenset({"skip", "xfail"})
WIDTH = 100

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Demand(NamedTuple):
    number: str
    text: str = ""
    instead: str = ""


class Marker(NamedTuple):
    name: str  # "runs:P2.9"
    place: str  # "tests/unit/test_claims.py:12 test_two_claimers"


class Problem(NamedTuple):
    place: str
    message: str


class Coverage(NamedTuple):
    model: str
    tested: list[Demand]
    superseded: list[Demand]
    missing: list[Demand]

    @property
    def total(self) -> int:
        return len(self.tested) + len(self.superseded) + len(self.missing)


class Report(NamedTuple):
    coverages: list[Coverage]
    markers: list[Marker]
    problems: list[Problem]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; 1 if a marker names nothing, or cannot be read."""
    parser = argparse.ArgumentParser(description="Report which numbered demands are named by a test.")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument("--missing", metavar="MODEL", help="spell out what one model still lacks")
    parser.add_argument("--root", type=Path, default=REPOSITORY, help="the tree to read (default: this repository)")
    options = parser.parse_args(arguments)

    report = build_report(options.root)
    known = [coverage.model for coverage in report.coverages]
    if options.missing is not None and options.missing not in known:
        parser.error(f"no list named {options.missing!r}; there are {', '.join(known)}")

    if options.json:
        print(json.dumps(as_json(report), indent=2, ensure_ascii=False))
    elif options.missing is not None:
        print("\n".join(spell_out(coverage) for coverage in report.coverages if coverage.model == options.missing))
    else:
        print(summarise(report.coverages, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
    if not options.json:
        for problem in report.problems:
            print(f"error: {problem.place}: {problem.message}", file=sys.stderr)
    return 1 if report.problems else 0


def build_report(root: Path) -> Report:
    """Compare the lists of one tree with the markers of its tests."""
    lists = load_lists(root / "tests" / "spec")
    markers, problems = collect_markers(root)
    known = {f"{model}:{demand.number}" for model, demands in lists.items() for demand in demands}
    unknown = [marker for marker in markers if marker.name not in known]
    problems += [Problem(marker.place, unknown_name(marker.name, lists)) for marker in unknown]
    named = {marker.name for marker in markers}
    return Report([cover(model, demands, named) for model, demands in lists.items()], markers, problems)


def load_lists(folder: Path) -> dict[str, list[Demand]]:
    """Read the four lists, and count out the two catalogues that are numbered without a list."""
    lists = {model: load_list(folder / f"{model}.toml") for model in MODELS}
    lists["invariants"] = [Demand(f"I-{number:02}") for number in range(1, 66)]
    bad_inputs = [Demand(str(number)) for number in range(1, 106)]
    attacks = [Demand(f"S-{number:02}") for number in range(1, 43)]
    lists["security"] = bad_inputs + attacks
    return lists


def load_list(path: Path) -> list[Demand]:
    """Read one list; an entry has a number, a text and sometimes an `instead`, nothing else."""
    with path.open("rb") as file:
        return [Demand(**entry) for entry in tomllib.load(file)["demand"]]


def cover(model: str, demands: Iterable[Demand], named: set[str]) -> Coverage:
    coverage = Coverage(model, [], [], [])
    for demand in demands:
        if f"{model}:{demand.number}" not in named:
            coverage.missing.append(demand)
        elif demand.instead:
            coverage.superseded.append(demand)
        else:
            coverage.tested.append(demand)
    return coverage


def unknown_name(name: str, lists: Mapping[str, list[Demand]]) -> str:
    model, colon, number = name.partition(":")
    if not colon or model not in lists:
        return f"{name!r} names no list; write <list>:<number> with one of {', '.join(lists)}"
    return f"{name!r}: {model} has no number {number!r}"


# -- markers ---------------------------------------------------------------------------------


def collect_markers(root: Path) -> tuple[list[Marker], list[Problem]]:
    markers: list[Marker] = []
    problems: list[Problem] = []
    for path in sorted((root / TESTS).rglob("*.py")):
        name = path.relative_to(root).as_posix()
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            problems.append(Problem(name, f"cannot be read: {error}"))
            continue
        module = Module(name, tree)
        markers += module.markers
        problems += module.problems
    return markers, problems


class Module:
    """The markers of one file, each with the test that carries it."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.markers: list[Marker] = []
        self.problems: list[Problem] = []
        self._name = name
        self._aliases = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and is_mark(node.value, "spec")
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self._visit_scope(tree, owner="module", unproven=False)

    def _visit_scope(self, scope: ast.Module | ast.ClassDef, *, owner: str, unproven: bool) -> None:
        unproven = unproven or any(is_unproven(expression) for expression in own_marks(scope))
        own: list[ast.AST] = list(scope.decorator_list) if isinstance(scope, ast.ClassDef) else []
        for node in scope.body:
            if isinstance(node, ast.ClassDef):
                self._visit_scope(node, owner=node.name, unproven=unproven)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._record([node], owner=node.name, unproven=unproven, is_test=is_test(node))
            else:
                own.append(node)
        self._record(own, owner=owner, unproven=unproven, is_test=self._holds_tests(scope))

    def _record(self, nodes: Iterable[ast.AST], *, owner: str, unproven: bool, is_test: bool) -> None:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(is_unproven, node.decorator_list)):
                continue
            for call in self._calls(node):
                place = f"{self._name}:{call.lineno} {owner}"
                if not is_test:
                    self.problems.append(Problem(place, "carries a spec marker and is not a test"))
                elif not unproven:
                    self._read(call, place=place)

    def _read(self, call: ast.Call, *, place: str) -> None:
        if call.keywords or not call.args:
            self.problems.append(Problem(place, "a spec marker takes one or more names and nothing else"))
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                self.markers.append(Marker(argument.value, place))
            else:
                self.problems.append(Problem(place, f"{ast.unparse(argument)} is not a plain string"))

    def _calls(self, node: ast.AST) -> Iterator[ast.Call]:
        for found in ast.walk(node):
            if isinstance(found, ast.Call):
                is_alias = isinstance(found.func, ast.Name) and found.func.id in self._aliases
                if is_alias or is_mark(found.func, "spec"):
                    yield found

    def _holds_tests(self, scope: ast.Module | ast.ClassDef) -> bool:
        if isinstance(scope, ast.ClassDef) and scope.bases:
            return True  # the tests may be inherited, as in a state machine
        return any(
            self._holds_tests(node) if isinstance(node, ast.ClassDef) else is_test(node)
            for node in scope.body
            if isinstance(node, Definition)
        )


def is_test(node: Definition) -> bool:
    return node.name.startswith("test")


def is_mark(node: ast.AST, name: str) -> bool:
    """Whether this is `pytest.mark.<name>`, or `mark.<name>` after `from pytest import mark`."""
    if not (isinstance(node, ast.Attribute) and node.attr == name):
        return False
    owner = node.value
    return (owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", None)) == "mark"


def is_unproven(expression: ast.expr) -> bool:
    """Whether this mark, or list of marks, skips its test or expects it to fail."""
    if isinstance(expression, ast.List | ast.Tuple):
        return any(map(is_unproven, expression.elts))
    mark = expression.func if isinstance(expression, ast.Call) else expression
    return any(is_mark(mark, name) for name in UNPROVEN)


def own_marks(scope: ast.Module | ast.ClassDef) -> Iterator[ast.expr]:
    if isinstance(scope, ast.ClassDef):
        yield from scope.decorator_list
    for node in scope.body:
        if isinstance(node, ast.Assign) and "pytestmark" in map(ast.unparse, node.targets):
            yield node.value


# -- output ----------------------------------------------------------------------------------


def summarise(coverages: Sequence[Coverage], *, colour: bool) -> str:
    """One aligned line of counts per list, followed by the missing numbers folded into ranges."""
    table = [
        (
            f"{coverage.model}:",
            f"{coverage.total} demands,",
            f"{len(coverage.tested)} tested,",
            f"{len(coverage.superseded)} superseded,",
            f"{len(coverage.missing)} missing",
        )
        for coverage in coverages
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines: list[str] = []
    for coverage, row in zip(coverages, table, strict=True):
        head, *counts = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        line = " ".join([row[0].ljust(len(head)), *counts])
        if colour:
            line = f"\033[{31 if coverage.missing else 32}m{line}\033[0m"
        lines.append(line)
        lines += wrap(fold([demand.number for demand in coverage.missing]), indent=widths[0] + 1)
    return "\n".join(lines)


def spell_out(coverage: Coverage) -> str:
    """Each missing number with the sentence a test has to prove."""
    width = max((len(demand.number) for demand in coverage.missing), default=0)
    lines = [f"{coverage.model}: {len(coverage.missing)} of {coverage.total} missing"]
    lines += [f"  {demand.number:<{width}}  {demand.instead or demand.text}".rstrip() for demand in coverage.missing]
    return "\n".join(lines)


def as_json(report: Report) -> dict[str, object]:
    places: dict[str, list[str]] = {}
    for marker in report.markers:
        places.setdefault(marker.name, []).append(marker.place)
    return {
        "lists": {
            coverage.model: {
                "total": coverage.total,
                "tested": [demand.number for demand in coverage.tested],
                "superseded": [demand.number for demand in coverage.superseded],
                "missing": [demand.number for demand in coverage.missing],
            }
            for coverage in report.coverages
        },
        "tests": places,
        "errors": [problem._asdict() for problem in report.problems],
    }


def fold(numbers: Iterable[str]) -> list[str]:
    """Write neighbours as one range: P2.1, P2.2, P2.3, V1 become P2.1..P2.3, V1."""

    def line_of(item: tuple[int, str]) -> tuple[str, int]:
        position, number = item
        prefix, digits = split_number(number)
        return prefix, digits - position  # constant along a run of neighbours

    folded: list[str] = []
    for _, group in groupby(enumerate(numbers), key=line_of):
        members = [number for _, number in group]
        folded += members if len(members) < 3 else [f"{members[0]}..{members[-1]}"]
    return folded


def split_number(number: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.*?)(\d+)", number)
    return (match[1], int(match[2])) if match else (number, 0)


def wrap(words: Iterable[str], *, indent: int) -> list[str]:
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(" " * indent + word)
    return lines


if __name__ == "__main__":
    sys.exit(main())

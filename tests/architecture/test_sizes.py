"""Is every file and every class small enough to be read in one go?"""

from __future__ import annotations

from tests.architecture.shape import crowded_classes, too_long, wide_classes
from tests.architecture.source import PACKAGE, File, all_files, python_files

SOURCE_LINES, TEST_LINES, PUBLIC_METHODS = 400, 600, 12
# From the thirtieth on, CPython 3.11 gives each object a dictionary of its own: 1.3 kB more, and slower to read.
ATTRIBUTES = 29

# path: why it may be longer
LONG_FILES: dict[str, str] = {}

# path:class: why it may have more public methods
CROWDED_CLASSES: dict[str, str] = {}

# path:class: why its objects may have a dictionary each
WIDE_CLASSES = {"src/windlass/store/base.py:Tx": "there is one for each transaction, and not for each run"}


def test_files_are_short() -> None:
    code = [file for file in all_files() if file.path.endswith((".py", ".sql"))]
    limits = {"src/": SOURCE_LINES, "tests/": TEST_LINES, "tools/": SOURCE_LINES, "bench/": SOURCE_LINES}

    found = {
        file.path: complaint
        for file in code
        for folder, limit in limits.items()
        if file.is_under(folder)
        for complaint in too_long(file, limit=limit)
    }

    assert [complaint for path, complaint in found.items() if path not in LONG_FILES] == []
    assert sorted(LONG_FILES.keys() - found.keys()) == []  # an exception nobody needs any more


def test_classes_have_few_public_methods() -> None:
    found: dict[str, int] = {}
    for file in python_files(PACKAGE):
        found |= crowded_classes(file, limit=PUBLIC_METHODS)

    assert {name: count for name, count in found.items() if name not in CROWDED_CLASSES} == {}
    assert sorted(CROWDED_CLASSES.keys() - found.keys()) == []


def test_objects_share_the_names_of_their_attributes() -> None:
    found: dict[str, int] = {}
    for file in python_files(PACKAGE):
        found |= wide_classes(file, limit=ATTRIBUTES)

    assert {name: count for name, count in found.items() if name not in WIDE_CLASSES} == {}
    assert sorted(WIDE_CLASSES.keys() - found.keys()) == []


def test_a_class_of_thirty_attributes_is_found_unless_it_has_slots() -> None:
    def sample(count: int, slots: str = "") -> File:
        attributes = "".join(f"        self.name_{number} = None\n" for number in range(count))
        return File("src/windlass/sample.py", f"class Sample:\n{slots}    def __init__(self):\n{attributes}")

    assert wide_classes(sample(30), limit=29) == {"src/windlass/sample.py:Sample": 30}
    assert wide_classes(sample(29), limit=29) == {}
    assert wide_classes(sample(30, '    __slots__ = ("name_0",)\n'), limit=29) == {}


def test_a_long_file_is_found_and_a_generated_one_is_not() -> None:
    text = "pass\n" * 401

    assert too_long(File("src/windlass/long.py", text), limit=400) == ["src/windlass/long.py: 401 lines, 400 allowed"]
    assert too_long(File("src/windlass/short.py", "pass\n" * 400), limit=400) == []
    assert too_long(File("src/windlass/api/grpc/runs_pb2.py", text), limit=400) == []


def test_a_crowded_class_is_found() -> None:
    def sample(count: int, decorator: str = "pass") -> File:
        methods = "".join(f"    {decorator}\n    def method_{number}(self): ...\n" for number in range(count))
        return File("src/windlass/sample.py", f"class Sample:\n{methods}    def _own(self): ...\n")

    assert crowded_classes(sample(13), limit=12) == {"src/windlass/sample.py:Sample": 13}
    assert crowded_classes(sample(12), limit=12) == {}
    assert crowded_classes(sample(13, "@property"), limit=12) == {}


def test_overloads_of_one_method_count_once() -> None:
    methods = "    @overload\n    def same(self): ...\n" * 13

    assert crowded_classes(File("src/windlass/sample.py", f"class Sample:\n{methods}"), limit=12) == {}

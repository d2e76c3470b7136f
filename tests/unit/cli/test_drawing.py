"""Does the drawing of a graph tell who needs whom, at any width, to somebody who follows its lines?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from windlass.cli.drawing import Label, draw
from windlass.cli.terminal import ASCII, UNICODE, Glyphs
from windlass.rules.layout import layout

RELEASE = {
    "lint": [],
    "fetch": [],
    "test[3.11]": ["lint"],
    "test[3.12]": ["lint"],
    "docs": ["fetch"],
    "publish": ["test[3.11]", "test[3.12]", "docs"],
    "tidy": ["publish", "fetch"],
}


def drawn(
    needs: Mapping[str, Sequence[str]],
    *,
    width: int = 80,
    glyphs: Glyphs = UNICODE,
    is_full: bool = False,
    fold: Mapping[str, str] | None = None,
    over: int = 0,
) -> list[str]:
    """The lines of a picture; the first `over` jobs are over."""
    found = layout(needs, fold=fold)
    labels = {
        node.name: Label(
            sign=glyphs.completed,
            name=node.name + (f" {glyphs.times}{len(node.members)}" if node.members else ""),
            style="green",
            more=f": {len(node.members)} {glyphs.completed}" if node.members else "",
            is_over=place < over,
        )
        for place, node in enumerate(found.nodes)
    }
    return [line.plain for line in draw(found, labels, width=width, glyphs=glyphs, is_full=is_full)]


def test_lines_lead_from_what_is_needed_to_what_needs_it() -> None:
    assert drawn(RELEASE) == [
        "✓ fetch ───┬──────────────────────────────┐",
        "✓ lint ──┐ └─ ✓ docs ───────┐             ├─ ✓ tidy",
        "         ├─── ✓ test[3.11] ─┼─ ✓ publish ─┘",
        "         └─── ✓ test[3.12] ─┘",
    ]


def test_a_terminal_without_line_signs_gets_plain_ones() -> None:
    lines = drawn(RELEASE, glyphs=ASCII)

    assert "".join(lines).isascii()
    assert lines[0].startswith("+ fetch -")


def test_a_line_that_only_crosses_another_passes_under_it() -> None:
    assert drawn({"a": [], "b": [], "c": ["a"], "d": ["b"], "e": ["c", "b"], "f": ["d", "a"]}) == [
        "✓ a ───┬─────────┐",
        "✓ b ─┐ └─ ✓ c ─┬─│─ ✓ e",
        "     ├─────────┘ ├─ ✓ f",
        "     └─── ✓ d ───┘",
    ]


def test_where_lines_could_be_followed_to_the_wrong_job_words_say_what_it_needs() -> None:
    lines = drawn({"a": [], "b": [], "c": ["a", "b"], "d": ["a", "b"], "e": ["a"], "f": ["b"]})

    assert lines[-2:] == ["e is after a", "f is after b"]


def test_many_that_are_shown_as_one_are_counted_beside_it_or_below() -> None:
    needs = {"plan": [], **{f"shard-{n}": ["plan"] for n in range(128)}, "report": [f"shard-{n}" for n in range(128)]}
    fold = {f"shard-{n}": "shards" for n in range(128)}

    assert drawn(needs, fold=fold) == ["✓ plan ── ✓ shards ×128: 128 ✓ ── ✓ report"]
    assert drawn(needs, fold=fold, width=40) == ["✓ plan ── ✓ shards ×128 ── ✓ report", "shards ×128: 128 ✓"]


def test_long_names_are_cut_before_the_picture_is_given_up() -> None:
    needs = {"a" * 40: [], "b" * 40: ["a" * 40]}

    (line,) = drawn(needs, width=60)

    assert re.fullmatch("✓ a{23}… ── ✓ b{23}…", line)


def test_what_is_too_deep_for_a_picture_is_listed_layer_by_layer() -> None:
    assert drawn({f"job-{n}": [f"job-{n - 1}"] if n else [] for n in range(20)}, width=60)[:3] == [
        " 1  ✓ job-0",
        " 2  ✓ job-1   after job-0",
        " 3  ✓ job-2   after job-1",
    ]


def test_of_a_long_list_the_part_is_shown_at_which_something_goes_on() -> None:
    chain = {f"job-{n}": [f"job-{n - 1}"] if n else [] for n in range(1_000)}

    lines = drawn(chain, over=500)

    assert (lines[0], lines[-1]) == ("… 490 more above (--full)", "… 470 more below (--full)")
    assert any("job-500 " in line for line in lines)
    assert len(drawn(chain, over=500, is_full=True)) == 1_000


def test_a_very_large_graph_is_listed_without_trying_a_picture() -> None:
    fan = {"a": [], **{f"n{n}": ["a"] for n in range(9_998)}, "z": [f"n{n}" for n in range(9_998)]}
    ladder = {f"n{n}": sorted({"n0", f"n{n - 1}"}) if n else [] for n in range(2_000)}

    assert len(drawn(fan)) == len(drawn(ladder)) == 41
    assert len(drawn(fan, is_full=True)) == 10_000


@pytest.mark.parametrize("width", [60, 80, 120])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_reader_finds_exactly_the_needs_and_no_line_is_too_long(width: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, 12))
    needs = {
        f"n{n}.": sorted(f"n{up}." for up in data.draw(st.sets(st.integers(0, n - 1), max_size=3)) if n) if n else []
        for n in range(number)
    }

    lines = drawn(needs, width=width)

    assert max(cell_len(line) for line in lines) <= width
    assert told(lines, needs) == {name: set(upstreams) for name, upstreams in needs.items()}


# A reader of pictures and lists

OPEN = {
    "─": "lr",
    "┬": "lrd",
    "┴": "lru",
    "┼": "lrud",
    "├": "rud",
    "┤": "lud",
    "┐": "ld",
    "┘": "lu",
    "┌": "rd",
    "└": "ru",
}
STEPS = {"r": (0, 1), "u": (-1, 0), "d": (1, 0)}
BACK = {"r": "l", "u": "d", "d": "u"}


def told(lines: Sequence[str], needs: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    if lines[0].lstrip().startswith("1  "):
        return told_by_list(lines)
    in_words = {line.split(" is after ")[0]: names(line.split(" is after ")[1]) for line in lines if " after " in line}
    picture = [line for line in lines if " after " not in line]
    ends = {(row, match.start()): match.group(1) for row, line in enumerate(picture) for match in labels_in(line)}
    found: dict[str, set[str]] = {name: set() for name in needs}
    for row, line in enumerate(picture):
        for match in labels_in(line):
            for target in follow(picture, row, match.end() + 1, ends):
                found[target].add(match.group(1))
    return {**found, **in_words}


def told_by_list(lines: Sequence[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in lines:
        head, _, after = line.partition("  after ")
        found[head.split("✓ ")[1].strip()] = names(after)
    return found


def names(text: str) -> set[str]:
    return set(re.findall(r"n\d+\.", text))


def labels_in(line: str) -> list[re.Match[str]]:
    return list(re.finditer(r"✓ (n\d+\.)", line))


def follow(picture: Sequence[str], row: int, column: int, ends: Mapping[tuple[int, int], str]) -> set[str]:
    """The labels to which the line behind a label leads, going to the right, up and down."""
    found: set[str] = set()
    seen: set[tuple[int, int, str]] = set()
    ways = [(row, column, "r")]
    while ways:
        way = ways.pop()
        row, column, heading = way
        sign = picture[row][column] if column < len(picture[row]) else " "
        if way in seen:
            continue
        seen.add(way)
        if (row, column + 1) in ends and sign == " " and heading == "r":
            found.add(ends[row, column + 1])
        sides = heading if sign == "│" else OPEN.get(sign, "")
        for side in set(sides) - {BACK[heading], "l"}:
            down, right = STEPS[side]
            ways.append((row + down, column + right, side))
    return found

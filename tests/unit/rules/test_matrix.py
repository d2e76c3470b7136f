"""Which jobs does a matrix stand for, and which matrices are refused?"""

from __future__ import annotations

from typing import Any

import pytest

from windlass.errors import InvalidInput
from windlass.rules.matrix import MOST_COMBINATIONS, combinations, label


def labels(matrix: Any, **around: Any) -> list[str]:
    return [label(values) for values in combinations(matrix, **around)]


def refusal(matrix: Any, **around: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        combinations(matrix, **around)
    assert "\n" not in str(caught.value)
    return caught.value


def test_every_value_of_one_axis_meets_every_value_of_the_other() -> None:
    found = combinations({"py": ["3.11", "3.12"], "os": ["linux", "mac"]})

    assert found == [
        {"py": "3.11", "os": "linux"},
        {"py": "3.11", "os": "mac"},
        {"py": "3.12", "os": "linux"},
        {"py": "3.12", "os": "mac"},
    ]


def test_a_label_has_the_values_in_the_order_of_the_axes() -> None:
    assert labels({"py": ["3.11"], "os": ["linux"], "n": [1, 2.5, True]}) == [
        "3.11-linux-1",
        "3.11-linux-2.5",
        "3.11-linux-True",
    ]


def test_exclude_leaves_out_what_agrees_with_all_that_it_says() -> None:
    matrix = {"py": ["3.11", "3.12"], "os": ["linux", "mac"]}

    assert labels(matrix, exclude=[{"py": "3.11", "os": "mac"}]) == ["3.11-linux", "3.12-linux", "3.12-mac"]
    assert labels(matrix, exclude=[{"os": "mac"}]) == ["3.11-linux", "3.12-linux"]


def test_true_is_another_value_than_one() -> None:
    assert labels({"x": [True, 0]}, exclude=[{"x": 1}]) == ["True", "0"]
    assert labels({"x": [True, 0]}, exclude=[{"x": True}]) == ["0"]


def test_include_appends_whole_combinations_after_what_is_excluded() -> None:
    found = combinations(
        {"py": ["3.11"], "os": ["linux", "mac"]},
        exclude=[{"os": "mac"}],
        include=[{"os": "mac", "py": "3.14"}, {"py": "3.11", "os": "mac"}],
    )

    assert found == [
        {"py": "3.11", "os": "linux"},
        {"py": "3.14", "os": "mac"},
        {"py": "3.11", "os": "mac"},
    ]
    assert [label(values) for values in found] == ["3.11-linux", "3.14-mac", "3.11-mac"]


@pytest.mark.spec("security:70")
@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ({}, "axes were expected"),
        (["3.11"], "axes were expected"),
        (None, "axes were expected"),
        ({"py": []}, "axis 'py' is empty"),
        ({"py": ["3.11"], "os": ()}, "axis 'os' is empty"),
        ({"py": "3.11"}, "axis 'py' must be a list"),
        ({"py": {"3.11"}}, "axis 'py' must be a list"),
        ({"py": 7}, "axis 'py' must be a list"),
        ({7: ["3.11"]}, "must be a text, not 7"),
        ({"": ["3.11"]}, "must be a text"),
        ({"py": [None]}, "axis 'py' has the value None"),
        ({"py": [["3.11"]]}, "axis 'py' has the value"),
        ({"py": [" "]}, "axis 'py' has the value ' '"),
        ({"py": ["a]"]}, "without brackets"),
        ({"py": ["a\n"]}, "printable"),
        ({"py": [float("nan")]}, "finite"),
        ({"py": [float("inf")]}, "finite"),
        ({"py": [10**5_000]}, "64 bits"),
        ({"py": ["3.11", "3.11"]}, "axis 'py' has '3.11' twice"),
        ({"py": [1, "1"]}, "axis 'py' has '1' twice"),
    ],
)
def test_an_axis_that_cannot_be_is_refused_by_its_name(matrix: Any, said: str) -> None:
    found = refusal(matrix)

    assert found.reason == "invalid_matrix"
    assert said in str(found)


@pytest.mark.spec("security:70")
def test_a_matrix_of_which_nothing_is_left_is_refused() -> None:
    found = refusal({"py": ["3.11"]}, exclude=[{"py": "3.11"}])

    assert (found.reason, found.path) == ("invalid_matrix", "exclude")
    assert labels({"py": ["3.11"]}, exclude=[{"py": "3.11"}], include=[{"py": "3.12"}]) == ["3.12"]


@pytest.mark.spec("security:70")
def test_a_matrix_has_at_most_so_many_combinations() -> None:
    sixteen = list(range(16))

    assert len(combinations({"a": sixteen, "b": sixteen})) == MOST_COMBINATIONS
    assert refusal({"a": sixteen, "b": list(range(17))}).reason == "too_many"
    assert refusal({"a": sixteen, "b": sixteen}, include=[{"a": 99, "b": 0}]).reason == "too_many"


@pytest.mark.spec("security:70")
def test_what_is_excluded_does_not_count() -> None:
    matrix = {"a": list(range(16)), "b": list(range(17))}

    assert len(combinations(matrix, exclude=[{"b": 16}])) == MOST_COMBINATIONS
    assert refusal(matrix, exclude=[{"a": 0, "b": 0}]).reason == "too_many"


class Endless(list[int]):
    """Longer than anything could go through, and says so."""

    def __len__(self) -> int:
        return 10**9

    def __iter__(self) -> Any:
        raise AssertionError("a matrix of this size is not to be built")


@pytest.mark.spec("security:70")
@pytest.mark.parametrize("exclude", [[], [{"a": 1}]])
def test_a_matrix_of_billions_is_refused_by_the_sizes_of_its_axes(exclude: list[dict[str, int]]) -> None:
    found = refusal({"a": Endless(), "b": [1, 2]}, exclude=exclude)

    assert found.reason == "too_many"
    assert "1,000,000,000 ('a') × 2 ('b')" in str(found)


@pytest.mark.parametrize("what", ["include", "exclude"])
@pytest.mark.parametrize("entries", [[{"yp": "3.11"}], [{}], ["py"], "py", {"py": "3.11"}, [{"py": None}], [{7: 7}]])
def test_entries_that_fit_no_axis_are_refused(what: str, entries: Any) -> None:
    assert refusal({"py": ["3.11", "3.12"]}, **{what: entries}).reason == "invalid_matrix"


def test_an_entry_that_names_an_unknown_axis_is_told_which_there_are() -> None:
    assert "names axis 'yp'; there is 'py', 'os'" in str(
        refusal({"py": ["3.11"], "os": ["linux"]}, exclude=[{"yp": "3.11"}])
    )


def test_what_is_included_has_a_value_for_every_axis() -> None:
    found = refusal({"py": ["3.11"], "os": ["linux"]}, include=[{"py": "3.12"}])

    assert "without a value for axis 'os'" in str(found)


def test_two_combinations_with_one_label_are_refused() -> None:
    found = refusal({"a": ["x-y", "x"], "b": ["z", "y-z"], "c": [1]})

    assert found.reason == "invalid_matrix"
    assert "'x-y-z-1'; change a value of axis 'a', 'b'" in str(found)
    assert "'3.11'" in str(refusal({"py": ["3.11"]}, include=[{"py": "3.11"}]))

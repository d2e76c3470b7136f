"""Does a workflow say how long its runs are kept, and only what can be?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from windlass import Context, InvalidInput
from windlass.define.registry import Registry
from windlass.model.time import DAY, SECOND


async def order(ctx: Context) -> None: ...


async def refund(ctx: Context) -> None: ...


@pytest.mark.parametrize(("keep", "expected"), [("30d", 30 * DAY), (1, SECOND), (timedelta(days=3650), 3650 * DAY)])
def test_the_time_is_read_as_any_other(keep: Any, expected: int) -> None:
    registry = Registry()

    registry.declare_workflow(order, keep=keep)
    registry.declare_workflow(refund)

    assert registry.kept() == {"order": expected, "refund": None}


def test_of_several_versions_the_longest_counts() -> None:
    registry = Registry()
    for version, keep in (("1", "2d"), ("2", None), ("3", "7d"), ("4", "1d")):
        registry.declare_workflow(order, version=version, keep=keep)

    assert registry.kept() == {"order": 7 * DAY}


@pytest.mark.parametrize("keep", [0, "0s", "500ms", -1, "11y", "3654d", float("nan"), True, "forever", [], 10**30])
def test_a_time_that_cannot_be_is_refused_where_it_is_written(keep: Any) -> None:
    with pytest.raises(InvalidInput, match="Invalid keep"):
        Registry().declare_workflow(order, keep=keep)

"""Which runs may be tried again, and from where?"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.unit.rules.test_runs import run_of
from windlass.errors import NotFound, WrongState
from windlass.model.run import RunStatus
from windlass.rules import retries_of_runs as rules

PLACES = {"fetch": 0, "pack#2": 2, "pack": 1, "open": None}
RETRIED = {RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.PAUSED}


@pytest.mark.parametrize("status", sorted(RETRIED))
def test_what_stopped_before_its_end_may_be_tried_again(status: RunStatus) -> None:
    rules.check_retry(run_of(status))


@pytest.mark.parametrize("status", sorted({*RunStatus} - RETRIED))
def test_what_goes_on_or_is_done_may_not(status: RunStatus) -> None:
    with pytest.raises(WrongState, match=f"run_7 is {status.value}; one that failed, was cancelled or is paused"):
        rules.check_retry(replace(run_of(status), id="run_7"))


@pytest.mark.parametrize(
    ("from_step", "before"), [(None, None), ("fetch", 0), ("pack", 1), ("pack#2", 2), ("open", None)]
)
def test_everything_from_the_place_of_the_step_on_is_done_again(from_step: str | None, before: int | None) -> None:
    assert rules.kept_before(PLACES, from_step) == before


def test_an_unknown_step_is_answered_with_those_that_look_alike() -> None:
    with pytest.raises(NotFound) as caught:
        rules.kept_before(PLACES, "pakc")

    assert (caught.value.kind, caught.value.close) == ("Step", ("pack", "pack#2"))

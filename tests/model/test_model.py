"""Do SQLite, PostgreSQL and a few dictionaries agree on every answer and every row, whatever happens to them?"""

from __future__ import annotations

import secrets

import pytest

from tests.model.author import Author
from tests.model.story import Tally, make_up
from tests.model.subject import Stores
from tests.scale import SCALE

STORIES, LONGEST = 70 * SCALE, 40
# `make test` tells the same stories each time, `make torture` new ones.
SEED = 1 if SCALE == 1 else secrets.randbits(32)


STEERED = (
    *("suspend_run", "send_event", "decide", "pause_run", "resume_run", "cancel_run", "retry_run", "set_gate"),
    *("put_schedule", "fire_schedules", "trigger_schedule", "pause_schedule", "resume_schedule"),
)


@pytest.mark.spec("invariants:I-60", "invariants:I-12", "invariants:I-16", "invariants:I-17")
@pytest.mark.spec("invariants:I-18", "invariants:I-20", "invariants:I-21", "invariants:I-55")
@pytest.mark.spec("invariants:I-13", "invariants:I-14", "invariants:I-24")
@pytest.mark.spec("invariants:I-50", "invariants:I-51", "invariants:I-53", "invariants:I-54")
def test_both_databases_do_what_the_reference_says(stores: Stores, figures: list[str]) -> None:
    """Of I-55: a clock that is set back or forward moves no end of a claim and no time to wake, and a run is given out
    when the clock has reached them, not before; no slot is fired twice, and what lies in a jump was missed.
    """
    tally = Tally()
    for number in range(1, STORIES + 1):
        length = LONGEST * (1 + number % 4) // 4
        try:
            make_up(Author(f"{SEED} {number}"), stores, length=length, tally=tally)
        except Exception as error:
            error.add_note(f"Made up from seed {SEED}, story {number}.")
            raise

    figures.append(
        f"both        stories told as the reference tells them {tally.stories:,} of {STORIES:,}, seed {SEED}: "
        f"{tally.operations:,} operations, {tally.crashes:,} crashes ({tally.inside:,} inside a transaction), "
        f"{tally.jumps:,} clock jumps ({tally.back:,} back)"
    )
    figures.append(
        f"both        answers as the reference gives them {tally.answers:,} of {tally.answers:,}, "
        f"refusals among them {tally.refusals:,}"
    )
    assert tally.stories == STORIES
    # Else it would prove little.
    assert min(tally.inside, tally.back, tally.refusals) > STORIES // 3
    assert min(tally.done[name] for name in STEERED) > STORIES // 20, tally.done

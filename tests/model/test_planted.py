"""Would the model test see a bug? Each one planted here is found, told in a few words, and told again as a test."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lives.faults import Moment
from tests.model import operations as do
from tests.model.author import Author
from tests.model.planted import (
    AsksForEverything,
    AsksForNoToken,
    CancelsAlone,
    CopiesFailures,
    CountsNoChild,
    EndsOutOfTurn,
    EndsUnnoticed,
    IgnoresExpiry,
    IgnoresGates,
    IgnoresTheInbox,
    PlantedRecovery,
    RenewsBackwards,
    SendsQuietly,
    SendsTwice,
    ServesNoQueue,
    with_bug,
)
from tests.model.shrink import Difference
from tests.model.story import make_up, tell
from tests.model.subject import Stores, Subject, stores_in

STORIES, LENGTH = 200, 25  # at most, until the bug is met
FEW = 6  # operations that tell of it


WRAPPED = (
    RenewsBackwards,
    AsksForNoToken,
    ServesNoQueue,
    IgnoresGates,
    IgnoresExpiry,
    IgnoresTheInbox,
    SendsQuietly,
    SendsTwice,
    EndsUnnoticed,
    CountsNoChild,
    CancelsAlone,
    CopiesFailures,
    EndsOutOfTurn,
    AsksForEverything,
)
BUGS: list[tuple[type[Subject], tuple[str, ...]]] = [
    *((with_bug(wrapped), wrapped.about) for wrapped in WRAPPED),
    (PlantedRecovery, ()),
]


@pytest.fixture(scope="module")
def sqlite(memory: Path) -> Iterator[Stores]:
    with stores_in(memory / "alone") as found:
        yield found


@pytest.mark.spec("invariants:I-60")
@pytest.mark.parametrize(("kind", "about"), BUGS, ids=[kind.__name__ for kind, _ in BUGS])
def test_a_planted_bug_is_found_and_told_as_a_short_test(
    kind: type[Subject], about: tuple[str, ...], sqlite: Stores
) -> None:
    with pytest.raises(Difference) as caught:
        for number in range(STORIES):
            make_up(Author(f"a bug {number}", about=about), sqlite, length=LENGTH, kind=kind)
    found = caught.value
    assert len(found.story) <= FEW, str(found)

    text = str(found).partition("test_found.py:\n\n")[2]
    printed: dict[str, Any] = {
        "do": do,
        "Moment": Moment,
        "Stores": Stores,
        "tell": functools.partial(tell, kind=kind),
    }
    exec(text, printed)
    (test,) = [value for name, value in printed.items() if name.startswith("test_story_")]
    with pytest.raises(Difference) as again:
        test(sqlite)
    assert str(again.value) == str(found)

    tell(found.story, sqlite)  # and without the bug nothing is wrong with it

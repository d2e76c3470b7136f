"""Is the one meant found that begins like this, whichever letters its id has?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some

from windlass.cli.ids import LETTERS, IdKind
from windlass.errors import InvalidInput, NotFound

RUN = IdKind(prefix="run_", noun="run")
IDS = some.text(LETTERS[:3] + LETTERS[-3:], min_size=26, max_size=26).map("run_{}".format)


def find(ids: Sequence[str], text: str) -> str:
    """As a server lists: backwards from a whole id, which is itself left out."""

    async def list_before(id: str | None, limit: int) -> Sequence[str]:
        assert id is None or (len(id) == len(ids[0]) and RUN.is_meant(id))
        return [known for known in sorted(ids, reverse=True) if id is None or known < id][:limit]

    return asyncio.run(RUN.find(text, list_before=list_before))


@given(ids=some.lists(IDS, min_size=1, max_size=40, unique=True), length=some.integers(5, 30), data=some.data())
def test_the_one_that_begins_like_this_is_found_among_all(ids: list[str], length: int, data: some.DataObject) -> None:
    text = data.draw(some.sampled_from(ids))[:length]
    alike = [id for id in ids if id.startswith(text)]

    if len(alike) == 1:
        assert find(ids, text) == alike[0]
    else:
        with pytest.raises(InvalidInput, match=f"Several runs begin with '{text}'"):
            find(ids, text)


@pytest.mark.parametrize("text", ["run_1", "run_Z", "run_0Z"])
def test_what_nothing_begins_with_is_not_found(text: str) -> None:
    with pytest.raises(NotFound, match=text):
        find(["run_" + "0" * 26], text)

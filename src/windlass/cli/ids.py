"""Which run, work item or signal is meant: by its id, or by the beginning of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from windlass.errors import InvalidInput, NotFound

ID_LENGTH = 30
SHOWN_CANDIDATES = 4
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # of an id, as they sort


class IdKind(Struct, frozen=True, kw_only=True):
    """What the ids of a kind of thing look like."""

    prefix: str  # "itm_"
    noun: str  # "item"

    def is_meant(self, text: str) -> bool:
        """Does this look like one of these ids, or like the beginning of one?"""
        return re.fullmatch(f"{self.prefix}[{LETTERS}]{{1,26}}", text) is not None

    def check(self, text: str) -> str:
        """The beginning of an id; the prefix itself may be left out."""
        whole = text if text.startswith(self.prefix) else f"{self.prefix}{text}"
        if not self.is_meant(whole):
            raise InvalidInput(
                f'{text[:60]!a} is no {self.noun} id: "{self.prefix}" and 26 digits and capital letters, '
                "or the beginning of that.",
                reason="invalid_id",
                path=self.noun.upper(),
            )
        return whole

    async def find(self, text: str, *, list_before: Callable[[str | None, int], Awaitable[Sequence[str]]]) -> str:
        """The id meant. Raises NotFound, or InvalidInput naming the candidates if several begin like this.

        `list_before` answers with the ids in front of one, or all, the newest first, and at most so many.
        """
        if len(text) == ID_LENGTH:
            return text
        found = await list_before(self._behind(text), SHOWN_CANDIDATES + 1)
        candidates = [id for id in found if id.startswith(text)]
        if not candidates:
            raise NotFound(self.noun, text)
        if len(candidates) > 1:
            names = ", ".join(candidates[:SHOWN_CANDIDATES]) + (", …" if len(candidates) > SHOWN_CANDIDATES else "")
            message = f"Several {self.noun}s begin with {text!r}: {names}. Write more of the id."
            raise InvalidInput(message, reason="ambiguous_id", path=self.noun.upper())
        return candidates[0]

    def _behind(self, text: str) -> str | None:
        """The first id behind all that begin like this: a server takes whole ids only. None: nothing is behind them."""
        body = text.removeprefix(self.prefix).rstrip(LETTERS[-1])
        if not body:
            return None
        following = LETTERS[LETTERS.index(body[-1]) + 1]
        return f"{self.prefix}{body[:-1]}{following}".ljust(ID_LENGTH, LETTERS[0])

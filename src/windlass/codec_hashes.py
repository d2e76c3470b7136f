"""How many numbers a set, or the keys of a mapping, may hold when they come from outside.

Python hashes text with a secret of the process, and numbers without one: hash(n) is n modulo 2**61 - 1, and a UUID, a
Decimal and a tuple of numbers follow from that. So a sender chooses numbers that share a hash, and each of them is
compared with all before it: n²/2 comparisons. The limits keep that work in proportion to the payload.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from windlass.codec_types import Refusal

LARGE = 2**60
MOST_LARGE = 1_000
MOST_ALIKE = 100
KEYED = (int, str, bytes)  # counted by size, or hashed with the secret


def check_hashed(items: Collection[Any], *, what: str) -> None:
    """Refuse items of a set, or keys of a mapping, that would be compared with each other too often."""
    if len(items) <= MOST_ALIKE:
        return
    large = sum(1 for item in items if isinstance(item, int) and not -LARGE <= item <= LARGE)
    if large > MOST_LARGE:
        limit = f"{MOST_LARGE:,} integers beyond 2**60"
        raise Refusal("invalid_input", f"{{path}} is {what} with more than {limit}; pass them in a list, or as text")
    # Sorted and not counted in a dict: that would collide just as they do.
    hashes = sorted([hash(item) for item in items if not isinstance(item, KEYED)])
    if any(first == last for first, last in zip(hashes, hashes[MOST_ALIKE:], strict=False)):
        limit = f"{MOST_ALIKE} items of the same hash"
        raise Refusal("invalid_input", f"{{path}} is {what} with more than {limit}; pass them in a list, or as text")

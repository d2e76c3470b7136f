"""Whether what was asked over a wire kept the promises: calls that were asked again, pages that were walked.

Each checker answers with complaints; none is the pass condition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

Rows = Mapping[str, Sequence[Mapping[str, Any]]]  # of every table


def repeats_have_the_effect_of_one(once: tuple[str, Rows], again: tuple[str, Rows]) -> list[str]:
    """I-57: the answer and every row are those of a call that was made once and heard."""
    (answer, rows), (answer_again, rows_again) = once, again
    found = [] if answer == answer_again else [f"answered {answer_again}, not {answer}"]
    for table in sorted(rows.keys() | rows_again.keys()):
        wanted, there = rows.get(table, ()), rows_again.get(table, ())
        if len(wanted) != len(there):
            found.append(f"{table}: {len(there)} rows, not {len(wanted)}")
        found += [
            f"{table}: {name} is {other.get(name)!r}, not {row[name]!r}"
            for row, other in zip(wanted, there, strict=False)
            for name in row
            if row[name] != other.get(name)
        ]
    return found


def walks_are_whole(seen: Sequence[Hashable], *, throughout: Collection[Hashable]) -> list[str]:
    """I-59: whatever changed between two pages, nothing came twice, and nothing is missing that was there all along."""
    twice = [item for item, times in Counter(seen).items() if times > 1]
    missing = [item for item in throughout if item not in set(seen)]
    return [*(f"{item} came more than once" for item in twice), *(f"{item} is missing" for item in missing)]

"""How the rows of a batch travel to PostgreSQL, and how their outcomes come back: two fragments of the catalogue.

`from {given: run_id text, namespace text, token bigint} as i`   the rows, from one array for each column;
`{passed: written}`                                              when they passed, and which of them, by their key.

Both stand for another text where the batch is a single row: then it comes as plain values, which takes PostgreSQL less
to prepare for than to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

GIVEN = re.compile(r"\{given:([^{}]+)\}")
COLUMN = re.compile(r"(\w+) (\w+)")


class Column(NamedTuple):
    name: str
    type: str

    @property
    def array(self) -> str:
        return f":{self.name}::{self.type}[]"


class Shape(NamedTuple):
    given: Callable[[Sequence[Column]], str]
    passed: Callable[..., str]


def columns_of(body: str) -> list[Column]:
    """What a query names as given; nothing, if it takes no rows in arrays."""
    found = GIVEN.search(body)
    return [] if found is None else [Column(*pair) for pair in COLUMN.findall(found[1])]


def _given_many(columns: Sequence[Column]) -> str:
    """The first column is sent whole. Of the others one element is enough where it is the same for every row.

    To send, check and read the same text five hundred times costs a good part of what it costs to store it.
    """
    first, *others = columns
    arrays = ", ".join(column.array for column in columns)
    names = ", ".join(f'"{column.name}"' for column in columns)
    values = [
        f'case when cardinality({array}) = 1 then ({array})[1] else u."{name}" end as "{name}"'
        for name, array in ((column.name, column.array) for column in others)
    ]
    return f"(select u.{first.name}, {', '.join(values)} from unnest({arrays}) as u ({names}))"  # noqa: S608 - our files


def _passed_many(rows: str, *, key: Sequence[str], counted: Column) -> str:
    """A time without a key says that all of them did."""
    nothing, keys, every = ", ".join(["null"] * len(key)), ", ".join(key), f"cardinality({counted.array})"
    return (
        f"select max(at) as at, {nothing} from {rows} having count(*) = {every} union all "  # noqa: S608 - the same
        f"select at, {keys} from {rows} where (select count(*) from {rows}) < {every}"
    )


def _given_one(columns: Sequence[Column]) -> str:
    values = ", ".join(f':{column.name}::{column.type} as "{column.name}"' for column in columns)
    return f"(select {values})"


def _passed_one(rows: str, *, key: Sequence[str], counted: Column) -> str:
    return f"select at, {', '.join(key)} from {rows}"  # noqa: S608 - the same


MANY, ONE = Shape(_given_many, _passed_many), Shape(_given_one, _passed_one)

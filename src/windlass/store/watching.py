"""How a transition finds those who watch it: the fragments of sql/fragments/watching.sql, as queries name them.

`{fire:id}` is for the runs in the list :id, `{fire_one:id}` for one of them, `{fire_rows:row}` for those at these
places of the table, `{fire_entry}` for whatever subject an entry is about. `{fired:noted}`, `{fired_heard:heard}` and
`{fired_new:noted, created}` are parts of a statement, which is called `fired`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "sql" / "fragments" / "watching.sql"
NAME = re.compile(r"^-- fragment: (\w+)$", re.MULTILINE)
COMMENT = re.compile(r"^--.*$", re.MULTILINE)

INDEX = "signals_live"  # which only these fragments name
RUN, ITSELF = "'run'", "= i.value"
# What else a fragment is called, and what it is given then; {0} is the argument.
ALIASES = {
    "fire": ("fire", "json_each(:{0})", RUN, ITSELF),
    "fire_one": ("fire", "(select :{0} as value)", RUN, ITSELF),
    "fire_rows": ("fire", "{{runs_at}}", RUN, ITSELF),
    "fire_entry": ("fire", "(select :subject_id as value)", ":subject_kind", "in (i.value, '*')"),
}
PARTS = {"fired": "fire_noted", "fired_heard": "fire_heard", "fired_new": "fire_new"}


def live() -> str:
    """What finds a row where anything is live: read in the transaction that notes something."""
    return _texts()["live"]


def is_watching(text: str) -> bool:
    """Does a statement look for those who watch, and nothing else?"""
    return INDEX in text


def fragment(word: str, argument: str) -> str | None:
    """The text of a fragment, or None if it is not one of these."""
    if word in ALIASES:
        name, *given = (part.format(argument) for part in ALIASES[word])
        return _filled(name, [_filled("runs_at", [argument]) if part == "{runs_at}" else part for part in given])
    given = [part.strip() for part in argument.split(",")]
    if word in PARTS:
        return f"fired as (\n{_filled(PARTS[word], given)}\n)"
    return _filled(word, given) if word in _texts() else None


def _filled(name: str, given: list[str]) -> str:
    text = _texts()[name]
    for number, part in enumerate(given, start=1):
        text = text.replace(f"${number}", part)
    return text


@cache
def _texts() -> dict[str, str]:
    _, *parts = NAME.split(FILE.read_text(encoding="utf-8"))
    return {name: COMMENT.sub("", body).strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}

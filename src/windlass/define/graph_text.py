"""A graph as text, before it runs: its jobs in layers, each with what it needs."""

from __future__ import annotations

from collections.abc import Sequence

from windlass.define.needs import say
from windlass.define.written import Written
from windlass.model.graph import COMPLETED_ONLY, Need, NewJob
from windlass.rules.layout import layers
from windlass.rules.matrix import label

MOST_LABELS = 4


def draw(graph: str, written: Sequence[Written], jobs: Sequence[NewJob]) -> str:
    """`jobs` is what stands behind what is written, checked and expanded."""
    known = {item.job: item for item in written}
    bases = {job.name: job.matrix or job.name for job in jobs}
    found = layers({item.job: [bases.get(need.upstream, need.upstream) for need in item.needs] for item in written})
    texts = {item.job: _describe(item) for item in written}
    width = max(map(len, texts.values()))
    edges = sum(len(job.needs) for job in jobs)
    lines = [f"{graph}: {_count(len(jobs), 'job')}, {_count(edges, 'edge')}, {_count(len(found), 'layer')}"]
    for number, names in enumerate(found, start=1):
        for position, name in enumerate(names):
            mark = f"{number:>3}" if position == 0 else "   "
            needs = ", ".join(map(_need, known[name].needs))
            lines.append(f"{mark}  {texts[name]:<{width}}  {f'needs {needs}' if needs else ''}".rstrip())
    return "\n".join(lines)


def _describe(item: Written) -> str:
    if item.combinations is not None:
        labels = [label(values) for values in item.combinations]
        more = ", …" if len(labels) > MOST_LABELS else ""
        return f"{item.job} ×{len(labels)} [{', '.join(labels[:MOST_LABELS])}{more}]"
    notes = [note for note, holds in (("a group", item.is_group), ("cleanup", item.is_cleanup)) if holds]
    return f"{item.job} ({', '.join(notes)})" if notes else item.job


def _need(need: Need) -> str:
    return need.upstream if need.accepts == COMPLETED_ONLY else f"{need.upstream} ({say(need.accepts)})"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

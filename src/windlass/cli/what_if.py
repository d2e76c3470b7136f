"""`windlass show GRAPH --if-fails JOB`: what would be skipped, found by the rule that skips."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.text import Text

from windlass.cli.terminal import STATUS_STYLES, Glyphs, cut, escape, status_glyph
from windlass.errors import NotFound, WrongState
from windlass.model.graph import JobView
from windlass.model.run import RunStatus
from windlass.rules.needs import Below, decide


class WhatIf(Struct, frozen=True, kw_only=True):
    """What follows if these jobs fail."""

    failed: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]  # a job, and the one because of which, in the order they were written
    released: tuple[str, ...]

    @property
    def record(self) -> dict[str, object]:
        return {
            "failed": list(self.failed),
            "skipped": [{"job": job, "because": because} for job, because in self.skipped],
            "released": list(self.released),
        }


def what_if(jobs: Sequence[JobView], name: str) -> WhatIf:
    """`name`: of a job, a matrix or a group. Raises NotFound, or WrongState if none of it can fail any more."""
    meant = [job for job in jobs if name in (job.name, job.state.matrix, job.state.group)]
    if not meant:
        known = {job.name for job in jobs} | {job.state.matrix for job in jobs if job.state.matrix is not None}
        raise NotFound("job", name, close=difflib.get_close_matches(name, sorted(known), n=2))
    open = [job for job in meant if not job.status.is_terminal]
    if not open:
        ends = Counter(job.status.value for job in meant)
        stands = meant[0].status.value
        if len(meant) > 1:
            stands = f"over ({', '.join(f'{number:,} {status}' for status, number in sorted(ends.items()))})"
        raise WrongState("job", repr(name), stands, wanted="a job that is not over")
    held: dict[str, list[str]] = {}
    for job in jobs:
        if job.state.is_held and job.state.matrix is not None:
            held.setdefault(job.state.matrix, []).append(job.name)
    states = {job.name: job.state for job in jobs}
    decided = decide(
        {job.name: RunStatus.FAILED for job in open},
        Below(edges=[edge for job in jobs for edge in job.needs], jobs=states, held=held),
        matrices={job.name: job.state for job in open if job.state.matrix is not None},
    )
    order = {job.name: place for place, job in enumerate(jobs)}
    skipped = sorted(decided.skipped.items(), key=lambda item: order[item[0]])
    return WhatIf(
        failed=tuple(job.name for job in open),
        skipped=tuple(skipped),
        released=tuple(sorted((job for job in decided.released if job not in decided.skipped), key=order.__getitem__)),
    )


def told(name: str, found: WhatIf, *, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """In a sentence, and one line for each job."""
    number = len(found.skipped)
    what = "no job would be skipped" if not number else f"{number:,} job{'s' if number > 1 else ''} would be skipped"
    begin = f" and {len(found.released):,} would begin" if found.released else ""
    yield Text(f"If {escape(repr(name))} failed, {what}{begin}{':' if number or begin else '.'}")
    for job, because in found.skipped:
        yield _line(RunStatus.SKIPPED, job, f"because of {because!r}", width=width, glyphs=glyphs)
    for job in found.released:
        yield _line(RunStatus.PENDING, job, "would begin", width=width, glyphs=glyphs)


def _line(status: RunStatus, job: str, why: str, *, width: int, glyphs: Glyphs) -> Text:
    line = f"  {status_glyph(status, glyphs=glyphs)} {escape(job)}  {escape(why)}"
    return Text(cut(line, width, glyphs=glyphs), style=STATUS_STYLES[status])

"""Lanes as rectangles: where each bar of a timeline begins and how wide it is, in thousandths of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windlass.model.duration import describe
from windlass.model.time import Duration
from windlass.rules.lanes import Lane, Mark

WIDTH = 1_000
NARROWEST = 3  # so that what took no time at all is seen
TICKS = 5
MOST_LANES = 200
MOST_BARS = 200  # of one lane

LEGEND = {
    Mark.WORKED: "worked",
    Mark.RUNNING: "works now",
    Mark.FAILED: "failed",
    Mark.INTERRUPTED: "interrupted",
    Mark.QUEUED: "waits for a worker, or to be tried again",
    Mark.AWAITED: "waits for something",
    Mark.SLEPT: "sleeps",
    Mark.PAUSED: "paused",
    Mark.CLAIMED: "held by a worker",
}


def drawn(lanes: Sequence[Lane], span: tuple[int, int]) -> list[dict[str, Any]]:
    return [_lane(lane, span) for lane in lanes[:MOST_LANES]]


def _lane(lane: Lane, span: tuple[int, int]) -> dict[str, Any]:
    start, end = span
    scale = WIDTH / max(1, end - start)
    bars = []
    for bar in lane.bars[-MOST_BARS:]:
        left = min(max(0.0, (bar.start - start) * scale), WIDTH - NARROWEST)
        right = min(max(left + NARROWEST, (bar.end - start) * scale), WIDTH)
        title = f"{LEGEND[bar.mark]}, {describe(Duration(max(0, bar.end - bar.start)))}"
        top, height = (6, 6) if bar.mark is Mark.CLAIMED else (2, 14)  # a claim is thin: work lies over it
        bars.append(
            {
                "mark": bar.mark.value, "x": round(left, 1), "width": round(right - left, 1), "y": top,
                "height": height, "title": title,
            }
        )  # fmt: skip
    return {"label": lane.label, "sign": lane.sign, "note": lane.note, "is_run": lane.is_run, "bars": bars}


def ticks(span: tuple[int, int]) -> list[str]:
    """Evenly spread, from the beginning on."""
    length = span[1] - span[0]
    return ["0", *(describe(Duration(length * number // (TICKS - 1))) for number in range(1, TICKS))]


def legend(lanes: Sequence[Lane]) -> list[tuple[str, str]]:
    """Of the marks that are seen."""
    used = {bar.mark for lane in lanes for bar in lane.bars}
    return [(mark.value, meaning) for mark, meaning in LEGEND.items() if mark in used]

"""The last hour as two pictures: how many runs ended in each minute, and how long they took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windlass.model.duration import describe, from_instant
from windlass.model.overview import Minute
from windlass.model.time import MINUTE, Duration, Instant

MINUTES = 60
WIDTH = 600
STEP = WIDTH / MINUTES


def since(now: Instant) -> Instant:
    """When the hour began that is shown."""
    return Instant(now // MINUTE * MINUTE - MINUTES * MINUTE)


def ended(minutes: Sequence[Minute], *, now: Instant) -> dict[str, Any]:
    good, bad = _counted(minutes, now=now)
    most = max((one + other for one, other in zip(good, bad, strict=True)), default=0)
    bars = []
    for place, (one, other) in enumerate(zip(good, bad, strict=True)):
        if not one + other:
            continue
        tall, red = 96 * one / most, 96 * other / most
        at = from_instant(Instant(since(now) + place * MINUTE)).strftime("%H:%M UTC")
        bars.append(
            {
                "x": round(place * STEP, 1), "width": STEP - 2, "good": round(tall, 1), "good_y": round(100 - tall, 1),
                "bad": round(red, 1), "bad_y": round(100 - tall - red, 1),
                "title": f"{at}: {one:,} ended, {other:,} failed"
            }
        )  # fmt: skip
    label = f"{sum(good) + sum(bad):,} ended, {sum(bad):,} of them failed; at most {most:,} in a minute"
    return {"bars": bars, "width": WIDTH, "label": label, "has_any": bool(bars)}


def _counted(minutes: Sequence[Minute], *, now: Instant) -> tuple[list[int], list[int]]:
    good, bad = [0] * MINUTES, [0] * MINUTES
    for item in minutes:
        place = (item.minute - since(now)) // MINUTE
        if 0 <= place < MINUTES:
            good[place] += item.completed + item.cancelled
            bad[place] += item.failed
    return good, bad


def took(minutes: Sequence[Minute], *, now: Instant) -> dict[str, Any]:
    """The mean and the longest of each minute in which something ended."""
    sums, counts, longest = [0] * MINUTES, [0] * MINUTES, [0] * MINUTES
    for item in minutes:
        place = (item.minute - since(now)) // MINUTE
        if 0 <= place < MINUTES:
            sums[place] += item.took_sum
            counts[place] += item.completed + item.failed + item.cancelled
            longest[place] = max(longest[place], item.took_max)
    most = max(longest, default=0)
    total = sum(counts)
    if not total:
        return {"width": WIDTH, "middle": "", "high": "", "label": "", "has_any": False}
    means = [sums[place] / counts[place] if counts[place] else None for place in range(MINUTES)]
    highs = [float(longest[place]) if counts[place] else None for place in range(MINUTES)]
    mean = describe(Duration(sum(sums) // total))
    label = f"On average {mean}, at most {describe(Duration(most))} (dashed: the longest of each minute)"
    return {"width": WIDTH, "middle": _line(means, most), "high": _line(highs, most), "label": label, "has_any": True}


def _line(values: Sequence[float | None], most: float) -> str:
    points = [
        f"{place * STEP + STEP / 2:.1f},{100 - 92 * value / (most or 1):.1f}"
        for place, value in enumerate(values)
        if value is not None
    ]
    if len(points) == 1:  # a point is no line
        x, _, y = points[0].partition(",")
        points = [f"{float(x) - STEP / 2:.1f},{y}", f"{float(x) + STEP / 2:.1f},{y}"]
    return " ".join(points)

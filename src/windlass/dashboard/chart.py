"""The last hour as two pictures: how many runs ended in each minute, and how long they took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from windlass.model.duration import describe, from_instant
from windlass.model.overview import Minute
from windlass.model.time import MINUTE, Duration, Instant

MINUTES = 60
WIDTH = 600
STEP = WIDTH / MINUTES
TALLEST = 96  # of 100


def since(now: Instant) -> Instant:
    """When the hour began that is shown."""
    return Instant(now // MINUTE * MINUTE - MINUTES * MINUTE)


def ended(minutes: Sequence[Minute], *, now: Instant) -> dict[str, Any]:
    """Bars, of which the lower part is what ended well."""
    good, bad = [0] * MINUTES, [0] * MINUTES
    for place, item in _placed(minutes, now=now):
        good[place] += item.ended - item.failed
        bad[place] += item.failed
    most = max(one + other for one, other in zip(good, bad, strict=True))
    bars = [
        _bar(place, one, other, most=most, begin=since(now))
        for place, (one, other) in enumerate(zip(good, bad, strict=True))
        if one + other
    ]
    label = f"{sum(good) + sum(bad):,} ended, {sum(bad):,} of them failed; at most {most:,} in a minute"
    return {"bars": bars, "width": WIDTH, "most": f"{most:,}", "label": label, "has_any": bool(bars)}


def _placed(minutes: Sequence[Minute], *, now: Instant) -> Iterator[tuple[int, Minute]]:
    """Each with its place in the picture, those outside of it left out."""
    for item in minutes:
        place = (item.minute - since(now)) // MINUTE
        if 0 <= place < MINUTES:
            yield place, item


def _bar(place: int, good: int, bad: int, *, most: int, begin: Instant) -> dict[str, Any]:
    tall, red = TALLEST * good / most, TALLEST * bad / most
    at = from_instant(Instant(begin + place * MINUTE)).strftime("%H:%M UTC")
    return {
        "x": round(place * STEP, 1),
        "width": STEP - 2,
        "good": round(tall, 1),
        "good_y": round(100 - tall, 1),
        "bad": round(red, 1),
        "bad_y": round(100 - tall - red, 1),
        "title": f"{at}: {good + bad:,} ended, {bad:,} of them failed",
    }


def took(minutes: Sequence[Minute], *, now: Instant) -> dict[str, Any]:
    """The mean and the longest of each minute. Where nothing ended that had begun the lines are broken."""
    sums, counts, longest = [0] * MINUTES, [0] * MINUTES, [0] * MINUTES
    for place, item in _placed(minutes, now=now):
        sums[place] += item.took_sum
        counts[place] += item.started
        longest[place] = max(longest[place], item.took_max)
    total, most = sum(counts), max(longest)
    if not total:
        return {"width": WIDTH, "means": [], "longest": [], "most": "", "label": "", "has_any": False}
    at_work = [place for place in range(MINUTES) if counts[place]]
    mean, peak = describe(Duration(sum(sums) // total)), describe(Duration(most))
    return {
        "width": WIDTH,
        "means": _lines({place: sums[place] / counts[place] for place in at_work}, most),
        "longest": _lines({place: float(longest[place]) for place in at_work}, most),
        "most": peak,
        "label": f"On average {mean}, at most {peak} (dashed: the longest of each minute)",
        "has_any": True,
    }


def _lines(values: dict[int, float], most: float) -> list[str]:
    """A line for each stretch without a gap, half a minute longer at both ends: a single point is a line, too."""
    found = []
    for _, stretch in groupby(enumerate(values), key=lambda pair: pair[1] - pair[0]):
        places = [place for _, place in stretch]
        heights = [100 - TALLEST * values[place] / (most or 1) for place in places]
        points = [(place * STEP + STEP / 2, height) for place, height in zip(places, heights, strict=True)]
        whole = [(places[0] * STEP, heights[0]), *points, ((places[-1] + 1) * STEP, heights[-1])]
        found.append(" ".join(f"{x:.1f},{y:.1f}" for x, y in whole))
    return found

"""One step per item, a few at a time: `ctx.map` with a limit.

Every item is a step of its own with its own key, so a crash repeats only the items that were not yet committed. Run it
again: the run is complete, so nothing is counted any more and the same answer comes back.
"""

from __future__ import annotations

import threading

import windlass

app = windlass.App()

BOOKS = {
    "whale": "call me ishmael some years ago",
    "dog": "the hound the hound it was the hound",
    "clock": "it was a bright cold day in april",
    "march": "it was the best of times",
    "sea": "he was an old man who fished alone",
}

at_work = most_at_work = 0
lock = threading.Lock()


def count_words(title: str) -> int:
    """A plain function: sync steps run in threads."""
    global at_work, most_at_work
    with lock:
        at_work += 1
        most_at_work = max(most_at_work, at_work)
    words = len(BOOKS[title].split())
    with lock:
        at_work -= 1
        print(f"counted {title}")
    return words


@app.workflow
async def library(ctx: windlass.Context, titles: list[str]) -> int:
    counts = await ctx.map(count_words, titles, key=lambda title: title, limit=2)
    return sum(counts)  # the results come in the order of the items


if __name__ == "__main__":
    print("words:", app.run(library, sorted(BOOKS), key="library"))
    print("never more than 2 at once:", most_at_work <= 2)

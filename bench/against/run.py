"""Is anything slower than it was? `make bench-against REV=…` measures this tree and another one in pairs.

Both measure with the bench of their own, in turn: one measurement here, one there, the other way round the next time.
Afterwards there is a ratio for each figure of `make bench`, and 1 is the code of exit if one of them is lost.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bench.against import kept, table, trees, turns
from bench.against.kept import Asked, Compared
from bench.against.verdict import Samples, rows
from bench.course import QUICK, Sizes
from bench.machine import describe

# Both sides and both stores: seconds of the preparation, and of a pair, at full size on a machine that is idle.
EXPECTED = {
    "raw": (0, 10),
    "steps": (0, 8),
    "drain": (0, 12),
    "alone": (0, 60),
    "flat": (200, 60),
    "idle": (0, 230),
    "wire": (0, 130),
    "graphs": (0, 60),
    "pipelines": (0, 110),
    "signals": (40, 40),
    "pages": (100, 25),
}
GROUPS = {"spine": ("raw", "steps", "drain", "alone")}  # what every program meets
QUICK_SHARE = 0.2  # of the seconds above
IDLE_SECONDS = 30.0  # half of what `make bench` takes, but as often as there are pairs
PAIRS, QUICK_PAIRS = 5, 1
LOST, REFUSED, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str]) -> int:
    asked = parse(arguments)
    try:
        wanted = wish(asked)
        path = kept.path_of(wanted)
        before = kept.load(path)
        if asked.print:
            if before is None:
                raise trees.NoTree(f"Nothing is kept about that: {path} is not there.")
            compared = before
        else:
            compared = begin(wanted, before, asked)
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            compare(asked, compared)
    except trees.NoTree as error:
        print(f"bench-against: {error}", file=sys.stderr)
        return REFUSED
    except turns.SideEnded as error:
        print(f"\n{error} What is done is kept: go on with --continue.", file=sys.stderr)
        return LOST
    except KeyboardInterrupt:
        print(f"\nInterrupted. What is done is kept: go on with --continue, look at it with --print ({path}).")
        return INTERRUPTED
    print(f"\n{table.page(compared)}\n\nKept in {path}.")
    return 0 if table.is_good(compared) else LOST


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-against REV=REVISION BENCH=…", description=__doc__)
    parser.add_argument("revision", help="a commit, a branch or a tag")
    parser.add_argument("--quick", action="store_true", help="a look: small sizes, one pair, proves nothing")
    parser.add_argument(
        "--only", action="append", choices=[*GROUPS, *EXPECTED], help="this part or group of parts; may be repeated"
    )
    parser.add_argument("--pairs", type=int, help=f"how often each is measured on either side [{PAIRS}]")
    parser.add_argument("--continue", dest="goes_on", action="store_true", help="keep the parts that are done")
    parser.add_argument("--print", action="store_true", help="measure nothing: show what is kept")
    asked = parser.parse_args(arguments)
    if asked.pairs is not None and asked.pairs < 1:
        parser.error("--pairs takes a positive number")
    return asked


def wish(asked: argparse.Namespace) -> Asked:
    pairs = asked.pairs or (QUICK_PAIRS if asked.quick else PAIRS)
    return Asked(theirs=trees.commit(asked.revision), ours=trees.fingerprint(), pairs=pairs, is_quick=asked.quick)


def begin(wanted: Asked, before: Compared | None, asked: argparse.Namespace) -> Compared:
    """What is kept of the same two trees stays, but for what is to be measured anew. Raises NoTree."""
    if before is None or before.asked != wanted:
        if asked.goes_on:
            raise trees.NoTree("Nothing is kept of these two trees, sizes and pairs: leave out --continue.")
        return Compared(asked=wanted, revision=asked.revision)
    if not asked.goes_on:
        for part in parts_of(asked.only):
            before.parts.pop(part, None)
    return before


def parts_of(only: Sequence[str] | None) -> list[str]:
    """In the order of the bench, each once."""
    chosen = {part for name in only or EXPECTED for part in GROUPS.get(name, (name,))}
    return [part for part in EXPECTED if part in chosen]


def asked_sizes(asked: Asked) -> dict[str, Any]:
    sizes = QUICK if asked.is_quick else Sizes(idle_seconds=IDLE_SECONDS)
    return sizes._replace(rounds=asked.pairs, flat_rounds=asked.pairs)._asdict()


def expected(part: str, asked: Asked) -> float:
    preparation, pair = EXPECTED[part]
    return (preparation + asked.pairs * pair) * (QUICK_SHARE if asked.is_quick else 1)


def compare(asked: argparse.Namespace, compared: Compared) -> None:
    """Measure what is asked for and not done; what is done is kept part by part."""
    left = [part for part in parts_of(asked.only) if part not in compared.parts]
    began = time.monotonic()

    def say(name: str, text: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {name:>8}  {text}", flush=True)

    seconds = sum(expected(part, compared.asked) for part in left)
    print(f"{', '.join(left) or 'Nothing'} in {compared.asked.pairs} pairs: about {_minutes(seconds)}.", flush=True)
    if not left:
        return
    busy = f"{os.getloadavg()[0]:.2f} when it began"
    with trees.two_trees(asked.revision) as both, turns.sides(both, say) as (ours, theirs):
        compared.about = describe(postgres=ours.postgres) | {"load": busy}
        compared.about |= {"Windlass": f"{compared.asked.ours}, against {compared.asked.theirs}"}
        compared.known = theirs.known | ours.known
        pace, first = 1.0, time.monotonic()
        for number, part in enumerate(left):
            rest = sum(expected(name, compared.asked) for name in left[number:])
            say("", f"part {number + 1} of {len(left)}: {part}; about {_minutes(rest * pace)} to go")
            since = time.monotonic()
            _measure(part, compared, ours, theirs)
            pace = (time.monotonic() - first) / sum(expected(name, compared.asked) for name in left[: number + 1])
            if part not in compared.failed:
                compared.parts[part] = round(time.monotonic() - since, 1)
            compared.about["measured"] = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
            kept.save(compared, kept.path_of(compared.asked))
    if trees.fingerprint() != compared.asked.ours:
        compared.about["CAUTION"] = "this tree has changed while it was measured"
        kept.save(compared, kept.path_of(compared.asked))


def _measure(part: str, compared: Compared, ours: turns.Side, theirs: turns.Side) -> None:
    for side in (ours, theirs):
        side.begin(part, asked_sizes(compared.asked))
    turns.take_turns(ours.goes_on, theirs.goes_on)
    found: dict[str, dict[str, Samples]] = {}
    compared.failed.pop(part, None)
    for side in (ours, theirs):
        if side.part.failed:
            compared.failed[part] = f"{side.tree.name}: {side.part.failed}"
    for name, store in {**ours.part.figures, **theirs.part.figures}:
        samples = Samples(ours.part.figures.get((name, store), []), theirs.part.figures.get((name, store), []))
        found.setdefault(name, {})[store] = samples
        compared.figures.setdefault(name, {})[store] = samples
    print("\n".join(table.lines_of(rows(found, compared.known), compared.revision)), flush=True)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What a peer's program is asked, and how it answers: `CASE --db URL --size N`, one line of JSON.

The same as `python -m windlass.bench.once`, so that whoever compares need not know whom it measures. Each program runs
in the environment of its peer: nothing but the standard library may be imported here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

DURABLE = {"synchronous": {"2", "3"}, "fsync": {"on"}, "synchronous_commit": {"on"}}


class Answer(NamedTuple):
    figures: dict[str, float]
    durability: Mapping[str, object]  # as read back through a connection of the peer's own


def answer(cases: Mapping[str, Callable[[str, int], Answer]], *, size: int) -> None:
    """Run the case named on the command line. Ends the process with 1 if what was measured was not durable."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=sorted(cases))
    parser.add_argument("--db", required=True)
    parser.add_argument("--size", type=int, default=size)
    asked = parser.parse_args()
    began, used = time.perf_counter(), time.process_time()
    figures, durability = cases[asked.case](asked.db, asked.size)
    read = {name: str(value) for name, value in durability.items()}
    weak = sorted(name for name, wanted in DURABLE.items() if name in read and read[name] not in wanted)
    if weak or not DURABLE.keys() & read.keys():
        sys.exit(f"not durable: {weak or 'nothing was read back'} {read}")
    record: dict[str, Any] = {
        "case": asked.case,
        "store": "postgresql" if asked.db.startswith("postgres") else "sqlite",
        "size": asked.size,
        "figures": figures,
        "durability": read,
        "cpu_seconds": time.process_time() - used,
        "seconds": time.perf_counter() - began,
    }
    print(json.dumps(record))

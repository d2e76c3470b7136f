"""How fast is it here? `make bench` measures everything that has a target, and prints one table.

One worker process, bodies that do nothing, full durability: every program reads back what its database says about
`synchronous` or `fsync` and `synchronous_commit`, and reports nothing if that is not enough. Nothing here is a bound in
a test: a figure belongs to a machine and a day.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from bench import results, table
from bench.compare import measure_alone, measure_drain, measure_raw, measure_steps
from bench.course import QUICK, Course, Sizes
from bench.databases import Databases
from bench.flat import measure_flat
from bench.graphs import measure_graphs
from bench.idle import measure_idle
from bench.machine import describe
from bench.pages import measure_pages
from bench.pipelines import measure_pipelines
from bench.signals import measure_signals
from bench.wire import measure_wire

PARTS: dict[str, Callable[[Course], None]] = {
    "raw": measure_raw,
    "steps": measure_steps,
    "drain": measure_drain,
    "alone": measure_alone,
    "flat": measure_flat,
    "idle": measure_idle,
    "wire": measure_wire,
    "graphs": measure_graphs,
    "pipelines": measure_pipelines,
    "signals": measure_signals,
    "pages": measure_pages,
}
FEWEST_FLAT = 5  # pairs of drains


def main(arguments: Sequence[str]) -> None:
    asked = parse(arguments)
    command = shlex.join(["python", "-m", "bench.run", *arguments])
    busy = f"{os.getloadavg()[0]:.2f} when it began"
    with Databases() as databases:
        course = Course(databases, asked_sizes(asked), command=command, has_peers=not asked.skip_peers)
        for part in asked.only or PARTS:
            PARTS[part](course)
        course.results.about = describe(postgres=databases.postgres_version)
        course.results.about |= {"load": busy, "measured": measured(asked, course.sizes), "command": f"`{command}`"}
    kept = course.results
    if asked.write:
        kept = results.load()
        kept.merge(course.results)
        results.save(kept)
        table.write(kept)
    print(f"\n{table.page(kept)}\n")
    for line in table.missed(kept):
        print(f"MISSED  {line}")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short look: small sizes, one pair")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be repeated")
    parser.add_argument("--rounds", type=int, help=f"how often each is measured [{Sizes().rounds}]")
    parser.add_argument("--skip-peers", action="store_true", help="Windlass and the bare databases only")
    parser.add_argument("--write", action="store_true", help="into bench/README.md; what is not measured stays")
    asked = parser.parse_args(arguments)
    if asked.quick and asked.write:
        parser.error("--quick measures other sizes than the table has: leave out --write")
    if asked.rounds is not None and asked.rounds < 1:
        parser.error("--rounds takes a positive number")
    return asked


def measured(asked: argparse.Namespace, sizes: Sizes) -> str:
    """When, and how large: what the rows of the table do not say."""
    size = "sizes far below those in the table; " if asked.quick else ""
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {size}rounds: {sizes.rounds}; DBOS was given"
        f" {sizes.dbos_runs:,} runs of ten steps, {sizes.dbos_waiting:,} without and {sizes.dbos_children:,} children,"
        f" Procrastinate {sizes.procrastinate_waiting:,} jobs"
    )


def asked_sizes(asked: argparse.Namespace) -> Sizes:
    sizes = QUICK if asked.quick else Sizes()
    if asked.rounds is None:
        return sizes
    flat_rounds = asked.rounds if asked.quick else max(FEWEST_FLAT, asked.rounds)
    return sizes._replace(rounds=asked.rounds, flat_rounds=flat_rounds)


if __name__ == "__main__":
    main(sys.argv[1:])

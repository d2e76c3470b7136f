"""Which cases there are, how large each is, and which figures it gives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from windlass.bench import latency, workloads
from windlass.bench.site import Site


class Case(Struct, frozen=True, kw_only=True):
    run: Callable[[Site, int], Awaitable[dict[str, float]]]
    size: int  # in full; what it counts stands in the words of its figures
    brief: int  # for a first look, as `windlass bench` takes it


CASES = {
    "raw": Case(run=workloads.raw, size=500, brief=500),
    "steps": Case(run=workloads.steps, size=1_000, brief=1_000),
    "drain": Case(run=workloads.drain, size=10_000, brief=10_000),
    "ten_steps": Case(run=latency.ten_steps, size=50, brief=30),
    "first_line": Case(run=latency.first_line, size=200, brief=50),
    "first_line_across": Case(run=latency.first_line_across, size=100, brief=30),
    "starts_each": Case(run=workloads.starts_each, size=10_000, brief=10_000),
    "starts_batch": Case(run=workloads.starts_batch, size=10_000, brief=10_000),
    "replay": Case(run=latency.replay, size=1_000, brief=1_000),
}

"""What must be reached, figure by figure and store by store.

A figure without a target for a store is shown for comparison only: the bare database, or the peer behind a ratio.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

SQLITE, POSTGRESQL = "sqlite", "postgresql"
STORES = (SQLITE, POSTGRESQL)


class Target(NamedTuple):
    bound: float
    is_ceiling: bool  # no more than that, rather than no less

    def is_reached(self, value: float) -> bool:
        return value <= self.bound if self.is_ceiling else value >= self.bound


def at_least(bound: float) -> Target:
    return Target(bound, is_ceiling=False)


def at_most(bound: float) -> Target:
    return Target(bound, is_ceiling=True)


def both(target: Target) -> Mapping[str, Target]:
    return {SQLITE: target, POSTGRESQL: target}


class Figure(NamedTuple):
    name: str
    text: str
    unit: str
    targets: Mapping[str, Target] = {}
    profile: str = ""  # profiles/….md, where a figure that misses its target is explained

    def is_reached(self, store: str, value: float) -> bool | None:
        """None where nothing is asked for."""
        target = self.targets.get(store)
        return None if target is None else target.is_reached(value)


LOADS = {
    "tomorrow": "500,000 runs due tomorrow, over ten priorities",
    "finished": "500,000 finished runs",
    "others": "500,000 due runs that only other workers can execute",
}


def beside(load: str, text: str) -> tuple[Figure, ...]:
    """What rows that concern somebody else must not change."""
    where = f"beside {text}"
    return (
        Figure(f"flat_{load}", f"{where}: drain, over the drain without", "×", both(at_least(0.85)), "flat"),
        Figure(f"empty_claim_{load}", f"{where}: claim that finds nothing, p50", "ms", both(at_most(2)), "flat"),
        Figure(f"empty_poll_{load}", f"{where}: the same asked by a worker, p50", "ms", both(at_most(2)), "flat"),
    )


FIGURES = (
    Figure("commit_ms", "bare commit, p50", "ms"),
    Figure("commits", "bare commits", "/s"),
    Figure("group_rows", "bare rows, 500 to a commit", "/s"),
    Figure("steps", "1,000 runs × 10 steps", "steps/s"),
    Figure("dbos_steps", "DBOS, runs × 10 steps", "steps/s"),
    Figure(
        "steps_over_dbos", "steps, Windlass over DBOS", "×", {SQLITE: at_least(100), POSTGRESQL: at_least(80)}, "steps"
    ),
    Figure("dbos_wal_steps", "DBOS on a file that somebody has switched to WAL", "steps/s"),
    Figure("steps_over_dbos_wal", "steps, Windlass over that", "×"),
    Figure("drain", "drain of 10,000 waiting runs", "runs/s"),
    Figure("pgqueuer_drain", "PgQueuer, drain of 10,000 waiting jobs", "runs/s"),
    Figure("drain_over_pgqueuer", "drain, Windlass over PgQueuer", "×", {POSTGRESQL: at_least(1)}, "drain"),
    Figure("dbos_drain", "DBOS, drain of waiting runs", "runs/s"),
    Figure("drain_over_dbos", "drain, Windlass over DBOS", "×", {SQLITE: at_least(50)}, "drain"),
    Figure("dbos_wal_drain", "DBOS, drain on a file that somebody has switched to WAL", "runs/s"),
    Figure("drain_over_dbos_wal", "drain, Windlass over that", "×"),
    Figure("procrastinate_drain", "Procrastinate, drain of waiting jobs", "runs/s"),
    Figure("drain_over_procrastinate", "drain, Windlass over Procrastinate", "×"),
    Figure("ten_steps_ms", "one run of 10 steps on an idle system, p50", "ms"),
    Figure("ten_steps", "the same, over 12 bare commits", "×", both(at_most(1.8)), "ten_steps"),
    Figure("first_line_local", "start to first line, dispatched locally, p50", "ms", both(at_most(1)), "first_line"),
    Figure(
        "first_line_claimed",
        "start to first line, through a claim in the same process, p50",
        "ms",
        both(at_most(2)),
        "first_line",
    ),
    Figure(
        "first_line_across",
        "start to first line, across processes, p50",
        "ms",
        {POSTGRESQL: at_most(4)},
        "first_line",
    ),
    Figure("starts_each", "10,000 starts, one call each, concurrently", "/s", both(at_least(15_000)), "starts"),
    Figure(
        "starts_batch",
        "10,000 starts as one batch",
        "/s",
        {SQLITE: at_least(50_000), POSTGRESQL: at_least(30_000)},
        "starts",
    ),
    *(figure for load, text in LOADS.items() for figure in beside(load, text)),
    Figure("claim_hundred", "claim of 100 out of 200,000 due, p50", "ms", both(at_most(10)), "flat"),
    Figure("idle_cpu", "idle worker over 60 s, of one core", "%", both(at_most(0.3)), "idle"),
    Figure("resident_started", "resident size of a worker that has just begun", "MB"),
    Figure("resident", "resident size of a worker after 100,000 runs", "MB", both(at_most(80)), "memory"),
    Figure("resident_peak", "the most it ever was until then", "MB"),
    Figure("growth", "its growth from 10,000 runs to 100,000", "MB", both(at_most(5)), "memory"),
    Figure(
        "wire_steps",
        "one server, one worker, 100 runs in flight, ten steps each",
        "steps/s",
        {POSTGRESQL: at_least(5_000)},
        "wire",
    ),
    Figure("wire_over_embedded", "the same, over the embedded rate", "×", {POSTGRESQL: at_least(0.35)}, "wire"),
    Figure("wire_first_line", "start to first line through a server, p50", "ms", {POSTGRESQL: at_most(8)}, "wire"),
    Figure("wire_idle", "server of 200 idle long-polling workers, of one core", "%", {POSTGRESQL: at_most(5)}, "wire"),
    Figure("two_servers", "two servers over one, on the same two cores", "×", {POSTGRESQL: at_least(0.9)}, "wire"),
    Figure(
        "chain",
        "graph: a chain of 1,000 jobs",
        "jobs/s",
        {SQLITE: at_least(800), POSTGRESQL: at_least(400)},
        "graphs",
    ),
    Figure("chain_over_commits", "the same, over bare commits", "×"),
    Figure("dbos_chain", "DBOS, child workflows one after the other", "jobs/s"),
    Figure("chain_over_dbos", "chain, Windlass over DBOS", "×"),
    Figure("fan", "graph: 10,000 jobs, fan-out and fan-in", "jobs/s", both(at_least(4_000)), "graphs"),
    Figure("dbos_fan", "DBOS, child workflows all at once", "jobs/s"),
    Figure("fan_over_dbos", "fan, Windlass over DBOS", "×"),
    Figure("create_graph", "graph: 10,000 jobs and 50,000 edges created", "s", both(at_most(2)), "graphs"),
    Figure("finish_job", "graph of 10,000 jobs: one job ends and releases the next, p50", "ms"),
    Figure("finish_flat", "the same, over a graph of 100 jobs", "×", both(at_most(1.5)), "graphs"),
    Figure("pipeline", "pipeline: one event at a time, all phases, a ledgered effect", "runs/s"),
    Figure(
        "pipeline_over_commits",
        "the same, over what five bare commits allow",
        "×",
        {SQLITE: at_least(0.5), POSTGRESQL: at_least(0.3)},
        "pipelines",
    ),
    Figure("pipeline_chosen", "the same with a `prepare` that looks and reserves", "runs/s"),
    Figure("pipelines", "the first in 50 pipelines at once", "runs/s", both(at_least(600)), "pipelines"),
    Figure("pipeline_batch", "pipeline: a hundred events at a time", "events/s", both(at_least(10_000)), "pipelines"),
    Figure("publish", "events published, 1,000 calls in flight", "events/s", both(at_least(20_000)), "pipelines"),
    Figure(
        "pipeline_flat",
        "pipeline beside 10,000 idle ones and 1,000,000 consumed events, over the rate without",
        "×",
        both(at_least(0.9)),
        "pipelines",
    ),
    Figure(
        "signals_flat",
        "beside 100,000 armed signals on other runs: drain, over the drain without",
        "×",
        both(at_least(0.9)),
        "signals",
    ),
    Figure(
        "signals_watched",
        "drain with an armed signal on each run, over the drain without",
        "×",
        both(at_least(0.5)),
        "signals",
    ),
    Figure("signals_fired", "the same until each of them has fired, too", "runs/s"),
    Figure(
        "follow_item",
        "an item is moved, to the first line of the workflow that a signal starts, p50",
        "ms",
        both(at_most(25)),
        "signals",
    ),
    Figure("follow_run", "the same of a run that fails, p50", "ms", both(at_most(25)), "signals"),
    Figure("follow_across", "an item is moved, to the first line in another process, p50", "ms"),
    Figure(
        "page",
        "the slowest page of the dashboard with 100,000 runs and 1,000,000 rows of log, server time, p50",
        "ms",
        both(at_most(50)),
        "pages",
    ),
    Figure("page_flat", "each page over the same with 1,000 runs, the worst of them", "×", both(at_most(1.5)), "pages"),
    Figure("page_waiting", "the page of queues when 10,000 more runs wait, p50", "ms"),
    Figure("picture", "the page of a graph of 1,000 jobs, all of them drawn, p50", "ms", both(at_most(200)), "pages"),
    Figure("picture_folded", "the same with its groups folded, p50", "ms", both(at_most(200)), "pages"),
    Figure("replay", "replay of 1,000 steps after a re-claim, p50", "ms", both(at_most(50)), "replay"),
)
BY_NAME = {figure.name: figure for figure in FIGURES}

"""What pages ask for: each looks at as many rows in a large database as in a small one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from windlass.model.overview import SearchRuns
from windlass.model.run import RunId, RunStatus
from windlass.model.time import HOUR, Duration, Instant
from windlass.store.base import Tx
from windlass.store.queries.minutes import MinuteQueries
from windlass.store.queries.pages import PageQueries

NAMESPACE = "n"
FAILED, PAUSED, ENDED, APPROVALS = "runs_failed", "runs_paused", "runs_ended", "steps_approvals"
RUN, PAYLOAD, STEP, RETRY, LOG = "runs_pkey", "payloads_pkey", "steps_pkey", "runs_retry", "log_subject"
LOOKED, LIMIT = 40, 10

Call = Callable[[Tx], Awaitable[Any]]


def page(ask: Callable[[PageQueries], Awaitable[Any]]) -> Call:
    return lambda tx: ask(PageQueries(tx.connection))


def search(**filters: Any) -> Call:
    query = SearchRuns(namespace=NAMESPACE, **filters)
    return page(lambda queries: queries.search(query, looked=LOOKED, limit=LIMIT))


def looked(**filters: Any) -> Call:
    query = SearchRuns(namespace=NAMESPACE, **filters)
    return page(lambda queries: queries.last_looked_at(query, looked=LOOKED))


HOT: dict[str, tuple[Call, tuple[str, ...]]] = {
    "search_runs": (search(), (RUN, PAYLOAD)),
    "search_runs: nothing fits": (search(name="nobodys", text="nothing", created_after=Instant(1)), (RUN, PAYLOAD)),
    "search_failed_runs": (search(status=RunStatus.FAILED), (FAILED, RUN, PAYLOAD)),
    "search_paused_runs": (search(status=RunStatus.PAUSED, text="nothing"), (PAUSED, RUN, PAYLOAD)),
    "last_looked_at": (looked(), (RUN,)),
    "last_failed_looked_at": (looked(status=RunStatus.FAILED), (FAILED,)),
    "last_paused_looked_at": (looked(status=RunStatus.PAUSED), (PAUSED,)),
    "unattended_failures": (
        page(lambda queries: queries.unattended(NAMESPACE, span=Duration(HOUR), looked=LOOKED, limit=LIMIT)),
        (FAILED, RUN, PAYLOAD, RETRY),
    ),
    "open_approvals": (
        page(lambda queries: queries.approvals(NAMESPACE, looked=LOOKED, limit=LIMIT)),
        (APPROVALS, STEP, RUN),
    ),
    "preview_run": (page(lambda queries: queries.preview(NAMESPACE, RunId("run_f1"), most=10)), (RUN, PAYLOAD)),
    "preview_steps": (page(lambda queries: queries.steps(NAMESPACE, RunId("run_f1"), most=10, limit=10)), (STEP,)),
    "last_entries": (
        page(lambda queries: queries.entries(NAMESPACE, kind="run", id="run_f1", most=10, limit=10)),
        (LOG,),
    ),
    "first_ended": (
        lambda tx: MinuteQueries(tx.connection).first_ended(since=Instant(2**61), until=Instant(2**62)),
        (ENDED,),
    ),
}

ENTERED_BY = {
    FAILED: ("namespace",),  # these hold nothing else
    PAUSED: ("namespace",),
    APPROVALS: ("namespace",),
    ENDED: ("finished_at",),
}

COLD = {
    "list_minutes": "reads a range of its primary key, a row for each minute and queue, for people",
    "counted_until": "reads one row by its primary key",
    "move_counted": "writes one row by its primary key, once a minute",
    "count_minutes": "reads by its index what ended in a minute, once",
    "forget_minutes": "removes what it reads, once a minute",
    "remove_minutes_of_namespace": "removes what it reads, once, for a person",
}

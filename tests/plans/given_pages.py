"""What pages ask for: each looks at as many rows in a large database as in a small one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from windlass.model.overview import ListSteps, SearchRuns
from windlass.model.run import RunId, RunStatus
from windlass.model.time import HOUR, Duration, Instant
from windlass.store.base import Tx
from windlass.store.queries.long_steps import LongStepQueries
from windlass.store.queries.minutes import MinuteQueries
from windlass.store.queries.pages import PageQueries
from windlass.store.queries.searches import SearchQueries

NAMESPACE = "n"
FAILED, PAUSED, ENDED, APPROVALS = "runs_failed", "runs_paused", "runs_ended", "steps_approvals"
ALONE, SIGNALS = "runs_failed_alone", "signals_paused"
RUN, PAYLOAD, STEP, RETRY, LOG = "runs_pkey", "payloads_pkey", "steps_pkey", "runs_retry", "log_subject"
KEYS, INBOX, HOLDER, AT_WORK = "keys_pkey", "inbox_pkey", "runs_worker", "steps_running"
LOOKED, LIMIT = 40, 10
ATTEMPTS = ListSteps(namespace=NAMESPACE, run_id=RunId("run_f1"))

Call = Callable[[Tx], Awaitable[Any]]


def found(ask: Callable[[SearchQueries], Awaitable[Any]]) -> Call:
    return lambda tx: ask(SearchQueries(tx.connection))


def page(ask: Callable[[PageQueries], Awaitable[Any]]) -> Call:
    return lambda tx: ask(PageQueries(tx.connection))


def long(ask: Callable[[LongStepQueries], Awaitable[Any]]) -> Call:
    return lambda tx: ask(LongStepQueries(tx.connection))


def search(**filters: Any) -> Call:
    query = SearchRuns(namespace=NAMESPACE, **filters)
    return found(lambda queries: queries.search(query, looked=LOOKED, limit=LIMIT))


def looked(**filters: Any) -> Call:
    query = SearchRuns(namespace=NAMESPACE, **filters)
    return found(lambda queries: queries.last_looked_at(query, looked=LOOKED))


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
        (ALONE, RUN, PAYLOAD, RETRY),
    ),
    "last_unattended_looked_at": (
        page(lambda queries: queries.unattended_until(NAMESPACE, looked=LOOKED)),
        (ALONE, RUN),
    ),
    "open_approvals": (
        page(lambda queries: queries.approvals(NAMESPACE, before=("~", ""), looked=LOOKED)),
        (APPROVALS, STEP, RUN),
    ),
    "stopped_signals": (
        page(lambda queries: queries.stopped_signals(NAMESPACE, limit=LIMIT)),
        (SIGNALS, "firings_failed"),
    ),
    "find_runs": (
        found(lambda queries: queries.find(SearchRuns(namespace=NAMESPACE), id="run_f1", key="k")),
        (RUN, PAYLOAD, KEYS),
    ),
    "preview_run": (page(lambda queries: queries.preview(NAMESPACE, RunId("run_f1"), most=10)), (RUN, PAYLOAD)),
    "preview_steps": (page(lambda queries: queries.steps(ATTEMPTS, most=10, limit=10)), (STEP,)),
    "output_of_step": (
        page(lambda queries: queries.output(NAMESPACE, RunId("run_f1"), step_key="s", attempt=1)),
        (STEP,),
    ),
    "last_messages": (page(lambda queries: queries.messages(NAMESPACE, RunId("run_f1"), limit=10)), (INBOX,)),
    "last_entries": (
        page(lambda queries: queries.entries(NAMESPACE, kind="run", id="run_f1", most=10, limit=10)),
        (LOG,),
    ),
    "long_running_steps": (
        long(lambda queries: queries.running(NAMESPACE, span=Duration(HOUR), looked=LOOKED, limit=LIMIT)),
        (HOLDER, AT_WORK, RUN, PAYLOAD),
    ),
    "durations_in_run": (
        long(lambda queries: queries.durations_in_run(NAMESPACE, RunId("run_f1"), keys=["s", "s#2"])),
        (STEP,),
    ),
    "durations_in_ended_runs": (
        long(lambda queries: queries.durations_in_ended_runs(NAMESPACE, name="f", key="s", looked=LOOKED, limit=LIMIT)),
        (ENDED, STEP),
    ),
    "first_ended": (
        lambda tx: MinuteQueries(tx.connection).first_ended(since=Instant(2**61), until=Instant(2**62)),
        (ENDED,),
    ),
}

ENTERED_BY = {
    FAILED: ("namespace",),  # these hold nothing else
    ALONE: ("namespace",),
    SIGNALS: ("namespace",),
    PAUSED: ("namespace",),
    APPROVALS: ("namespace",),
    ENDED: ("finished_at",),
    AT_WORK: ("namespace", "run_id"),
}

COLD = {
    "asked_in_run": "reads by the index of open approvals those of one run, for people",
    "count_live_runs": "counts what is not over, up to a limit, for people",
    "search_live_runs": "reads what is not over, where that is less than a limit, for people",
    "list_minutes": "reads a range of its primary key, a row for each minute and queue, for people",
    "counted_until": "reads one row by its primary key",
    "move_counted": "writes one row by its primary key, once a minute",
    "count_minutes": "reads by its index what ended in a minute, once",
    "forget_minutes": "removes what it reads, once a minute",
    "remove_minutes_of_namespace": "removes what it reads, once, for a person",
}

"""A database in which almost everything concerns somebody else, and the calls that must not notice.

run_f…   finished                                   20,000
run_l…   due in the far future, ten priorities       5,000
run_o…   due now, but of a workflow others serve     5,000
run_h…   held by twenty workers                        100
         schedules, due in the far future            5,000
wrk_s…   workers that have stopped                   1,000
         and a graph, as given_graphs.py says         5,000
         and pipelines, as given_pipelines.py says    5,000
         and signals, as given_signals.py says       30,000
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from tests.conformance import given
from tests.conformance.test_transactions import noted
from tests.conformance.test_workers import beating, registering
from tests.plans import given_graphs, given_pages, given_pipelines, given_signals
from tests.plans.given_pipelines import KEEPER
from windlass.model.failure import Unretrieved
from windlass.model.feed import BEGINNING, Place
from windlass.model.message import Message, MessageKind
from windlass.model.page import ListRuns
from windlass.model.run import Run, RunId, RunStatus, WorkerId
from windlass.model.step import Step, StepStatus
from windlass.model.time import HOUR, MINUTE, Duration, Instant
from windlass.model.worker import Served
from windlass.store.base import Tx
from windlass.store.queries.feed import FeedQueries
from windlass.store.queries.keys import NewKey
from windlass.store.queries.prune import ExpiredKey, GoneWorker, Remark
from windlass.store.queries.scheduled import SlotRun

NAMESPACE = given.NAMESPACE
FAR = 9_000_000_000_000_000  # the year 2255
WORKING = 20  # workers
NUMBER = 1_000_000  # ids have as many digits in a small database as in a large one


class Size(NamedTuple):
    finished: int
    later: int
    others: int
    stopped: int
    held: int = 100

    @property
    def letters(self) -> dict[str, int]:
        return {"f": self.finished, "l": self.later, "o": self.others, "h": self.held}


SMALL = Size(finished=1_000, later=250, others=250, stopped=50)
LARGE = Size(finished=20_000, later=5_000, others=5_000, stopped=1_000)


class Dialect(NamedTuple):
    series: str
    empty_blob: str
    empty_list: str  # in JSON

    def blob(self, text: str) -> str:
        return self.empty_list.replace("5b5d", text.encode().hex()).replace("'[]'", f"'{text}'")


def fill(dialect: Dialect, size: Size) -> Iterator[str]:
    """Everything as it is at the worst moment for statistics: all runs pending, and due."""
    for letter, count in size.letters.items():
        source = f"(select 'run_{letter}' || ({NUMBER} + i) as id from {dialect.series.format(count=count)}) as g"
        yield (
            "insert into runs (namespace, id, name, version, queue, priority, status, available_at, token, created_at)"
            f" select '{NAMESPACE}', id, 'invoice', '', 'billing', 0, 'pending', 1, 1, 1 from {source}"
        )
        yield (
            "insert into payloads (namespace, run_id, start_key, input)"
            f" select '{NAMESPACE}', id, 'key of ' || id, {dialect.empty_blob} from {source}"
        )
        yield (
            "insert into keys (namespace, key, name, version, input_hash, run_id, created_at)"
            f" select '{NAMESPACE}', 'key of ' || id, 'invoice', '', {dialect.empty_blob}, id, 1 from {source}"
        )
        for status in ("pending", "running"):
            yield (
                "insert into log (namespace, subject_kind, subject_id, to_status, cause, at)"
                f" select '{NAMESPACE}', 'run', id, '{status}', 'start', 1 from {source}"
            )
        for key, attempt, status in (("a", 1, "failed"), ("a", 2, "completed"), ("b", 1, "waiting")):
            yield (
                "insert into steps (namespace, run_id, step_key, attempt, kind, status, token, failures, input_hash)"
                f" select '{NAMESPACE}', id, '{key}', {attempt}, 'step', '{status}', 1, 0, {dialect.empty_blob}"
                f" from {source}"
            )
    yield (
        "insert into schedules (namespace, name, workflow, version, queue, input, input_hash, every_for, tz, anchor,"
        " catch_up, max_catch_up, overlap, jitter, status, is_declared, revision, last_slot, available_at, created_at,"
        f" changed_at) select '{NAMESPACE}', 'schedule ' || i, 'invoice', '', 'billing', {dialect.empty_blob},"
        f" {dialect.empty_blob}, 1000000, 'UTC', 1, 'latest', 100, 'skip', 0, 'active', 1, 1, 1, {FAR} + i, 1, 1"
        f" from {dialect.series.format(count=size.later)}"
    )
    yield from given_graphs.fill(dialect.series, dialect.empty_blob, size.later)
    yield from given_pipelines.fill(dialect.series, dialect.blob, finished=size.finished, later=size.later)
    yield from given_signals.fill(dialect.series, dialect.blob, finished=size.finished, later=size.later)
    for letter, count, stopped_at in (("s", size.stopped, "2"), ("", WORKING, "null")):
        yield (
            "insert into workers (namespace, id, host, pid, served, slots, started_at, seen_at, stopped_at, lock_kind)"
            f" select '{NAMESPACE}', 'wrk_{letter}' || (i - 1), 'here', i, {dialect.empty_list}, 5, 1, i, {stopped_at},"
            f" 'file' from {dialect.series.format(count=count)}"
        )


def move_on() -> Iterator[str]:
    """What becomes of them; statistics taken before now say that every run is pending."""
    number = "cast(substr(id, 6) as integer)"
    yield from given_pipelines.move_on()
    yield from given_signals.move_on()
    yield "update runs set status = 'completed', available_at = null, finished_at = 2 where id like 'run_f%'"
    yield f"update runs set available_at = {FAR} + {number}, priority = {number} % 10 - 5 where id like 'run_l%'"
    yield "update runs set name = 'refund' where id like 'run_o%'"
    yield f"update runs set schedule = 'nightly' where id like 'run_f%' and {number} % 2 = 0"
    yield (
        f"update runs set status = 'running', available_at = {FAR}, worker = 'wrk_' || ({number} % {WORKING}), poll = 1"
        " where id like 'run_h%'"
    )


# The calls


def held_run(number: int) -> Any:
    """A run as its holder knows it: all that the commands below look at."""

    class Held(NamedTuple):
        id: RunId
        token: int

    return Held(RunId(f"run_h{NUMBER + number}"), 1)


HELD = [held_run(number) for number in (3, 1, 2)]
FINISHED = [RunId(f"run_f{NUMBER + number}") for number in (30, 10, 20)]
WORKER = WorkerId("wrk_3")
INVOICES, REFUNDS = Served("billing", "invoice"), Served("billing", "refund")
NOBODYS = Served("billing", "unheard of")
KEYS = [f"key of {id}" for id in FINISHED]

Call = Callable[[Tx], Awaitable[Any]]


def claiming(*served: Served) -> Call:
    return lambda tx: tx.runs.claim(
        namespace=NAMESPACE, served=served, limit=10, worker=WORKER, poll=2, claim_for=lambda name: Duration(5 * MINUTE)
    )


def dispatching(*numbers: int) -> Call:
    return lambda tx: tx.runs.create(
        [given.new_run(number, worker=WORKER, poll=1, claim_for=HOUR) for number in numbers]
    )


def next_due(*served: Served) -> Call:
    return lambda tx: tx.runs.next_due(namespace=NAMESPACE, served=served)


def taking(*keys: str) -> Call:
    return lambda tx: tx.keys.take(
        [
            NewKey(namespace=NAMESPACE, key=key, name="invoice", version="", input_hash=b"", run_id=HELD[0].id)
            for key in keys
        ]
    )


def listing(**fields: Any) -> Call:
    return lambda tx: tx.runs.list(ListRuns(namespace=NAMESPACE, limit=10, **fields))


def settling(tx: Tx) -> Awaitable[None]:
    steps: list[Step] = [given.settled(HELD[0], key="b"), given.settled(HELD[0], key="c", status=StepStatus.WAITING)]
    return tx.steps.settle(steps)


RUN, PAYLOAD, STEP, KEY = "runs_pkey", "payloads_pkey", "steps_pkey", "keys_pkey"
LOG, CLAIM, HOLDER, PARENT = "log_subject", "runs_claim", "runs_worker", "runs_parent"
WORKERS, OPEN = "workers_pkey", "workers_open"
RETRY, INBOX, MESSAGE = "runs_retry", "inbox_pkey", "inbox_id"
UNREAD, AWAITS, GATES = "inbox_unread", "steps_awaits", "gates_pkey"
SCHEDULE, SCHEDULE_OPEN, SLOT = "runs_schedule", "runs_schedule_open", "runs_slot"
SCHEDULES_DUE, NAMESPACES = "schedules_due", "namespaces_pkey"
LOG_FEED, REMOVED = "log_feed", "removed_log_pkey"
LOG_ORDER, EXPIRES, KEY_EXPIRES, STOPPED = "log_pkey", "runs_expires", "keys_expires", "workers_stopped"

# By which columns an index must be entered: by fewer, it would be a walk through the namespace.
ENTERED_BY = {
    RUN: ("namespace", "id"),
    PAYLOAD: ("namespace", "run_id"),
    STEP: ("namespace", "run_id"),
    KEY: ("namespace", "key"),
    LOG: ("namespace", "subject_kind", "subject_id"),
    CLAIM: ("namespace", "queue", "name", "version"),
    HOLDER: ("namespace", "worker"),
    WORKERS: ("namespace", "id"),
    PARENT: ("namespace", "parent"),
    SCHEDULE: ("namespace", "schedule"),
    SCHEDULE_OPEN: ("namespace", "schedule"),  # it holds nothing that is over
    SLOT: ("namespace", "schedule", "slot"),
    SCHEDULES_DUE: ("available_at",),
    NAMESPACES: ("name",),
    RETRY: ("namespace", "retry_of"),
    INBOX: ("namespace", "run_id"),
    MESSAGE: ("namespace", "run_id"),
    UNREAD: ("namespace", "run_id", "kind", "name"),
    AWAITS: ("namespace", "run_id"),
    GATES: ("namespace",),  # one for each queue and each workflow
    OPEN: ("namespace",),  # it holds nobody who has stopped
    LOG_ORDER: ("namespace",),
    LOG_FEED: ("namespace",),
    REMOVED: ("namespace",),
    EXPIRES: ("expires_at",),  # it holds nothing that is over
    KEY_EXPIRES: ("expires_at",),
    STOPPED: ("stopped_at",),
    **given_graphs.ENTERED_BY,
    **given_pipelines.ENTERED_BY,
    **given_signals.ENTERED_BY,
    **given_pages.ENTERED_BY,
}


def running() -> Run:
    return Run(
        namespace=NAMESPACE,
        id=HELD[0].id,
        name="invoice",
        version="",
        queue="billing",
        priority=0,
        status=RunStatus.RUNNING,
        available_at=Instant(FAR),
        token=1,
        worker=WORKER,
        poll=1,
        attempts=1,
        recoveries=0,
        created_at=Instant(1),
        started_at=Instant(1),
        finished_at=None,
    )


def saving(tx: Tx) -> Awaitable[bool]:
    return tx.runs.save(replace(running(), status=RunStatus.SLEEPING, worker=None), was=running())


def copying(tx: Tx) -> Awaitable[None]:
    return tx.retries.create(NAMESPACE, id=given.run_id(1), retry_of=FINISHED[0], at=Instant(1))


def filling(tx: Tx) -> Awaitable[None]:
    return tx.retries.fill(NAMESPACE, id=given.run_id(1), retry_of=FINISHED[0], before=2, from_step="b")


def sending(tx: Tx) -> Awaitable[bool]:
    return tx.inbox.add(
        NAMESPACE,
        run_id=HELD[0].id,
        kind=MessageKind.EVENT,
        name="replied",
        id="m1",
        payload=b"1",
        payload_hash=b"1",
    )


def received() -> Message:
    return Message(
        namespace=NAMESPACE,
        run_id=HELD[0].id,
        seq=1,
        kind=MessageKind.EVENT,
        name="replied",
        id="m1",
        payload=b"1",
        payload_hash=b"1",
        sent_at=Instant(1),
    )


def removing(tx: Tx) -> Awaitable[None]:
    over = [replace(running(), id=id, status=RunStatus.COMPLETED, finished_at=Instant(2)) for id in FINISHED]
    return tx.prune.remove(over)


def forgetting(tx: Tx) -> Awaitable[None]:
    return tx.prune.remove_remarks([Remark(namespace=NAMESPACE, seq=0, subject_kind="run", subject_id=FINISHED[0])])


HORIZON = Place(FAR, 0)


def feed_page(after: Place) -> Call:
    return lambda tx: FeedQueries(tx.connection).page(NAMESPACE, after=after, before=HORIZON, limit=10)


def expired_key() -> ExpiredKey:
    return ExpiredKey(namespace=NAMESPACE, key=KEYS[0], run_id=FINISHED[0], expires_at=Instant(2), is_open=False)


def gone_worker() -> GoneWorker:
    return GoneWorker(namespace=NAMESPACE, id=WorkerId("wrk_s3"), stopped_at=Instant(2), is_named=False)


def firing(tx: Tx) -> Awaitable[Mapping[int, Instant]]:
    return tx.scheduled.create_runs(
        [
            SlotRun(
                namespace=NAMESPACE,
                id=given.run_id(1),
                name="invoice",
                version="",
                queue="billing",
                input=b"",
                at=Instant(1),
                timeout_for=None,
                unmet=0,
                schedule="nightly",
                slot=Instant(1),
                scheduled_at=Instant(1),
                cause="schedule",
            )
        ]
    )


class Hot(NamedTuple):
    call: Call
    indexes: frozenset[str]  # every table that is read is read by one of these


def hot(call: Call, *indexes: str) -> Hot:
    return Hot(call, frozenset(indexes))


HOT = {
    "claim_runs: nothing is due": hot(claiming(INVOICES, NOBODYS), CLAIM, RUN, PAYLOAD, GATES, *given_signals.WATCHING),
    "claim_runs: more is due than asked for": hot(
        claiming(REFUNDS, INVOICES), CLAIM, RUN, PAYLOAD, GATES, *given_signals.WATCHING
    ),
    "next_due_run: all is due later": hot(next_due(INVOICES, NOBODYS), CLAIM, GATES),
    "next_due_run: much is due": hot(next_due(REFUNDS, INVOICES), CLAIM, GATES),
    "complete_steps": hot(
        lambda tx: tx.steps.complete([given.completed(run, renew_for=HOUR, key=key) for run in HELD for key in "bc"]),
        RUN,
        STEP,
    ),
    "complete_steps: one": hot(lambda tx: tx.steps.complete([given.completed(HELD[0], key="c")]), RUN, STEP),
    "renew_claims": hot(lambda tx: tx.steps.complete([given.completed(HELD[0], renew_for=HOUR, key="c")]), RUN, STEP),
    "begin_steps: one": hot(lambda tx: tx.steps.begin([given.begun(HELD[0], key="c")]), RUN, STEP),
    "begin_steps": hot(lambda tx: tx.steps.begin([given.begun(run, key="c") for run in HELD]), RUN, STEP),
    "finish_runs": hot(
        lambda tx: tx.runs.finish([given.finished(run) for run in HELD]), RUN, PAYLOAD, *given_signals.WATCHING
    ),
    "finish_runs: one": hot(
        lambda tx: tx.runs.finish([given.finished(HELD[0])]), RUN, PAYLOAD, *given_signals.WATCHING
    ),
    "create_runs: one": hot(lambda tx: tx.runs.create([given.new_run(1)]), RUN, PAYLOAD, *given_signals.WATCHING),
    "create_runs": hot(
        lambda tx: tx.runs.create([given.new_run(1), given.new_run(2), given.new_run(id=FINISHED[0])]),
        RUN,
        PAYLOAD,
        *given_signals.WATCHING,
    ),
    "dispatch_runs": hot(dispatching(1, 2), RUN, PAYLOAD, GATES, *given_signals.WATCHING),
    "dispatch_runs: one": hot(dispatching(1), RUN, PAYLOAD, GATES, *given_signals.WATCHING),
    "take_keys: one": hot(taking("b"), KEY),
    "take_keys: free": hot(taking("b", "a", "c"), KEY),
    "take_keys: taken": hot(taking(*KEYS), KEY),
    "owners_of_keys": hot(lambda tx: tx.keys.owners(NAMESPACE, KEYS), KEY),
    "histories_of_runs": hot(lambda tx: tx.steps.histories(NAMESPACE, FINISHED), STEP),
    "open_waits": hot(lambda tx: tx.steps.open_waits(NAMESPACE, FINISHED[0]), STEP),
    "attempts_of_run": hot(lambda tx: tx.steps.attempts(NAMESPACE, FINISHED[0]), STEP),
    "matching_step": hot(lambda tx: tx.steps.matching([given.completed(HELD[0])]), STEP),
    "settle_steps": hot(settling, STEP),
    "outcomes_of_runs": hot(lambda tx: tx.runs.outcomes(NAMESPACE, FINISHED), RUN, PAYLOAD),
    "relatives_of_runs": hot(lambda tx: tx.runs.relatives(NAMESPACE, FINISHED), RUN),
    "endings_of_runs": hot(lambda tx: tx.runs.endings(NAMESPACE, FINISHED), RUN),
    "runs_of_poll": hot(
        lambda tx: tx.runs.claimed_by_poll(namespace=NAMESPACE, worker=WORKER, poll=1), HOLDER, PAYLOAD, LOG
    ),
    "renew_claim": hot(lambda tx: tx.runs.renew(namespace=NAMESPACE, id=HELD[0].id, token=1, visibility_for=HOUR), RUN),
    "save_run": hot(saving, RUN),
    "set_run_failure": hot(lambda tx: tx.runs.set_failure(NAMESPACE, HELD[0].id, given.FAILURE), PAYLOAD),
    "load_run": hot(lambda tx: tx.runs.load(NAMESPACE, HELD[0].id), RUN),
    "lock_run": hot(lambda tx: tx.runs.lock(NAMESPACE, HELD[0].id), RUN),
    "set_unretrieved": hot(lambda tx: tx.runs.set_unretrieved(NAMESPACE, HELD[0].id, Unretrieved(token=1)), PAYLOAD),
    "unretrieved_of_run": hot(lambda tx: tx.runs.unretrieved(NAMESPACE, FINISHED[0]), PAYLOAD),
    "view_run": hot(lambda tx: tx.runs.view(NAMESPACE, FINISHED[0]), RUN, PAYLOAD),
    "list_runs: the first page": hot(listing(), RUN),
    "list_runs: a later page": hot(listing(before=f"run_o{NUMBER + 100}"), RUN),
    "list_runs: of a status that is common": hot(listing(status=RunStatus.PENDING, before=f"run_o{NUMBER + 100}"), RUN),
    "list_runs: since when": hot(listing(created_after=Instant(1), before=f"run_o{NUMBER + 100}"), RUN),
    "list_children": hot(listing(parent=HELD[0].id), PARENT),
    "list_runs_of_schedule": hot(listing(schedule="nightly"), SCHEDULE),
    "list_runs_of_schedule: a later page": hot(listing(schedule="nightly", before=f"run_f{NUMBER + 900}"), SCHEDULE),
    "following_children": hot(lambda tx: tx.children.following(NAMESPACE, parents=[run.id for run in HELD]), PARENT),
    "own_children": hot(lambda tx: tx.children.own(running(), ids=FINISHED), RUN),
    "outcomes_of_children": hot(lambda tx: tx.children.outcomes(running(), ids=FINISHED), RUN, PAYLOAD),
    "end_runs": hot(
        lambda tx: tx.children.end([replace(running(), status=RunStatus.CANCELLED, finished_at=Instant(2))]), RUN
    ),
    "retry_of_run": hot(lambda tx: tx.retries.of(NAMESPACE, run_id=FINISHED[0]), RETRY),
    "places_of_steps": hot(lambda tx: tx.retries.places(NAMESPACE, run_id=FINISHED[0]), STEP),
    "copy_run": hot(copying, RUN, PAYLOAD),
    "copy_payload": hot(copying, RUN, PAYLOAD),
    "copy_steps": hot(filling, RUN, PARENT, STEP, INBOX, MESSAGE),
    "move_children": hot(filling, RUN, PARENT, STEP, INBOX, MESSAGE),
    "moved_graphs": hot(filling, RUN, PARENT, STEP, INBOX, MESSAGE),
    "copy_messages": hot(filling, RUN, PARENT, STEP, INBOX, MESSAGE),
    "move_key": hot(lambda tx: tx.retries.move_key(NAMESPACE, id=given.run_id(1), retry_of=FINISHED[0]), KEY, PAYLOAD),
    "lock_runs": hot(lambda tx: tx.runs.lock_all(NAMESPACE, ids=[run.id for run in HELD]), RUN),
    "standings_of_runs": hot(
        lambda tx: tx.runs.standings(NAMESPACE, ids=[run.id for run in HELD]), RUN, AWAITS, UNREAD, INBOX, MESSAGE
    ),
    "children_of_run": hot(lambda tx: tx.runs.children(NAMESPACE, parent=HELD[0].id), PARENT),
    "awaited_children": hot(lambda tx: tx.steps.awaited(NAMESPACE, run_id=HELD[0].id, children=FINISHED), AWAITS, STEP),
    "awaiting_event": hot(lambda tx: tx.steps.awaits_event(NAMESPACE, run_id=HELD[0].id, event="x"), AWAITS, STEP),
    "drop_waits": hot(lambda tx: tx.steps.drop(NAMESPACE, run_id=HELD[0].id, keys=["b", "c"]), STEP),
    "send_message": hot(sending, INBOX, MESSAGE),
    "message_by_id": hot(
        lambda tx: tx.inbox.find(NAMESPACE, run_id=HELD[0].id, kind=MessageKind.EVENT, id="m1"), MESSAGE
    ),
    "last_message": hot(lambda tx: tx.inbox.count(NAMESPACE, run_id=HELD[0].id), INBOX),
    "unread_messages": hot(
        lambda tx: tx.inbox.unread(NAMESPACE, run_id=HELD[0].id, kind=MessageKind.EVENT, name="x", limit=2), UNREAD
    ),
    "take_message": hot(lambda tx: tx.inbox.take(received(), by="b"), INBOX, UNREAD),
    "messages_of_run": hot(lambda tx: tx.inbox.of_run(NAMESPACE, run_id=HELD[0].id), INBOX),
    "share_gates": hot(lambda tx: tx.gates.share(NAMESPACE, served=[INVOICES]), GATES),
    "closed_gates": hot(lambda tx: tx.gates.closed(NAMESPACE), GATES),
    "append_log": hot(lambda tx: tx.log.append([noted(HELD[0].id)]), *given_signals.WATCHING),
    "log_of_subject": hot(lambda tx: tx.log.of_subject(NAMESPACE, kind="run", id=FINISHED[0]), LOG),
    "register_worker": hot(lambda tx: tx.workers.register(registering(WORKER)), WORKERS),
    "heartbeat_worker": hot(lambda tx: tx.workers.heartbeat(beating(WORKER)), WORKERS, OPEN),
    "probed_workers: those who hold something": hot(
        lambda tx: tx.workers.probed(NAMESPACE, by=WORKER, everyone=False), OPEN, HOLDER, WORKERS, KEEPER
    ),
    "probed_workers: everyone": hot(
        lambda tx: tx.workers.probed(NAMESPACE, by=WORKER, everyone=True), OPEN, HOLDER, WORKERS, KEEPER
    ),
    "draining_worker": hot(lambda tx: tx.workers.should_drain(NAMESPACE, id=WORKER), WORKERS, OPEN),
    "drain_worker": hot(lambda tx: tx.workers.drain(NAMESPACE, id=WORKER), WORKERS, OPEN),
    "lock_poll": hot(lambda tx: tx.polls.lock(NAMESPACE, id=WORKER), WORKERS, OPEN),
    "note_poll": hot(lambda tx: tx.polls.note(NAMESPACE, id=WORKER, poll=2), WORKERS, OPEN),
    "lock_pipeline_poll": hot(lambda tx: tx.polls.lock_for_pipelines(NAMESPACE, id=WORKER), WORKERS, OPEN),
    "note_pipeline_poll": hot(lambda tx: tx.polls.note_for_pipelines(NAMESPACE, id=WORKER, poll=2), WORKERS, OPEN),
    "find_worker": hot(lambda tx: tx.workers.find(NAMESPACE, id=WORKER), WORKERS, OPEN),
    "lock_runs_of_worker": hot(lambda tx: tx.runs.lock_held_by(NAMESPACE, worker=WORKER), HOLDER),
    "slots_in_use": hot(lambda tx: tx.runs.slots_in_use(NAMESPACE, worker=WORKER), WORKERS, OPEN, HOLDER, KEEPER),
    "live_workers": hot(lambda tx: tx.workers.live(NAMESPACE), OPEN, HOLDER, KEEPER),
    "stop_worker": hot(lambda tx: tx.workers.stop(NAMESPACE, id=WORKER), WORKERS, OPEN),
    "log_after: from the beginning": hot(lambda tx: tx.prune.log_after(NAMESPACE, after=0, limit=10), LOG_ORDER),
    "log_after: further on": hot(lambda tx: tx.prune.log_after(NAMESPACE, after=1_000, limit=10), LOG_ORDER),
    "ended_runs": hot(lambda tx: tx.prune.ended(NAMESPACE, ids=FINISHED), RUN),
    "lock_ended_runs": hot(lambda tx: tx.prune.lock_ended(NAMESPACE, ids=FINISHED), RUN),
    "ties_of_runs": hot(lambda tx: tx.prune.ties(NAMESPACE, ids=FINISHED), RUN, RETRY, LOG, PARENT),
    "ended_children": hot(
        lambda tx: tx.prune.ended_children(NAMESPACE, parent=FINISHED[0], after="", limit=10), PARENT
    ),
    "remove_payload": hot(removing, PAYLOAD, STEP, INBOX, MESSAGE, LOG, RUN, REMOVED, given_pipelines.EFFECTS),
    "remove_steps": hot(removing, PAYLOAD, STEP, INBOX, MESSAGE, LOG, RUN, REMOVED, given_pipelines.EFFECTS),
    "remove_messages": hot(removing, PAYLOAD, STEP, INBOX, MESSAGE, LOG, RUN, REMOVED, given_pipelines.EFFECTS),
    "remove_log": hot(removing, PAYLOAD, STEP, INBOX, MESSAGE, LOG, RUN, REMOVED, given_pipelines.EFFECTS),
    "remove_run": hot(removing, PAYLOAD, STEP, INBOX, MESSAGE, LOG, RUN, REMOVED, given_pipelines.EFFECTS),
    "note_removed_runs": hot(removing, PAYLOAD, STEP, INBOX, MESSAGE, LOG, RUN, REMOVED, given_pipelines.EFFECTS),
    "note_removing": hot(forgetting, LOG, LOG_ORDER, WORKERS, REMOVED, given_signals.SIGNALS),
    "remove_remark": hot(forgetting, LOG, LOG_ORDER, WORKERS, REMOVED, given_signals.SIGNALS),
    "feed_edge": hot(lambda tx: FeedQueries(tx.connection).edge(NAMESPACE), REMOVED),
    "feed_page: from the beginning": hot(feed_page(BEGINNING), LOG_FEED),
    "feed_page: further on": hot(feed_page(Place(0, 1_000)), LOG_FEED),
    "feed_page: at the end": hot(feed_page(HORIZON), LOG_FEED),
    "feed_of_subject": hot(
        lambda tx: FeedQueries(tx.connection).of_subject(
            NAMESPACE, subject=("run", FINISHED[0]), after=BEGINNING, before=HORIZON, limit=10
        ),
        LOG,
    ),
    "newest_of_feed": hot(lambda tx: FeedQueries(tx.connection).newest(NAMESPACE), LOG_FEED),
    "expired_keys": hot(lambda tx: tx.prune.expired_keys(from_at=Instant(0), limit=10), KEY_EXPIRES, RUN),
    "remove_key": hot(lambda tx: tx.prune.remove_keys([expired_key()]), KEY),
    "gone_workers": hot(lambda tx: tx.prune.gone_workers(gone_for=HOUR, from_at=Instant(0), limit=10), STOPPED, HOLDER),
    "remove_worker": hot(lambda tx: tx.prune.remove_workers([gone_worker()]), WORKERS, STOPPED),
    "create_slot_runs": hot(firing, RUN, PAYLOAD, SLOT, *given_signals.WATCHING),
    "fired_slots": hot(
        lambda tx: tx.scheduled.fired_slots(NAMESPACE, "nightly", first=Instant(1), last=Instant(9)), SLOT
    ),
    "open_runs_of_schedule": hot(lambda tx: tx.scheduled.open_runs(NAMESPACE, "nightly"), SCHEDULE_OPEN),
    "lock_queued_runs": hot(lambda tx: tx.scheduled.lock_queued(NAMESPACE, "nightly"), SCHEDULE_OPEN),
    "last_run_of_schedule": hot(lambda tx: tx.scheduled.last_run(NAMESPACE, "nightly"), SCHEDULE),
    "release_queued_run": hot(
        lambda tx: tx.scheduled.release(running(), status=RunStatus.PENDING, due_at=Instant(1)), RUN
    ),
    "due_schedules": hot(lambda tx: tx.schedules.due(limit=10), SCHEDULES_DUE, NAMESPACES),
    "next_schedule": hot(lambda tx: tx.schedules.next(after=Instant(1)), SCHEDULES_DUE, NAMESPACES),
    "late_runs": hot(lambda tx: tx.expiry.late(late_for=HOUR, limit=10), EXPIRES, given_graphs.GRAPHS),
    **{name: hot(call, *indexes) for name, (call, indexes) in given_graphs.HOT.items()},
    **{name: hot(call, *indexes) for name, (call, indexes) in given_pipelines.HOT.items()},
    **{name: hot(call, *indexes) for name, (call, indexes) in given_signals.HOT.items()},
    **{name: hot(call, *indexes) for name, (call, indexes) in given_pages.HOT.items()},
}

# Query: why it needs no guard.
COLD = {
    "enter_gates": "writes one row by its primary key, when a worker comes",
    "limit_lock": "reads no row",
    "lock_gates": "reads no row",
    "set_gate": "writes one row by its primary key, for a person",
    "load_gate": "reads one row by its primary key, for a person",
    "workflow_gates": "reads a row for each workflow of a namespace, for a person who gave a name that is not one",
    "open_workers": "reads all workers, which are few, asked for by a worker that has just come",
    "stopped_workers": "reads a row for each worker that stopped within a day, and what it holds, asked for by people",
    "silent_worker": "reads a row for each worker that has not stopped, every few seconds",
    "expire_workers": "the same, once one of them is silent",
    "count_due_runs": "reads what is not over, for people; test_queues shows that it reads nothing else",
    "count_parked_runs": "the same",
    "count_ended_runs": "reads what ended just now, for people; test_queues shows where it stops",
    "namespaces_of_log": "one probe of an index for each namespace",
    "keep_workflow": "writes one row by its primary key, when a worker comes",
    "forget_workflow": "the same",
    "kept_workflows": "reads a row for each workflow whose code says how long its runs are kept",
    "move_cursor": "writes one row by its primary key",
    "load_cursor": "reads one row by its primary key",
    "load_schedule": "reads one row by its primary key",
    "lock_schedule": "the same",
    "lock_free_schedule": "the same",
    "insert_schedule": "writes one row by its primary key, for a person or when a worker comes",
    "save_schedule": "writes one row by its primary key",
    "delete_schedule": "writes one row by its primary key, for a person",
    "list_schedules": "reads a row for each schedule of a namespace, for people",
    "schedules_of_program": "the same, when a worker comes",
    "drop_cursor": "writes one row by its primary key",
    "enter_namespace": "writes one row by its primary key, for a person",
    "load_namespace": "reads one row by its primary key",
    "lock_namespace": "the same",
    "set_namespace": "writes one row by its primary key, for a person",
    "page_of_namespaces": "a few probes of indexes for each namespace, for people",
    "use_of_namespace": "reads the first rows of a namespace by index, for people",
    "remove_keys_of_namespace": "removes what it reads, once, for a person",
    "remove_workers_of_namespace": "the same",
    "remove_gates_of_namespace": "the same",
    "remove_cursors_of_namespace": "the same",
    "remove_limits_of_namespace": "the same",
    "remove_namespace": "writes one row by its primary key, for a person",
    "insert_api_key": "writes one row by its primary key, for a person",
    "find_api_key": "reads one row by a unique index; the gate remembers the answer",
    "list_api_keys": "reads a row for each key, of which there are few, for people",
    "revoke_api_key": "writes one row by a unique index, for a person",
    "revoke_api_keys_of_namespace": "writes a row for each key of a namespace, once, for a person",
    "append_audit": "writes one row",
    "audit_of_namespace": "reads a page by the primary key, for people",
    "audit_of_all": "reads a page by an index of numbers, for people",
    "slowest_cursor": "reads a row for each program that reads the log, of which there are few",
    **given_graphs.COLD,
    **given_pipelines.COLD,
    **given_signals.COLD,
    **given_pages.COLD,
}

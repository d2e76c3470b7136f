"""Signals, what they have fired and work items by the thousand, and the calls about a few of them.

sig_f…   have fired, once; what they fired is done       as many as runs are finished
sig_l…   live, on the runs that are due later; what they fired is due in the far future
sig_t…   of times, all of them in the far future
sig_h…   live, on runs that somebody holds; each has fired, and wrk_3 is at it
         and two more that are live: sig_i on every item, sig_w on the workflow "refund", which has fired very often
itm_f…   work items that are done, and itm_l… such that are ready; each with a task
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from msgspec.structs import replace

from tests.conformance.given import NAMESPACE
from windlass.model.item import Item, ItemId, ItemStatus, ListItems, Task, TaskId, TaskStatus
from windlass.model.run import RunId
from windlass.model.signal import (
    Action,
    FiringId,
    FiringRow,
    FiringStatus,
    ListFirings,
    ListSignals,
    Signal,
    SignalId,
    SignalStatus,
    Trigger,
    TriggerKind,
)
from windlass.model.time import HOUR, Instant
from windlass.store.base import Tx
from windlass.store.queries.firings import NewFiring
from windlass.store.queries.log import NewLogEntry
from windlass.store.queries.signal_upkeep import EndedFiring, EndedSignal, SignalUpkeep

Call = Callable[[Tx], Awaitable[Any]]

NUMBER = 1_000_000
FAR = 9_000_000_000_000_000
HOLDER = "wrk_3"
HELD = [SignalId(f"sig_h{NUMBER + number}") for number in (3, 1, 2)]
FIRED = [SignalId(f"sig_f{NUMBER + number}") for number in (30, 10, 20)]
LATER = SignalId(f"sig_l{NUMBER + 1}")
ITEM, READY = ItemId(f"itm_f{NUMBER + 1}"), ItemId(f"itm_l{NUMBER + 1}")
RUNS = [RunId(f"run_h{NUMBER + number}") for number in (3, 1, 2)]
STARTED = [RunId(f"run_f{NUMBER + number}") for number in (30, 10, 20)]
CAUSE = "1"

SIGNALS, SUBJECT, LIVE, DUE_SIGNALS = "signals_pkey", "signals_subject", "signals_live", "signals_due"
OVER, KEYED, PROGRAM = "signals_over", "signals_key", "signals_program"
FIRINGS, DUE, OPEN, QUEUED = "firings_pkey", "firings_due", "firings_open", "firings_held"
FAILED, OF_SUBJECT, CREATED, OF_RUN = "firings_failed", "firings_subject", "firings_created", "firings_run"
ENDED, OF_SIGNAL = "firings_ended", "firings_signal"
ITEMS, ITEM_KEY, ITEM_STATUS = "items_pkey", "items_key", "items_status"
TASKS, OF_ITEM, CURSORS = "tasks_pkey", "tasks_item", "signal_cursors_pkey"
RUN, LOG, PIPELINES, NAMESPACES = "runs_pkey", "log_subject", "pipelines_pkey", "namespaces_pkey"
# What a transition may look at to find those who watch it.
WATCHING = (LIVE, LOG, RUN)

# By fewer columns, it would be a walk through all signals of a namespace, or through all that one has fired.
ENTERED_BY = {
    SIGNALS: ("namespace", "id"),
    SUBJECT: ("namespace", "subject_kind", "subject"),
    LIVE: (),  # it holds nothing that is over, and the first is enough
    DUE_SIGNALS: (),  # the same
    OVER: ("changed_at",),
    KEYED: ("namespace", "key"),
    PROGRAM: ("namespace", "declared_in"),
    FIRINGS: ("namespace", "signal_id"),  # and the cause; or all of one signal, to remove them
    DUE: (),  # in the order of time, and the first is enough
    OPEN: ("namespace", "signal_id"),  # it holds nothing that is over
    QUEUED: ("namespace", "signal_id"),  # it holds what waits because a signal is paused
    FAILED: ("namespace", "signal_id"),
    OF_SUBJECT: ("namespace", "signal_id", "subject_id"),
    CREATED: ("namespace", "created_at"),
    OF_SIGNAL: ("namespace", "signal_id", "created_at"),
    OF_RUN: ("namespace", "run_id"),
    ENDED: ("ended_at",),
    ITEMS: ("namespace", "id"),
    ITEM_KEY: ("namespace", "key"),
    ITEM_STATUS: ("namespace", "status"),
    TASKS: ("namespace", "id"),
    OF_ITEM: ("namespace", "item_id"),
    CURSORS: ("namespace",),
}


def fill(series: str, blob: Callable[[str], str], *, finished: int, later: int) -> Iterator[str]:
    """All signals live and all firings queued at first: that is the worst moment for statistics."""
    columns = (
        "namespace, id, key, kind, subject_kind, subject, enters, action, repeats, status, is_live, available_at,"
        " declared_in, is_declared, armed_xid, armed_seq, created_at, changed_at"
    )
    rest = f"{blob('{}')}, 0, 'armed', 1"
    run, when = "'run.status.transition', 'run', 'run_{}' || ({} + i), ',completed,failed,'", "0, 0, 0, 1, 1"
    for letter, count in (("f", finished), ("l", later), ("h", 3)):
        yield (
            f"insert into signals ({columns}) select '{NAMESPACE}', 'sig_{letter}' || ({NUMBER} + i),"
            f" 'key of {letter}' || i, {run.format(letter, NUMBER)}, {rest}, null, 'shop-' || i, {when}"
            f" from {series.format(count=count)}"
        )
    yield (
        f"insert into signals ({columns}) select '{NAMESPACE}', 'sig_t' || ({NUMBER} + i), null, 'time', 'time', '',"
        f" ',', {rest}, {FAR} + i, null, {when} from {series.format(count=later)}"
    )
    for letter, kind, watched in (
        ("i", "work_item", "'item', '*', ',done,'"),
        ("w", "workflow", "'workflow', 'refund', ',failed,'"),
    ):
        yield (
            f"insert into signals ({columns}) values ('{NAMESPACE}', 'sig_{letter}', null,"
            f" '{kind}.status.transition', {watched}, {rest}, null, null, {when})"
        )
    yield from _firings(series, finished=finished, later=later)
    yield from _items(series, blob, finished=finished, later=later)


def _firings(series: str, *, finished: int, later: int) -> Iterator[str]:
    columns = (
        "namespace, signal_id, cause, subject_kind, subject_id, to_status, happened_at, status, available_at,"
        " created_at"
    )
    for letter, count in (("f", finished), ("l", later), ("h", 3)):
        yield (
            f"insert into firings ({columns}) select '{NAMESPACE}', 'sig_{letter}' || ({NUMBER} + i), '{CAUSE}',"
            f" 'run', 'run_{letter}' || ({NUMBER} + i), 'completed', 1, 'queued', {FAR} + i, i"
            f" from {series.format(count=count)}"
        )
    # One signal has fired very often.
    yield (
        f"insert into firings ({columns}) select '{NAMESPACE}', 'sig_w', {NUMBER} + i, 'run',"
        f" 'run_f' || ({NUMBER} + i), 'failed', 1, 'queued', {FAR} + i, i from {series.format(count=finished)}"
    )


def _items(series: str, blob: Callable[[str], str], *, finished: int, later: int) -> Iterator[str]:
    for letter, count in (("f", finished), ("l", later)):
        yield (
            "insert into items (namespace, id, title, status, priority, data, key, created_at, changed_at)"
            f" select '{NAMESPACE}', 'itm_{letter}' || ({NUMBER} + i), 'Ship it', 'ready', 0, {blob('{}')},"
            f" 'key of {letter}' || i, 1, 1 from {series.format(count=count)}"
        )
        yield (
            "insert into tasks (namespace, id, item_id, title, status, created_at)"
            f" select '{NAMESPACE}', 'tsk_{letter}' || ({NUMBER} + i), 'itm_{letter}' || ({NUMBER} + i), 'Pack it',"
            f" 'queued', 1 from {series.format(count=count)}"
        )


def move_on() -> Iterator[str]:
    yield "update items set status = 'done', ended_at = 2 where id like 'itm_f%'"
    yield "update signals set status = 'fired', is_live = 0, changed_at = 2 where id like 'sig_f%'"
    yield (
        "update firings set status = 'done', available_at = null, ended_at = 2, run_id = subject_id"
        " where signal_id like 'sig_f%' or signal_id = 'sig_w'"
    )
    yield f"update firings set status = 'running', token = 1, worker = '{HOLDER}' where signal_id like 'sig_h%'"
    yield "update runs set armed = 1 where id like 'run_h%' or id like 'run_l%'"


# The calls


def signal(id: SignalId, **changes: Any) -> Signal:
    kept = Signal(
        namespace=NAMESPACE,
        id=id,
        key=None,
        trigger=Trigger(kind=TriggerKind.RUN, subject=RUNS[0], to=("completed",)),
        action=Action(),
        payload=None,
        repeats=False,
        status=SignalStatus.ARMED,
        reason=None,
        fired=0,
        last_fired_at=None,
        available_at=None,
        declared_in=None,
        is_declared=False,
        armed_xid=0,
        armed_seq=0,
        changed_by=None,
        created_at=Instant(1),
        changed_at=Instant(1),
    )
    return replace(kept, **changes)


def firing(signal_id: SignalId, *, cause: str = CAUSE) -> FiringRow:
    return FiringRow(
        namespace=NAMESPACE,
        id=FiringId(f"{signal_id}.{cause}"),
        signal_id=signal_id,
        cause=cause,
        subject_kind="run",
        subject_id=RUNS[0],
        from_status="running",
        to_status="completed",
        happened_at=Instant(1),
        status=FiringStatus.RUNNING,
        available_at=Instant(FAR),
        token=1,
        worker=HOLDER,
        attempt=1,
        error=None,
        depth=0,
        run_id=None,
        task_id=None,
        created_at=Instant(1),
        ended_at=None,
    )


def done(signal_id: SignalId) -> tuple[FiringRow, FiringRow]:
    was = firing(signal_id)
    return replace(was, status=FiringStatus.DONE, available_at=None, ended_at=Instant(2)), was


def new_firing(signal_id: SignalId) -> NewFiring:
    return NewFiring(
        namespace=NAMESPACE,
        signal_id=signal_id,
        cause="2",
        subject_kind="run",
        subject_id=RUNS[0],
        from_status="running",
        to_status="completed",
        happened_at=Instant(1),
        available_at=Instant(1),
    )


def item(id: str, status: ItemStatus = ItemStatus.READY) -> Item:
    return Item(
        namespace=NAMESPACE,
        id=ItemId(id),
        title="Ship it",
        status=status,
        priority=0,
        data=None,
        key=None,
        created_at=Instant(1),
        changed_at=Instant(1),
        ended_at=None,
    )


def task(id: str, status: TaskStatus = TaskStatus.QUEUED) -> Task:
    return Task(
        namespace=NAMESPACE,
        id=TaskId(id),
        item_id=READY,
        title="Pack it",
        status=status,
        data=None,
        firing_id=None,
        created_at=Instant(1),
    )


def noting(kind: str, id: str, status: str) -> Call:
    entry = NewLogEntry(
        namespace=NAMESPACE, subject_kind=kind, subject_id=id, from_status=None, to_status=status, cause="move"
    )
    return lambda tx: tx.log.append([entry])


async def placing(tx: Tx) -> None:
    await noting("signal", HELD[0], "armed")(tx)
    await tx.arming.place(NAMESPACE, HELD[0])


def upkeep(call: Callable[[SignalUpkeep], Awaitable[Any]]) -> Call:
    return lambda tx: call(SignalUpkeep(tx.connection))


def page_of_firings(**fields: Any) -> Call:
    return lambda tx: tx.firings.list(ListFirings(namespace=NAMESPACE, limit=10, **fields))


def page_of_signals(**fields: Any) -> Call:
    return lambda tx: tx.signals.list(ListSignals(namespace=NAMESPACE, limit=10, **fields))


def page_of_items(**fields: Any) -> Call:
    return lambda tx: tx.items.list(ListItems(namespace=NAMESPACE, limit=10, **fields))


ENDED_SIGNALS = [EndedSignal(namespace=NAMESPACE, id=id, at=Instant(2), is_needed=False) for id in FIRED]
ENDED_FIRINGS = [
    EndedFiring(namespace=NAMESPACE, signal_id=id, cause=CAUSE, at=Instant(2), is_needed=False) for id in FIRED
]

HOT: dict[str, tuple[Call, tuple[str, ...]]] = {
    "append_log: of a run that is watched": (noting("run", RUNS[0], "completed"), WATCHING),
    "append_log: of a run that nobody watches any more": (noting("run", STARTED[0], "completed"), WATCHING),
    "append_log: of an item": (noting("item", READY, "done"), WATCHING),
    "append_log: of a signal": (noting("signal", HELD[0], "fired"), WATCHING),
    "arm_run": (lambda tx: tx.arming.arm(NAMESPACE, subject_kind="run", id=RUNS[0]), (RUN,)),
    "arm_item": (lambda tx: tx.arming.arm(NAMESPACE, subject_kind="item", id=READY), (ITEMS,)),
    "arm_pipeline": (lambda tx: tx.arming.arm(NAMESPACE, subject_kind="pipeline", id="payments"), (PIPELINES,)),
    "newest_entry": (placing, (LOG, *WATCHING)),
    "insert_signal": (lambda tx: tx.signals.insert(signal(SignalId("sig_new"))), (SIGNALS, KEYED)),
    "save_signals": (lambda tx: tx.signals.save([signal(id) for id in HELD]), (SIGNALS,)),
    "count_firing": (
        lambda tx: tx.signals.count_firings(
            [(signal(id, fired=1, status=SignalStatus.FIRED), signal(id)) for id in HELD]
        ),
        (SIGNALS,),
    ),
    "load_signal": (lambda tx: tx.signals.load(NAMESPACE, HELD[0]), (SIGNALS,)),
    "load_signals": (lambda tx: tx.signals.load_all(NAMESPACE, ids=[*HELD, *FIRED]), (SIGNALS,)),
    "lock_signals": (lambda tx: tx.signals.lock(NAMESPACE, ids=[*HELD, *FIRED]), (SIGNALS,)),
    "signal_by_key": (lambda tx: tx.signals.by_key(NAMESPACE, "key of l1"), (KEYED,)),
    "signals_on": (
        lambda tx: tx.signals.on(NAMESPACE, subject_kind="run", subjects=[*RUNS, *STARTED]),
        (LIVE, SUBJECT),
    ),
    "signals_of_program": (lambda tx: tx.signals.of_program(NAMESPACE, "shop-7"), (PROGRAM,)),
    "list_signals": (page_of_signals(), (SIGNALS,)),
    "list_signals: a later page": (page_of_signals(before=f"sig_l{NUMBER + 200}"), (SIGNALS,)),
    "list_signals_on": (page_of_signals(subject_kind="run", subject=RUNS[0]), (SUBJECT,)),
    "move_signals": (lambda tx: tx.watch.move(NAMESPACE, id=RunId("run_new"), retry_of=RUNS[0]), (LIVE,)),
    "watched_namespaces": (lambda tx: tx.watch.namespaces(), (LIVE,)),
    "lock_due_signals": (lambda tx: tx.watch.lock_due(limit=10), (DUE_SIGNALS, NAMESPACES)),
    "next_signal": (lambda tx: tx.watch.next(), (DUE_SIGNALS, DUE, NAMESPACES)),
    "next_firing": (lambda tx: tx.watch.next(), (DUE_SIGNALS, DUE, NAMESPACES)),
    "patterns_of_namespace": (lambda tx: tx.watch.patterns(NAMESPACE), (LIVE,)),
    "names_of_runs": (lambda tx: tx.watch.names_of_runs(NAMESPACE, [*RUNS, *STARTED]), (RUN,)),
    "insert_firings": (lambda tx: tx.firings.insert([new_firing(id) for id in HELD]), (FIRINGS,)),
    "lock_due_firings": (lambda tx: tx.firings.lock_due(limit=10), (DUE, NAMESPACES)),
    "lock_claimed_firings": (
        lambda tx: tx.firings.lock_claimed(
            NAMESPACE, firings=[firing(HELD[0]), firing(SignalId("sig_w"), cause=f"{NUMBER + 1}")], worker=HOLDER
        ),
        (FIRINGS,),
    ),
    "save_firings": (lambda tx: tx.firings.save([done(id) for id in HELD]), (FIRINGS,)),
    "hold_firings": (lambda tx: tx.held_firings.hold(NAMESPACE, LATER), (OPEN,)),
    "release_firings": (lambda tx: tx.held_firings.release(NAMESPACE, LATER), (QUEUED,)),
    "requeue_firings": (lambda tx: tx.held_firings.requeue_failed(NAMESPACE, LATER), (FAILED,)),
    "supersede_firings": (lambda tx: tx.held_firings.supersede(NAMESPACE, LATER, error="no"), (OPEN,)),
    "count_firings": (lambda tx: tx.firings.count(NAMESPACE, SignalId("sig_w")), (OPEN, FAILED)),
    "list_firings": (page_of_firings(), (CREATED,)),
    "list_firings: a later page": (page_of_firings(before=f"200:sig_f{NUMBER + 200}.{CAUSE}"), (CREATED,)),
    "list_firings_of_signal": (page_of_firings(signal_id=SignalId("sig_w")), (OF_SIGNAL,)),
    "list_firings_of_signal: a later page": (
        page_of_firings(signal_id=SignalId("sig_w"), before=f"200:sig_w.{NUMBER + 200}"),
        (OF_SIGNAL,),
    ),
    "depths_of_runs": (lambda tx: tx.firings.depths(NAMESPACE, runs=[*RUNS, *STARTED]), (OF_RUN,)),
    "subjects_done": (
        lambda tx: tx.firings.done_for(NAMESPACE, signal_id=SignalId("sig_w"), subjects=[*RUNS, *STARTED]),
        (OF_SUBJECT,),
    ),
    "insert_item": (lambda tx: tx.items.insert(item("itm_new")), (ITEMS, ITEM_KEY)),
    "load_item": (lambda tx: tx.items.load(NAMESPACE, READY), (ITEMS,)),
    "lock_item": (lambda tx: tx.items.lock(NAMESPACE, READY), (ITEMS,)),
    "item_by_key": (lambda tx: tx.items.by_key(NAMESPACE, "key of l1"), (ITEM_KEY,)),
    "list_items": (page_of_items(), (ITEMS,)),
    "list_items: a later page": (page_of_items(before=f"itm_l{NUMBER + 200}"), (ITEMS,)),
    "list_items_of_status": (page_of_items(status=ItemStatus.DONE), (ITEM_STATUS,)),
    "list_items_of_status: of which there are none": (page_of_items(status=ItemStatus.BLOCKED), (ITEM_STATUS,)),
    "move_item": (lambda tx: tx.items.move(item(READY, ItemStatus.DOING), was=ItemStatus.READY), (ITEMS, ITEM_STATUS)),
    "delete_item": (lambda tx: tx.items.delete(NAMESPACE, ITEM), (ITEMS, OF_ITEM)),
    "delete_tasks_of_item": (lambda tx: tx.items.delete(NAMESPACE, ITEM), (ITEMS, OF_ITEM)),
    "insert_tasks": (lambda tx: tx.tasks.insert([task("tsk_new")]), (TASKS,)),
    "load_task": (lambda tx: tx.tasks.load(NAMESPACE, TaskId(f"tsk_l{NUMBER + 1}")), (TASKS,)),
    "tasks_of_item": (lambda tx: tx.tasks.of_item(NAMESPACE, READY, limit=10), (OF_ITEM,)),
    "count_open_tasks": (lambda tx: tx.tasks.count_open(NAMESPACE, READY), (OF_ITEM,)),
    "end_task": (lambda tx: tx.tasks.end(task(f"tsk_l{NUMBER + 1}", TaskStatus.COMPLETED)), (TASKS,)),
    "cancel_tasks_of_item": (lambda tx: tx.tasks.cancel_of(NAMESPACE, READY, by=None, note="over"), (OF_ITEM,)),
    "delete_signal": (lambda tx: tx.signals.delete(NAMESPACE, FIRED[0]), (SIGNALS, FIRINGS)),
    "ended_signals": (
        upkeep(lambda queries: queries.ended_signals(keep_for=HOUR, from_at=Instant(0), limit=10)),
        (OVER, OPEN),
    ),
    "ended_firings": (
        upkeep(lambda queries: queries.ended_firings(keep_for=HOUR, from_at=Instant(0), limit=10)),
        (ENDED, SIGNALS, RUN, ITEMS),
    ),
    "remove_ended_signal": (upkeep(lambda queries: queries.remove_signals(ENDED_SIGNALS)), (SIGNALS, FIRINGS)),
    "remove_ended_firings": (upkeep(lambda queries: queries.remove_signals(ENDED_SIGNALS)), (SIGNALS, FIRINGS)),
    "remove_firing": (upkeep(lambda queries: queries.remove_firings(ENDED_FIRINGS)), (FIRINGS,)),
}

COLD = {
    "lock_signal_cursor": "reads one row by its primary key",
    "begin_signal_cursor": "writes one row by its primary key, when somebody begins to watch a workflow",
    "hold_signal_cursor": "the same",
    "move_signal_cursor": "writes one row by its primary key",
    "delete_firings_of_signal": "removes what it reads, once, for a person",
    "look_at_signals": "reads what is live or late, up to a limit, for people",
    "failed_signals": "reads what is live, for a person",
    "broken_signals": "the same",
    "live_signals": "the same",
    "remove_firings_of_namespace": "removes what it reads, once, for a person",
    "remove_signals_of_namespace": "the same",
    "remove_examined_of_namespace": "the same",
}

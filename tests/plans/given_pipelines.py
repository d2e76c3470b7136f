"""Pipelines, events and attempts by the thousand, and the calls about a few of them.

pay-…     idle pipelines, each with a handler and a topic of its own; every other one is due in the far future
payments  is held by wrk_3; its topic "orders" has events that are consumed, one of them by each of the attempts hrn_f…
          and as many that wait. Three more are reserved by hrn_h…, whose effect is open
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from msgspec.structs import replace

from tests.conformance.given import NAMESPACE
from tests.integration.cli.pipeline_samples import a_pipeline, an_attempt, an_effect
from windlass.model.claims import Renewal
from windlass.model.commands import CompleteStep
from windlass.model.effect import Effect, EffectStatus
from windlass.model.pipeline import (
    EventRow,
    EventStatus,
    Handler,
    HandlerKind,
    HandlerRun,
    HandlerRunId,
    HandlerSpec,
    HandlerStatus,
    InputId,
    NewInput,
    Phase,
    Reservation,
)
from windlass.model.pipeline_commands import ListEvents, ListHandlerRuns, ListInputs
from windlass.model.run import RunId, WorkerId
from windlass.model.step import StepKind
from windlass.model.time import Duration, Instant
from windlass.store.base import Tx
from windlass.store.queries.events import StoredEvent
from windlass.store.queries.pipelines import State
from windlass.store.queries.prune import EndedAttempt, PruneAttempts

Call = Callable[[Tx], Awaitable[Any]]

NUMBER = 1_000_000
FAR = 9_000_000_000_000_000
PAYMENTS, ORDERS, LATER = "payments", "orders", "later"
OTHERS = [f"pay-{NUMBER + number}" for number in (3, 1, 2)]
HELD, FORMER = HandlerRunId(f"hrn_h{NUMBER + 1}"), HandlerRunId(f"hrn_f{NUMBER + 1}")
SPEC = '{"name":"charge","kind":"consumer","topics":["orders"]}'
RETRY = '{"max_attempts":6,"initial_for":1}'

PIPELINES, KEEPER = "pipelines_pkey", "pipelines_held"
HANDLERS, TOPICS, ATTEMPTS = "handlers_pkey", "topics_pkey", "handler_runs_pkey"
TITLED, LATEST, BY_HANDLER = "handler_runs_titled", "handler_runs_newest", "handler_runs_handler"
EVENTS, PENDING, TAKEN, MADE = "events_pkey", "events_pending", "events_taken", "events_created"
ORDER, EFFECTS, OPEN_EFFECTS = "events_seq", "effects_pkey", "effects_open"
INPUTS, NEWEST, CAUSES, OF_EVENT = "inputs_pkey", "inputs_newest", "causes_pkey", "causes_event"

# By fewer columns, it would be a walk through the namespace, or through all that a pipeline ever did.
ENTERED_BY = {
    PIPELINES: ("namespace", "name"),
    KEEPER: ("namespace", "worker"),
    HANDLERS: ("namespace", "pipeline"),
    TOPICS: ("namespace", "name"),
    ATTEMPTS: ("namespace", "id"),
    TITLED: ("namespace", "pipeline"),
    LATEST: ("namespace", "pipeline"),  # from the newest on, as far as was asked for
    BY_HANDLER: ("namespace", "pipeline"),
    EVENTS: ("namespace", "pipeline", "topic", "id"),
    PENDING: ("namespace", "pipeline", "topic"),
    TAKEN: ("namespace", "reserved_by"),
    MADE: ("namespace", "created_by"),
    ORDER: ("namespace", "pipeline", "seq"),
    EFFECTS: ("namespace", "owner"),
    OPEN_EFFECTS: ("namespace", "subject"),
    INPUTS: ("namespace", "pipeline", "id"),
    NEWEST: ("namespace", "pipeline"),  # from the newest on, as far as was asked for
    CAUSES: ("namespace", "pipeline", "input"),
    OF_EVENT: ("namespace", "pipeline", "topic", "event"),
}


def fill(series: str, blob: Callable[[str], str], *, finished: int, later: int) -> Iterator[str]:
    columns = (
        "namespace, name, queue, revision, status, run_id, available_at, token, worker, poll, seq, retry, declared_in,"
        " created_at, changed_at"
    )
    yield (
        f"insert into pipelines ({columns}) select '{NAMESPACE}', 'pay-' || ({NUMBER} + i), 'billing', 'r', 'idle',"
        f" null, case when i % 2 = 1 then {FAR} + i end, 1, null, 0, 1, {blob(RETRY)}, 'shop', 1, 1"
        f" from {series.format(count=later)}"
    )
    yield (
        f"insert into pipelines ({columns}) values ('{NAMESPACE}', '{PAYMENTS}', 'billing', 'r', 'running', '{HELD}',"
        f" {FAR}, 1, 'wrk_3', 1, {3 * NUMBER}, {blob(RETRY)}, 'shop', 1, 1)"
    )
    yield (
        "insert into handlers (namespace, pipeline, name, position, spec)"
        f" select namespace, name, 'charge', 0, {blob(SPEC)} from pipelines"
    )
    yield (
        "insert into topics (namespace, name, pipeline, handler, is_subscribed)"
        f" select namespace, case when name = '{PAYMENTS}' then '{ORDERS}' else 'topic of ' || name end, name,"
        " 'charge', 1 from pipelines"
    )
    yield from _attempts(series, blob, finished=finished)
    yield from _events(series, blob, finished=finished, later=later)


def _attempts(series: str, blob: Callable[[str], str], *, finished: int) -> Iterator[str]:
    columns = (
        "namespace, id, pipeline, handler, kind, retry_of, attempt, phase, status, outcome, token, news, title,"
        " created_at, updated_at, ended_at"
    )
    for letter, count, rest in (
        ("f", finished, "'committed', 'committed', 'success', 1, 1, 'Charge', 1, 1, 1"),
        ("h", 3, "'mutating', 'active', null, 1, 1, '', 1, 1, null"),
    ):
        yield (
            f"insert into handler_runs ({columns}) select '{NAMESPACE}', 'hrn_{letter}' || ({NUMBER} + i),"
            f" '{PAYMENTS}', 'charge', 'consumer', null, 1, {rest} from {series.format(count=count)}"
        )
    for letter, count, status in (("f", finished, "applied"), ("h", 3, "in_flight")):
        yield (
            "insert into effects (namespace, owner, step_key, attempt, subject_kind, subject, name, params,"
            " idempotency_key, status, token, has_reconcile, reconcile_after, created_at, updated_at)"
            f" select '{NAMESPACE}', 'hrn_{letter}' || ({NUMBER} + i), '', 1, 'pipeline', '{PAYMENTS}', 'charge',"
            f" {blob('{}')}, 'key', '{status}', 1, 1, 1, 1, 1 from {series.format(count=count)}"
        )


def _events(series: str, blob: Callable[[str], str], *, finished: int, later: int) -> Iterator[str]:
    """All of them pending at first: that is the worst moment for statistics."""
    columns = (
        "namespace, pipeline, topic, id, seq, version, payload, status, created_by, causes, created_at, updated_at"
    )
    for letter, count, topic, offset in (
        ("f", finished, ORDERS, 0),
        ("h", 3, ORDERS, NUMBER),
        ("p", later, ORDERS, 2 * NUMBER),
        ("l", later, LATER, 2 * NUMBER + 500_000),
    ):
        yield (
            f"insert into events ({columns}) select '{NAMESPACE}', '{PAYMENTS}', '{topic}', '{letter}' ||"
            f" ({NUMBER} + i), {offset} + i, {offset} + i, {blob('{}')}, 'pending', 'hrn_f' || ({NUMBER} + i),"
            f" '[\"inp_' || ({NUMBER} + i) || '\"]', 1, 1 from {series.format(count=count)}"
        )
    yield (
        "insert into inputs (namespace, pipeline, id, source, type, external_id, title, created_at)"
        f" select '{NAMESPACE}', '{PAYMENTS}', 'inp_' || ({NUMBER} + i), 'mail', 'order', 'x', '', {FAR} + i"
        f" from {series.format(count=finished)}"
    )
    for letter, count, topic in (("f", finished, ORDERS), ("p", later, ORDERS), ("l", later, LATER)):
        yield (
            "insert into causes (namespace, pipeline, input, topic, event)"
            f" select '{NAMESPACE}', '{PAYMENTS}', 'inp_' || ({NUMBER} + i), '{topic}', '{letter}' || ({NUMBER} + i)"
            f" from {series.format(count=count)}"
        )


def move_on() -> Iterator[str]:
    yield "update events set status = 'consumed', reserved_by = 'hrn_' || id where id like 'f%'"
    yield "update events set status = 'reserved', reserved_by = 'hrn_' || id where id like 'h%'"


# The calls


def attempt(id: HandlerRunId, **changes: Any) -> HandlerRun:
    run = an_attempt(phase=Phase.PREPARED, id=id, pipeline=PAYMENTS)
    return replace(run, **changes)


def ledger(owner: str, **changes: Any) -> Effect:
    return replace(an_effect(EffectStatus.NEEDS_RECONCILE, owner=owner, subject=PAYMENTS), **changes)


def nothing(id: HandlerRunId) -> tuple[None, None]:
    return None, None


def stored(*ids: str) -> list[StoredEvent]:
    return [
        StoredEvent(
            namespace=NAMESPACE,
            pipeline=PAYMENTS,
            topic=ORDERS,
            id=id,
            seq=4 * NUMBER + number,
            version=4 * NUMBER + number,
            payload=b"{}",
            created_by=None,
            causes=None,
        )
        for number, id in enumerate(ids)
    ]


def event(id: str) -> EventRow:
    return EventRow(
        topic=ORDERS,
        id=id,
        seq=1,
        version=1,
        payload=b"",
        status=EventStatus.PENDING,
        attempt=1,
        reserved_by=None,
        created_by=None,
        causes=(),
        created_at=Instant(1),
        updated_at=Instant(1),
    )


def handler() -> Handler:
    return Handler(
        namespace=NAMESPACE,
        pipeline=PAYMENTS,
        name="charge",
        position=0,
        spec=HandlerSpec(name="charge", kind=HandlerKind.CONSUMER, topics=(ORDERS,)),
        next_at=None,
        is_queued=False,
        wake_at=None,
        news=1,
        seen=1,
        is_declared=True,
        has_state=True,
    )


WAITING = [f"p{NUMBER + number}" for number in (3, 1, 2)]
CHOSEN = [Reservation(topic=ORDERS, id=id, version=1) for id in WAITING]
HELD_RUNS = [HandlerRunId(f"hrn_h{NUMBER + number}") for number in (3, 1, 2)]
STEP = CompleteStep(
    namespace=NAMESPACE,
    run_id=RunId(HELD),
    token=1,
    key="",
    kind=StepKind.STEP,
    attempt=1,
    failures=0,
    input_hash=b"",
    order=1,
    output=b"1",
    ran_for=Duration(1),
)

HOT: dict[str, tuple[Call, tuple[str, ...]]] = {
    "lock_pipelines": (lambda tx: tx.pipelines.lock(NAMESPACE, names=[PAYMENTS, *OTHERS]), (PIPELINES,)),
    "lock_due_pipelines": (lambda tx: tx.pipelines.lock_due(NAMESPACE, names=[PAYMENTS, *OTHERS]), (PIPELINES,)),
    "lock_held_pipelines": (
        lambda tx: tx.pipelines.lock_held_by(NAMESPACE, worker=WorkerId("wrk_3")),
        (KEEPER, PIPELINES),
    ),
    "load_pipeline": (lambda tx: tx.pipelines.load(NAMESPACE, name=PAYMENTS), (PIPELINES,)),
    "look_at_pipelines": (lambda tx: tx.pipelines.look(NAMESPACE, names=[PAYMENTS, *OTHERS]), (PIPELINES,)),
    "save_pipelines": (lambda tx: tx.pipelines.save([a_pipeline(name=PAYMENTS)]), (PIPELINES,)),
    "renew_pipelines": (
        lambda tx: tx.pipelines.renew_all(NAMESPACE, [Renewal(id=PAYMENTS, token=1, visibility_for=Duration(1))]),
        (PIPELINES,),
    ),
    "handlers_of_pipelines": (lambda tx: tx.handlers.of(NAMESPACE, pipelines=[PAYMENTS, *OTHERS]), (HANDLERS,)),
    "save_handlers": (lambda tx: tx.handlers.save([handler()]), (HANDLERS,)),
    "save_states": (
        lambda tx: tx.handlers.save_states([State(namespace=NAMESPACE, pipeline=PAYMENTS, name="charge", state=b"1")]),
        (HANDLERS,),
    ),
    "load_state": (lambda tx: tx.handlers.state(handler()), (HANDLERS,)),
    "subscribers": (lambda tx: tx.handlers.subscribers(NAMESPACE, topics=[ORDERS, f"topic of {OTHERS[0]}"]), (TOPICS,)),
    "create_handler_runs": (
        lambda tx: tx.handler_runs.create([attempt(HandlerRunId("hrn_new"))], nothing),
        (ATTEMPTS,),
    ),
    "save_handler_runs": (
        lambda tx: tx.handler_runs.save([attempt(id, status=HandlerStatus.ACTIVE) for id in HELD_RUNS], nothing),
        (ATTEMPTS,),
    ),
    "load_handler_runs": (lambda tx: tx.handler_runs.load(NAMESPACE, ids=[*HELD_RUNS, FORMER]), (ATTEMPTS,)),
    "load_contents": (lambda tx: tx.handler_runs.contents(NAMESPACE, id=HELD), (ATTEMPTS,)),
    "titled_handler_runs": (lambda tx: tx.handler_runs.titled(NAMESPACE, pipeline=PAYMENTS, limit=10), (TITLED,)),
    "page_of_handler_runs": (
        lambda tx: tx.handler_runs.page(ListHandlerRuns(namespace=NAMESPACE, pipeline=PAYMENTS, limit=10)),
        (LATEST,),
    ),
    "page_of_handler_runs: of a pipeline that did nothing": (
        lambda tx: tx.handler_runs.page(ListHandlerRuns(namespace=NAMESPACE, pipeline=OTHERS[0], limit=10)),
        (LATEST,),
    ),
    "page_of_handler": (
        lambda tx: tx.handler_runs.last(NAMESPACE, pipeline=PAYMENTS, handler="charge"),
        (BY_HANDLER,),
    ),
    "page_of_handler: of one that did nothing": (
        lambda tx: tx.handler_runs.last(NAMESPACE, pipeline=PAYMENTS, handler="another"),
        (BY_HANDLER,),
    ),
    "insert_effects": (lambda tx: tx.effects.insert([ledger("hrn_new")]), (EFFECTS,)),
    "save_effects": (lambda tx: tx.effects.save([ledger(id) for id in HELD_RUNS]), (EFFECTS,)),
    "effects_of_owners": (lambda tx: tx.effects.of(NAMESPACE, owners=[*HELD_RUNS, FORMER]), (EFFECTS,)),
    "effects_left_open": (lambda tx: tx.effects.open(NAMESPACE, subject=PAYMENTS), (OPEN_EFFECTS, EFFECTS)),
    "apply_effects": (lambda tx: tx.effects.apply([STEP]), (EFFECTS,)),
    "end_calls": (lambda tx: tx.effects.end_calls(NAMESPACE, owners=[(id, 1) for id in HELD_RUNS]), (EFFECTS,)),
    "known_events": (
        lambda tx: tx.events.known(NAMESPACE, pipeline=PAYMENTS, topic=ORDERS, ids=[*WAITING, "new"]),
        (EVENTS,),
    ),
    "insert_events": (lambda tx: tx.events.insert(stored("new-1", "new-2")), (EVENTS,)),
    "replace_events": (lambda tx: tx.events.replace(stored(*WAITING)), (EVENTS,)),
    "take_events": (
        lambda tx: tx.reserved.take(NAMESPACE, pipeline=PAYMENTS, events=CHOSEN, run_id=HELD),
        (EVENTS,),
    ),
    "take_oldest_events": (
        lambda tx: tx.reserved.take_oldest(
            NAMESPACE, pipeline=PAYMENTS, events=[replace(event("p"), seq=2 * NUMBER + 3)], run_id=HELD
        ),
        (PENDING,),
    ),
    "end_events": (lambda tx: tx.reserved.end(NAMESPACE, run_id=HELD, status=EventStatus.CONSUMED), (TAKEN,)),
    "release_events": (lambda tx: tx.reserved.release(NAMESPACE, run_id=HELD), (TAKEN,)),
    "put_back_events": (
        lambda tx: tx.reserved.put_back(
            NAMESPACE, pipeline=PAYMENTS, events=[event(id) for id in WAITING], after=10 * NUMBER
        ),
        (EVENTS,),
    ),
    "hand_over_events": (
        lambda tx: tx.reserved.hand_over(NAMESPACE, former=HELD, to=HandlerRunId("hrn_new")),
        (TAKEN,),
    ),
    "skip_events": (
        lambda tx: tx.reserved.skip(NAMESPACE, pipeline=PAYMENTS, events=[event(id) for id in WAITING]),
        (EVENTS,),
    ),
    "events_of_run": (lambda tx: tx.reserved.of_run(NAMESPACE, run_id=HELD), (TAKEN,)),
    "count_reserved": (lambda tx: tx.reserved.count(NAMESPACE, run_ids=HELD_RUNS), (TAKEN,)),
    "events_by_run": (lambda tx: tx.events.by_run(NAMESPACE, run_id=FORMER, limit=10), (MADE,)),
    "pending_events": (
        lambda tx: tx.events.pending(NAMESPACE, pipeline=PAYMENTS, topic=ORDERS, limit=10),
        (PENDING,),
    ),
    "oldest_pending": (
        lambda tx: tx.events.oldest(NAMESPACE, topics=[(PAYMENTS, ORDERS), (PAYMENTS, LATER), (PAYMENTS, "none")]),
        (PENDING,),
    ),
    "count_pending": (
        lambda tx: tx.events.count_pending(NAMESPACE, pipeline=PAYMENTS, topic=ORDERS, limit=100),
        (PENDING,),
    ),
    "page_of_events": (
        lambda tx: tx.events.page(ListEvents(namespace=NAMESPACE, pipeline=PAYMENTS, after=100, limit=10)),
        (ORDER,),
    ),
    "page_of_inputs": (
        lambda tx: tx.inputs.page(ListInputs(namespace=NAMESPACE, pipeline=PAYMENTS, limit=10)),
        (NEWEST, INPUTS, CAUSES, EVENTS),
    ),
    "page_of_inputs: a later page": (
        lambda tx: tx.inputs.page(
            ListInputs(namespace=NAMESPACE, pipeline=PAYMENTS, before=InputId(f"inp_{NUMBER + 200}"), limit=10)
        ),
        (NEWEST, INPUTS, CAUSES, EVENTS),
    ),
    "load_input": (
        lambda tx: tx.inputs.load(NAMESPACE, pipeline=PAYMENTS, id=InputId(f"inp_{NUMBER + 1}")),
        (INPUTS, CAUSES, EVENTS),
    ),
    "events_of_input": (
        lambda tx: tx.inputs.events(NAMESPACE, pipeline=PAYMENTS, input=InputId(f"inp_{NUMBER + 1}")),
        (CAUSES, EVENTS),
    ),
    "enter_inputs": (
        lambda tx: tx.inputs.enter(
            NAMESPACE,
            pipeline=PAYMENTS,
            inputs=[NewInput(id=InputId("inp_new"), source="mail", type="order", external_id="y")],
        ),
        (INPUTS,),
    ),
    "enter_causes": (
        lambda tx: tx.inputs.link(stored("new-1"), [(InputId("inp_new"),)], anew=False),
        (CAUSES,),
    ),
    "forget_causes": (lambda tx: tx.inputs.link(stored(*WAITING), [(), (), ()], anew=True), (OF_EVENT, CAUSES)),
    "inputs_by_ids": (
        lambda tx: tx.inputs.by_ids(NAMESPACE, pipeline=PAYMENTS, ids=[f"inp_{NUMBER + 1}", "inp_none"]),
        (INPUTS,),
    ),
}
WAITING_INPUTS: Call = lambda tx: tx.inputs.count_pending(  # noqa: E731 - as those above
    NAMESPACE, pipeline=PAYMENTS, before=Instant(2 * FAR), limit=10
)
OLD_INPUTS: Call = lambda tx: PruneAttempts(tx.connection).remove(  # noqa: E731 - the same
    [
        EndedAttempt(
            namespace=NAMESPACE,
            id=FORMER,
            pipeline=PAYMENTS,
            ended_at=Instant(1),
            is_current=False,
            keep_for=Duration(1),
        )
    ]
)

COLD = {
    "list_pipelines": "reads a row for each pipeline of a namespace, for people",
    "pipelines_of_program": "the same, when a worker comes",
    "insert_pipeline": "writes one row by its primary key, when a worker comes",
    "redefine_pipeline": "the same",
    "put_handlers": "writes rows by their primary key, when a worker comes",
    "forget_topics": "reads the topics of a namespace, when a worker comes with other code",
    "enter_topics": "writes rows by their primary key, when a worker comes with other code",
    "list_topics": "reads a row for each use of a topic, for people",
    "open_effects": "reads an index that holds nothing else, for people",
    "hand_over_effects": "writes the effects of one run, for a person who tries it again",
    "chain_of_handler_run": "reads the attempts of one chain, for people",
    "count_pending_inputs": "reads what waits in one pipeline, up to a limit, for people; a test shows how much",
    "mark_input_skipped": "writes one row by its primary key, for a person",
    "ended_attempts": "reads a page of an index by time, now and then",
    "remove_attempt": "removes one row by its primary key",
    "remove_causes_of_skipped": "removes what people let go of long ago, which is little",
    "remove_skipped_events": "removes what people let go of long ago, by an index of that",
    "remove_dealt_events": "removes what one attempt has dealt with, once",
    "remove_causes": "the same",
    "remove_ledger": "the same",
    "remove_ledger_of_attempt": "the same",
    "remove_old_inputs": "reads the inputs of one pipeline that are old, now and then; a test shows how many",
    "remove_causes_of_namespace": "removes what it reads, once, for a person",
    "remove_effects_of_namespace": "the same",
    "remove_events_of_namespace": "the same",
    "remove_handler_runs_of_namespace": "the same",
    "remove_handlers_of_namespace": "the same",
    "remove_inputs_of_namespace": "the same",
    "remove_pipelines_of_namespace": "the same",
    "remove_topics_of_namespace": "the same",
}

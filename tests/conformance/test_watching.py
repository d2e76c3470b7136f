"""Does every transition, of whatever kind, create the firings that wait for it in its own transaction, and none else?

A signal for every state stands on the workflow, and one on the run as soon as there is one. Nobody examines the log
here: what a transition overlooks is missing at the end.
"""

from __future__ import annotations

import pytest

from tests.conformance.given import (
    NAMESPACE,
    start,
)
from tests.conformance.given_signals import (
    firings,
    move,
    new_item,
    on_any_item,
    on_item,
    on_workflow,
    steer,
    watch,
)
from tests.conformance.given_transitions import STORIES, Scene
from tests.conformance.hooks import raising, record
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import cancelling
from tests.invariants.evidence import Snapshot, take_snapshot
from tests.lives.pipeline_hands import PIPELINE, WRONG, Hands, pipeline
from windlass.engine.engine import Engine
from windlass.model.item import DeleteItem, ItemStatus
from windlass.model.pipeline import PipelineStatus
from windlass.model.run import LogEntry, RunStatus
from windlass.model.signal import DeleteSignal, FiringStatus, ListSignals, Signal, SignalStatus, Trigger, TriggerKind
from windlass.rules.signals import is_meant
from windlass.store.base import Store
from windlass.store.queries.log import NewLogEntry
from windlass.testing.clock import FakeClock

OTHER = "elsewhere"

# -- what must have come of it ---------------------------------------------------------------


async def nothing_else_has_fired(engine: Engine) -> int:
    """Each entry behind the arming of a signal that waits for it is one firing of that, and there are no others."""
    last = await take_snapshot(engine.parts.store, at=0, life=0, is_judged=False)
    expected = {}
    for signal in last.watched.signal_rows:
        for entry in last.log:
            if entry.namespace == signal.namespace and entry.seq > signal.armed_seq and _is_meant(signal, entry, last):
                expected[signal.id, str(entry.seq)] = (entry, signal.status is SignalStatus.ARMED)
    rows = {(row.signal_id, row.cause): row for row in last.watched.firing_rows}
    assert rows.keys() == expected.keys()
    for key, (entry, is_armed) in expected.items():
        row = rows[key]
        assert (row.subject_kind, row.subject_id) == (entry.subject_kind, entry.subject_id)
        assert (row.from_status, row.to_status, row.happened_at) == (entry.from_status, entry.to_status, entry.at)
        assert (row.status, row.available_at) == (FiringStatus.QUEUED, entry.at if is_armed else None)
        assert (row.token, row.attempt, row.worker, row.ended_at, row.id) == (0, 0, None, None, ".".join(key))
    return len(rows)


def _is_meant(signal: Signal, entry: LogEntry, last: Snapshot) -> bool:
    run, subject = last.runs.get(entry.subject_id), last.runs.get(signal.trigger.subject)
    if subject is not None and subject.retry_of is not None:  # it watched the former one before
        is_begun = (entry.from_status, entry.to_status) not in ((None, "pending"), ("pending", "waiting"))
        if entry.subject_id == subject.id and not is_begun:
            return False
        if entry.subject_id == subject.retry_of:
            return entry.to_status in signal.trigger.to
    return is_meant(signal.trigger, entry, name=None if run is None else run.name)


async def watch_workflows(engine: Engine, *, namespace: str = NAMESPACE) -> None:
    """Every state of every run of two workflows is waited for."""
    for name in ("invoice", "letter"):
        for status in RunStatus:
            await watch(engine, on_workflow(name, status), repeats=True, namespace=namespace)


class TestWatching(EngineConformance):
    @pytest.mark.spec("signals:16", "signals:20", "signals:31", "signals:33", "invariants:I-49")
    @pytest.mark.parametrize("story", STORIES)
    async def test_every_transition_of_a_run_finds_who_waits_for_it(
        self, engine: Engine, clock: FakeClock, story: str
    ) -> None:
        await watch_workflows(engine)
        await watch_workflows(engine, namespace=OTHER)

        await STORIES[story](Scene(engine, clock))

        assert await nothing_else_has_fired(engine) > 0
        assert {row.namespace for row in await firings(engine)} == {NAMESPACE}

    @pytest.mark.parametrize("story", STORIES)
    async def test_a_paused_signal_keeps_what_happens(self, engine: Engine, clock: FakeClock, story: str) -> None:
        await watch_workflows(engine)
        for page in [await engine.signals.list_signals(ListSignals(namespace=NAMESPACE, limit=100))]:
            for signal in page.signals:
                await steer(engine, signal, "pause")

        await STORIES[story](Scene(engine, clock))

        assert await nothing_else_has_fired(engine) > 0

    @pytest.mark.parametrize("verb", ["cancel", "delete"])
    async def test_signals_that_are_over_are_not_asked(self, engine: Engine, clock: FakeClock, verb: str) -> None:
        await watch_workflows(engine)
        page = await engine.signals.list_signals(ListSignals(namespace=NAMESPACE, limit=100))
        for signal in page.signals:
            if verb == "cancel":
                await steer(engine, signal, "cancel")
            else:
                await engine.signals.delete_signal(DeleteSignal(namespace=NAMESPACE, signal_id=signal.id))
        started = await engine.runs.start_run(start())

        await engine.control.cancel_run(cancelling(started.run_id))

        assert await firings(engine) == []

    @pytest.mark.spec("signals:4", "signals:21", "signals:30")
    async def test_every_transition_of_an_item_finds_who_waits_for_it(self, engine: Engine) -> None:
        items = [await new_item(engine), await new_item(engine), await new_item(engine, namespace=OTHER)]
        for status in ItemStatus:
            await watch(engine, on_item(items[0], status), repeats=True)
            await watch(engine, on_any_item(status), repeats=True)
            await watch(engine, on_any_item(status), repeats=True, namespace=OTHER)

        for item in items:
            await move(engine, item, "ready", "doing", "blocked", "ready", "doing", "done")
        await new_item(engine, state="cancelled")
        await engine.items.delete_item(DeleteItem(namespace=NAMESPACE, item_id=items[1].id))

        assert await nothing_else_has_fired(engine) == 6 + 2 * 6 + 6 + 3

    async def test_every_transition_of_a_pipeline_finds_who_waits_for_it(self, engine: Engine) -> None:
        hands = Hands(engine, "wrk_1", pipeline())
        await hands.declare()
        for status in PipelineStatus:
            trigger = Trigger(kind=TriggerKind.PIPELINE, subject=PIPELINE, to=(status,))
            await watch(engine, trigger, repeats=True)

        await engine.pipeline_control.pause_pipeline(hands.steering())
        await engine.pipeline_control.resume_pipeline(hands.steering())
        await hands.publish("1")
        task = await hands.claim()
        while task is not None:
            await hands.stop(task, WRONG)
            task = await hands.claim()

        assert await nothing_else_has_fired(engine) >= 2
        assert {"running", "attention"} <= {row.to_status for row in await firings(engine)}

    async def test_one_batch_with_two_transitions_of_one_subject_creates_two_firings(
        self, engine: Engine, store: Store
    ) -> None:
        item = await new_item(engine)
        signal = await watch(engine, on_item(item, "ready", "doing"), repeats=True)
        entries = [
            NewLogEntry(
                namespace=NAMESPACE,
                subject_kind="item",
                subject_id=item.id,
                from_status=before,
                to_status=after,
                cause="move",
            )
            for before, after in (("backlog", "ready"), ("ready", "doing"))
        ]

        await store.run_tx("both", lambda tx: tx.log.append(entries))

        assert [row.to_status for row in await firings(engine, signal)] == ["ready", "doing"]

    async def test_what_a_transaction_does_not_commit_fires_nothing(self, engine: Engine, store: Store) -> None:
        item = await new_item(engine)
        await watch(engine, on_item(item, "ready"))
        record(store).at["before_commit"] = raising(ZeroDivisionError(), times=1)

        with pytest.raises(ZeroDivisionError):
            await move(engine, item, "ready")

        assert await firings(engine) == []
        await move(engine, item, "ready")
        assert len(await firings(engine)) == 1

"""Is what the code of a program declares armed, changed and taken back as it says; and is all of it found again?"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.conformance.given import (
    NAMESPACE,
    claim_one,
    finished,
    outcomes_of,
    start,
)
from tests.conformance.given_signals import (
    STARTS,
    entered,
    fire,
    firings,
    move,
    new_item,
    on_any_item,
    on_item,
    on_workflow,
    seen,
    standing,
    steer,
    watch,
)
from tests.conformance.sound import EngineConformance
from tests.conformance.test_control import cancelling
from tests.conformance.test_signals import changing, forgetting, ids
from windlass.engine.engine import Engine
from windlass.errors import NotFound, WrongState
from windlass.model.signal import (
    DeclaredSignal,
    DeclareSignals,
    FiringStatus,
    ListFirings,
    ListSignals,
    Signal,
)
from windlass.model.time import MINUTE
from windlass.testing.clock import FakeClock

OTHER = "elsewhere"


def declaring(*signals: DeclaredSignal) -> DeclareSignals:
    return DeclareSignals(namespace=NAMESPACE, program="shop", signals=signals)


def declared(name: str, *to: str) -> DeclaredSignal:
    return DeclaredSignal(name=name, trigger=on_workflow("invoice", *to), action=STARTS, repeats=False)


async def by_key(engine: Engine, key: str) -> Signal:
    page = await engine.signals.list_signals(ListSignals(namespace=NAMESPACE))
    (signal,) = [signal for signal in page.signals if signal.key == key]
    return signal


class TestDeclaredSignals(EngineConformance):
    # Declared

    async def test_what_the_code_says_is_armed_changed_and_taken_back(self, engine: Engine) -> None:
        await engine.signals.declare_signals(declaring(declared("page", "failed"), declared("cheer", "completed")))
        await engine.runs.start_run(start())
        run = await claim_one(engine)

        await engine.signals.declare_signals(declaring(declared("page", "failed", "cancelled")))
        await engine.work.finish_run(finished(run))
        await engine.control.cancel_run(cancelling((await engine.runs.start_run(start(2))).run_id))

        page, cheer = [await by_key(engine, f"on:{name}") for name in ("page", "cheer")]
        assert (page.status, page.trigger.to, page.is_declared) == ("armed", ("cancelled", "failed"), True)
        assert (cheer.status, cheer.reason, cheer.is_declared) == ("paused", "it is no longer declared", False)
        assert [status for _, status in await entered(engine, page)] == ["cancelled"]
        assert [(row.to_status, row.available_at) for row in await firings(engine, cheer)] == [("completed", None)]
        with pytest.raises(WrongState, match="no longer declared"):
            await steer(engine, cheer, "resume")
        with pytest.raises(WrongState):
            await engine.signals.update_signal(changing(page, repeats=True))
        await engine.signals.declare_signals(declaring(declared("cheer", "completed")))
        assert (await seen(engine, cheer)).status == "armed"
        await fire(engine)
        assert await standing(engine, cheer) == ["done"]

    async def test_one_that_a_person_paused_stays_so_whatever_the_code_says(self, engine: Engine) -> None:
        said = declaring(declared("page", "failed"))
        await engine.signals.declare_signals(said)
        signal = await by_key(engine, "on:page")
        await steer(engine, signal, "pause", by="kim")

        await engine.signals.declare_signals(said)
        await engine.signals.declare_signals(declaring())
        await engine.signals.declare_signals(said)

        assert (await seen(engine, signal)).status == "paused"

    # Seen

    async def test_signals_and_firings_are_listed_newest_first_page_by_page(
        self, engine: Engine, clock: FakeClock
    ) -> None:
        item, made = await new_item(engine), []
        for _ in range(5):
            clock.advance(MINUTE)
            made.append(await watch(engine, on_item(item, "ready")))
        pattern = await watch(engine, on_workflow("invoice", "failed"))
        await watch(engine, on_any_item("ready"), namespace=OTHER)
        await steer(engine, made[0], "pause")
        await move(engine, item, "ready")

        newest = [signal.id for signal in reversed(made)]
        assert await ids(engine) == [pattern.id, *newest]
        assert await ids(engine, subject_kind="item", subject=item.id) == newest
        assert await ids(engine, subject_kind="item") == newest
        assert await ids(engine, status=made[0].status) == [pattern.id, *newest[:-1]]
        assert await ids(engine, subject_kind="item", subject=item.id, before=newest[1], limit=2) == newest[2:4]
        found, before = [], None
        while True:
            page = await engine.signals.list_firings(ListFirings(namespace=NAMESPACE, before=before, limit=2))
            found += [row.signal_id for row in page.firings]
            if (before := page.next) is None:
                break
        assert found == newest
        one = await engine.signals.list_firings(ListFirings(namespace=NAMESPACE, signal_id=made[2].id))
        assert [row.signal_id for row in one.firings] == [made[2].id]
        done = await engine.signals.list_firings(ListFirings(namespace=NAMESPACE, status=FiringStatus.DONE))
        assert done.firings == ()

    async def test_a_signal_of_another_namespace_is_nowhere(self, engine: Engine) -> None:
        signal = await watch(engine, on_any_item("ready"), namespace=OTHER)
        here = replace(signal, namespace=NAMESPACE)

        calls = [
            engine.signals.get_signal(NAMESPACE, signal.id),
            engine.signals.read_signal_log(NAMESPACE, signal.id),
            engine.signals.explain_signal(NAMESPACE, signal.id),
            engine.signals.update_signal(changing(here, repeats=True)),
            engine.signals.delete_signal(forgetting(here)),
            steer(engine, here, "pause"),
        ]

        assert await outcomes_of(calls) == [NotFound] * len(calls)
        assert await seen(engine, signal) == signal

"""Would the stories about pipelines see a bug? Each one planted here is found, on SQLite, in a story that meets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.conformance import test_pipelines
from tests.conformance.given import engine_on
from tests.crash.every_point import crashed
from tests.crash.places import Places
from tests.crash.scenarios import named
from tests.lives.crashes import Scenario, play
from tests.lives.faults import Moment
from tests.lives.pipeline_hands import Hands, pipeline
from windlass.engine.pipeline import commit as committing
from windlass.engine.pipeline.attempts import Attempts
from windlass.engine.pipeline.books import Roster
from windlass.engine.pipeline.desk import Desk
from windlass.model.effect import Effect
from windlass.model.pipeline import Handler, HandlerRun, Pipeline
from windlass.model.pipeline_work import CommitHandler
from windlass.rules import effects, phases
from windlass.rules import pipelines as rules
from windlass.store.queries.events import ReservationQueries
from windlass.store.sqlite.store import SqliteStore
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Stuck

Plant = Callable[[pytest.MonkeyPatch], None]


def forgets_news(patch: pytest.MonkeyPatch) -> None:
    """I-41: whoever has committed has not seen what it left."""

    def looked(handler: Handler, **_: Any) -> Handler:
        return replace(handler, seen=handler.news)

    patch.setattr(rules, "looked", looked)


def resets_what_was_mutating(patch: pytest.MonkeyPatch) -> None:
    """I-39: an effect that may have happened is in doubt, whoever is dead."""

    async def release(self: Attempts, pipeline: Pipeline, run: HandlerRun, effect: Effect) -> None:
        await self.desk.tx.reserved.release(self.desk.namespace, run_id=run.id)
        self.desk.ledger.put(effects.failed(effect, by="crash", now=self.desk.now))

    patch.setattr(Attempts, "take_over_doubt", release)


def asks_at_once(patch: pytest.MonkeyPatch) -> None:
    """DESIGN §5.13: whoever has called may still be inside."""
    in_doubt = effects.in_doubt

    def hasty(effect: Effect, *, now: Any, **options: Any) -> Effect:
        doubtful = in_doubt(effect, now=now, **options)
        return doubtful if doubtful.next_at is None else replace(doubtful, next_at=now)

    patch.setattr(effects, "in_doubt", hasty)


def begins_anew(patch: pytest.MonkeyPatch) -> None:
    """I-38: behind its effect an attempt only goes on."""
    beginning = phases.beginning

    def fresh(run: HandlerRun, effect: Effect | None) -> phases.Beginning:
        found = beginning(run, effect)
        return phases.Beginning.FRESH if found is phases.Beginning.EMIT else found

    patch.setattr(phases, "beginning", fresh)


def consumes_nothing(patch: pytest.MonkeyPatch) -> None:
    """I-34: consumed in the commit that ends the attempt."""

    async def leave(self: ReservationQueries, namespace: str, **_: Any) -> None: ...

    patch.setattr(ReservationQueries, "end", leave)


def forgets_states(patch: pytest.MonkeyPatch) -> None:
    """I-45: a producer's state and its events are one commit."""
    patch.setattr(Roster, "keep_state", lambda self, handler, state: None)


def publishes_what_did_not_go_well(patch: pytest.MonkeyPatch) -> None:
    """I-40: what an attempt has published is there if it is committed, and not before."""
    end = committing._end

    async def late(desk: Desk, run: HandlerRun, command: CommitHandler) -> HandlerRun:
        ended = await end(desk, run, command)
        desk.book.put(run)  # published, and still to be done
        return ended

    patch.setattr(committing, "_end", late)


BUGS: dict[Plant, str] = {
    forgets_news: "effect that only a person knows about",
    resets_what_was_mutating: "effect that can be asked about",
    asks_at_once: "effect that can be asked about",
    begins_anew: "handler that fails before and behind its effect",
    consumes_nothing: "producer that is paused and asked for",
    forgets_states: "producer that is paused and asked for",
    publishes_what_did_not_go_well: "effect that can be asked about",
}


@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant: Plant, sqlite: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = named(BUGS[plant])
    points = [point for point in play(scenario, sqlite.fresh()).points[0] if point.moment is Moment.AFTER_COMMIT]
    plant(monkeypatch)

    assert any(complains(scenario, sqlite, point) for point in (None, *points)), "nobody has noticed"


def complains(scenario: Scenario, places: Places, point: Any) -> bool:
    try:
        if point is None:
            return bool(play(scenario, places.fresh()).complaints)
        case = crashed(scenario, places, point, bound_for=scenario.bound_for(0))
    except Stuck:
        return True
    return bool([text for text in case.complaints if "never reached" not in text])


@pytest.mark.parametrize("what", ["reconcile", "reconcile as nothing", "fix", "renew", "release"])
async def test_a_token_that_nobody_checks_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """I-18: in what names no attempt, or one that stays. Everything else is refused for its attempt as well."""
    clock = FakeClock()
    store = SqliteStore(":memory:", clock=clock)
    await store.open()
    spec = pipeline(has_fixer=True)
    pair = Hands(engine_on(store, clock), "wrk_1", spec), Hands(engine_on(store, clock), "wrk_2", spec)
    await pair[0].declare()
    monkeypatch.setattr(Desk, "held", lambda self, name, *, token: self.pipelines[name])
    try:
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            await test_pipelines.TestPipelines().test_a_holder_that_lost_its_claim_changes_nothing(pair, clock, what)
    finally:
        await store.close()

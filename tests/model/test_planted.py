"""Would the model test see a bug? Each one planted here is found, told in a few words, and told again as a test."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.model import operations as do
from tests.model.author import Author
from tests.model.shrink import Difference
from tests.model.story import make_up, tell
from tests.model.subject import Stores, Subject, stores_in
from windlass.model.commands import Claim, ClaimRuns
from windlass.model.time import Instant
from windlass.store.base import Tx
from windlass.testing.faults import Moment

STORIES = 60  # at most, until the bug is met
FEW = 6  # operations that tell of it


class Wrapped:
    """A door with one thing wrong behind it."""

    def __init__(self, subject: Subject) -> None:
        self._work: Any = subject._engine.work
        self._store = subject._store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


class RenewsBackwards(Wrapped):
    """I-20: a renewal never shortens a claim."""

    async def renew_claim(self, claim: Claim) -> None:
        await self._work.renew_claim(claim)

        async def shorten(tx: Tx) -> None:
            run = await tx.runs.lock(claim.namespace, id=claim.run_id)
            assert run is not None
            ends_at = Instant(await tx.now() + claim.visibility_for)
            await tx.runs.save(replace(run, available_at=ends_at), was=run)

        await self._store.run_tx("shorten", shorten)


class AsksForNoToken(Wrapped):
    """I-18: a write with an old token changes nothing."""

    async def release_run(self, claim: Claim) -> None:
        run = await self._store.read("run", lambda tx: tx.runs.load(claim.namespace, id=claim.run_id))
        await self._work.release_run(claim if run is None else replace(claim, token=run.token))


class ServesNoQueue(Wrapped):
    """A claim is for the lanes that are served, and no others."""

    async def claim_runs(self, command: ClaimRuns) -> Any:
        return await self._work.claim_runs(replace(command, served=do.LANES))


class Planted(Subject):
    wrapped: type[Wrapped]

    def doors(self) -> tuple[Any, Any]:
        return self._engine.runs, self.wrapped(self)


class PlantedRenewal(Planted):
    wrapped = RenewsBackwards


class PlantedRelease(Planted):
    wrapped = AsksForNoToken


class PlantedClaim(Planted):
    wrapped = ServesNoQueue


class PlantedRecovery(Subject):
    """I-17: a process that begins does not take away what another one holds."""

    def ask_and_die(self, call: do.Call | None, moment: Moment) -> str:
        last_id = super().ask_and_die(call, moment)
        for row in self.rows("runs")["runs"].values():
            if row.run.status == "running":
                claim = Claim(namespace=do.NAMESPACE, run_id=row.run.id, token=row.run.token)
                self.ask(do.Call("release_run", (claim,)))
        return last_id


@pytest.fixture(scope="module")
def sqlite(memory: Path) -> Iterator[Stores]:
    with stores_in(memory / "alone") as found:
        yield found


@pytest.mark.spec("invariants:I-60")
@pytest.mark.parametrize("kind", [PlantedRenewal, PlantedRelease, PlantedClaim, PlantedRecovery])
def test_a_planted_bug_is_found_and_told_as_a_short_test(kind: type[Subject], sqlite: Stores) -> None:
    with pytest.raises(Difference) as caught:
        for number in range(STORIES):
            make_up(Author(f"planted {number}"), sqlite, length=50, kind=kind)
    found = caught.value
    assert len(found.story) <= FEW, str(found)

    text = str(found).partition("test_found.py:\n\n")[2]
    printed: dict[str, Any] = {
        "do": do,
        "Moment": Moment,
        "Stores": Stores,
        "tell": functools.partial(tell, kind=kind),
    }
    exec(text, printed)
    (test,) = [value for name, value in printed.items() if name.startswith("test_story_")]
    with pytest.raises(Difference) as again:
        test(sqlite)
    assert str(again.value) == str(found)

    tell(found.story, sqlite)  # and without the bug nothing is wrong with it

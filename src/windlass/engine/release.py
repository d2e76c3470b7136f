"""Give a claim back, renew it, or give its run to a person: the holder's own decisions about its claim."""

from __future__ import annotations

from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.errors import ClaimLost
from windlass.model.claims import RenewClaims, RenewedClaims
from windlass.model.commands import Claim, ClaimState, HoldRun, LookAtClaims
from windlass.model.failure import FailureKind
from windlass.model.run import IN_DOUBT, MISMATCH, PAUSED_BY, Deed, Run, RunId, RunStatus
from windlass.notify.local import ended_topic, queue_topic, run_topic
from windlass.rules import runs as rules
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry
from windlass.store.queries.run_reads import Standing
from windlass.store.rows import deed_to_bytes


async def release_run(parts: Parts, claim: Claim) -> None:
    tries = int(claim.is_again)  # what was asked before may have been done

    async def release(tx: Tx) -> Run:
        nonlocal tries
        tries += 1
        run = await lock_claimed(tx, claim, is_repeat=tries > 1)
        if run.status is not RunStatus.RUNNING:
            return run
        released = rules.release(run, now=await tx.now(), delay_for=claim.delay_for)
        return await save_run(tx, released, was=run, cause=given_back(released, "release"))

    run = await parts.run_tx("release_run", release)
    tell_of_return(parts, run)


async def renew_claim(parts: Parts, claim: Claim) -> None:
    async def renew(tx: Tx) -> bool:
        return await tx.runs.renew(
            namespace=claim.namespace, id=claim.run_id, token=claim.token, visibility_for=claim.visibility_for
        )

    if not await parts.run_tx("renew_claim", renew, single=True):
        raise ClaimLost(claim.run_id, token=claim.token)


async def renew_claims(parts: Parts, command: RenewClaims) -> RenewedClaims:
    """Extend claims of one worker in one transaction, runs before pipelines. A lost claim fails none of the others."""

    async def renew(tx: Tx) -> RenewedClaims:
        runs = await tx.runs.renew_all(command.namespace, command.runs) if command.runs else ()
        pipelines = await tx.pipelines.renew_all(command.namespace, command.pipelines) if command.pipelines else ()
        return RenewedClaims(lost_runs=tuple(sorted(runs)), lost_pipelines=tuple(sorted(pipelines)))

    is_single = not (command.runs and command.pipelines)
    return await parts.run_tx("renew_claims", renew, single=is_single)


async def hold_run(parts: Parts, command: HoldRun) -> None:
    claim = Claim(namespace=command.namespace, run_id=command.run_id, token=command.token)
    tries = int(command.is_again)

    async def hold(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        run = await lock_claimed(tx, claim, is_repeat=tries > 1)
        if run.status is not RunStatus.RUNNING:
            return
        await tx.runs.set_failure(run.namespace, id=run.id, failure=command.reason)
        cause = IN_DOUBT if command.reason.kind is FailureKind.INDETERMINATE else MISMATCH
        await save_run(tx, rules.hold(run), was=run, cause=cause)

    await parts.run_tx("hold_run", hold)
    tell_of_pause(parts, command.namespace, command.run_id)


def tell_of_return(parts: Parts, run: Run) -> None:
    """A run was given back: whoever waits for its queue computes anew until when it may sleep."""
    if run.status is RunStatus.PAUSED:
        tell_of_pause(parts, run.namespace, run.id)
    else:
        parts.hub.publish(queue_topic(run.namespace, run.queue))


def tell_of_pause(parts: Parts, namespace: str, run_id: RunId) -> None:
    """Whoever waits for the result hears that somebody has to act first."""
    parts.hub.publish_here(run_topic(namespace, run_id))
    parts.hub.publish_elsewhere(ended_topic(namespace))


async def look_at_claims(parts: Parts, command: LookAtClaims) -> tuple[ClaimState, ...]:
    async def look(tx: Tx) -> dict[RunId, Standing]:
        return await tx.runs.standings(command.namespace, ids=[run_id for run_id, _ in command.claims])

    found = await until_answered(parts.clock, lambda: parts.store.read("look_at_claims", look, single=True))
    return tuple(_state(run_id, token, found.get(run_id)) for run_id, token in command.claims)


def _state(run_id: RunId, token: int, found: Standing | None) -> ClaimState:
    if found is None or (found.status, found.token) != (RunStatus.RUNNING, token):
        return ClaimState(run_id=run_id, is_lost=True)
    return ClaimState(run_id=run_id, is_lost=False, is_held=found.is_held, has_news=found.has_news)


async def lock_claimed(tx: Tx, claim: Claim, *, is_repeat: bool = False) -> Run:
    """The run under its lock, if the claim still holds; else ClaimLost, and nothing has changed.

    Asked again because the first answer was lost, a run that was given back under this very token is what the first
    try has made of it: it is returned as it stands.
    """
    run = await tx.runs.lock(claim.namespace, id=claim.run_id)
    if run is None or run.token != claim.token:
        raise ClaimLost(claim.run_id, token=claim.token)
    if run.status is RunStatus.RUNNING or (is_repeat and not run.status.is_terminal):
        return run
    raise ClaimLost(claim.run_id, token=claim.token)


def given_back(run: Run, cause: str) -> str:
    """The cause in the log: a run that a person wanted paused is paused, whatever gave it back."""
    return PAUSED_BY if run.status is RunStatus.PAUSED else cause


async def save_run(tx: Tx, run: Run, *, was: Run, cause: str, deed: Deed | None = None) -> Run:
    """Write a status change and its log row, with what is known of the person behind it."""
    rules.check_transition(was.status, run.status)
    if not await tx.runs.save(run, was=was):
        raise ClaimLost(run.id, token=was.token)
    await tx.log.append(
        [
            NewLogEntry(
                namespace=run.namespace,
                subject_kind="run",
                subject_id=run.id,
                from_status=was.status,
                to_status=run.status,
                cause=cause,
                data=None if deed is None else deed_to_bytes(deed),
            )
        ]
    )
    return run

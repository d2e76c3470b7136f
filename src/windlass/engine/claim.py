"""Give due runs to a worker: subscribe, look, claim, and only then wait.

A claim is also the recovery of a dead worker's runs: a running row whose claim has ended is due like any other.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from windlass.engine.again import until_answered
from windlass.engine.never_lost import Asking, never_lost
from windlass.engine.offers import Offer
from windlass.engine.parts import Parts
from windlass.engine.release import release_run
from windlass.errors import ClaimLost, NotFound, Unavailable, WindlassError
from windlass.model.commands import Claim, ClaimedRun, ClaimRuns, FinishRun
from windlass.model.run import Run, RunId, RunStatus, WorkerId
from windlass.model.step import Step
from windlass.model.time import MILLISECOND, SECOND, Duration, Instant
from windlass.model.worker import Served, Worker
from windlass.notify.local import Subscription, gates_topic, queue_topic
from windlass.rules import runs as run_rules
from windlass.rules import steps as step_rules
from windlass.rules.workers import is_live
from windlass.runtime import SystemClock
from windlass.store.base import Tx
from windlass.store.claimed import ClaimedRow

LOGGER = logging.getLogger("windlass.engine")
LOCKED_ELSEWHERE_FOR = 5 * MILLISECOND  # due, yet not to be had: another transaction is at it
NO_DELAY = Duration(0)
UNREADABLE_FOR = Duration(30 * SECOND)  # until a run whose history cannot be read is tried again
PACE = SystemClock()  # how long that takes is a matter of real time, also under a test's clock


async def claim_runs(parts: Parts, command: ClaimRuns) -> list[ClaimedRun]:
    deadline = parts.clock.monotonic() + command.wait_for
    topics = [queue_topic(command.namespace, queue) for queue in sorted({item.queue for item in command.served})]
    topics.append(gates_topic(command.namespace))
    is_told = command.expects_more
    with parts.hub.subscribe(*topics) as subscription:
        since = parts.looks.mark()  # from here on this poll is told of what comes
        while True:
            subscription.clear()
            found, due_in, looked_at = await _claim_due(parts, command, is_told=is_told, since=since)
            now = parts.clock.monotonic()
            if found is not None or now >= deadline:
                return found or []
            wake_at = min(deadline, looked_at + parts.settings.poll_for)
            pause = (wake_at if due_in is None else min(wake_at, looked_at + due_in)) - now
            if command.is_remote:  # an offer would be taken after whoever made it has gone to another server
                await subscription.wait(parts.clock, pause)
                since = parts.looks.mark() if subscription.is_set else since
            elif dispatched := await _wait_with_offer(parts, command, subscription, pause):
                return dispatched
            is_told = subscription.is_named


async def _claim_due(
    parts: Parts, command: ClaimRuns, *, is_told: bool, since: int
) -> tuple[list[ClaimedRun] | None, int | None, int]:
    """What is due now, else how long until something is, counted from when it was looked for.

    None: there is nothing to answer with yet. Looks before it writes, so that an idle poll takes no lock; but not when
    it was told that there is something.
    """
    looked_at = parts.clock.monotonic()  # before the look: time may pass until its answer is here
    if is_told and (claimed := await _claim(parts, command)) is not None:
        return claimed, 0, looked_at
    (due_at, now), looked_at = await _look(parts, command, since=since, now=looked_at)
    if due_at is None or due_at > now:
        return None, None if due_at is None else due_at - now, looked_at
    claimed = await _claim(parts, command)
    if claimed is None:
        await PACE.sleep(LOCKED_ELSEWHERE_FOR)
    return claimed, 0, looked_at


async def _look(
    parts: Parts, command: ClaimRuns, *, since: int, now: int
) -> tuple[tuple[Instant | None, Instant], int]:
    """When something is due, and when that was looked for. Those from afar share their looks: there may be hundreds."""

    async def look(tx: Tx) -> tuple[Instant | None, Instant]:
        return await tx.runs.look(namespace=command.namespace, served=command.served)

    def ask() -> Awaitable[tuple[Instant | None, Instant]]:
        return parts.store.read("next_due", look, single=True)

    if not command.is_remote:
        return await ask(), now
    lanes = (command.namespace, command.served)
    return await parts.looks.look(lanes, ask, since=since, young_for=parts.settings.poll_for)


async def _claim(parts: Parts, command: ClaimRuns) -> list[ClaimedRun] | None:
    """What was claimed and is to be executed; none if there is nothing to answer with.

    A poll from afar that claimed is answered, also if all of that was over: it counts as the one that has claimed, and
    what it would claim from now on would be for a repeat of it.
    """
    asked, asked_at, is_answered = 0, parts.clock.monotonic(), False
    asking = Asking(is_remote=command.is_remote)

    async def claim(tx: Tx) -> list[ClaimedRow]:
        if command.is_remote:
            return await _claim_in_turn(tx, command, claim_anew)
        before = await _claimed_before(tx, command) if asked > 1 else []
        return before or await claim_anew(tx)

    async def claim_anew(tx: Tx) -> list[ClaimedRow]:
        rows = [] if asking.is_gone else await _claim_anew(tx, command)
        asking.note(rows)
        return rows

    def ask() -> Awaitable[list[ClaimedRow]]:
        nonlocal asked
        asked += 1
        # One statement; asked again, there may be claims to renew before it.
        return parts.store.run_tx("claim_runs", claim, single=asked == 1 and not command.is_remote)

    async def claim_and_judge() -> list[ClaimedRun]:
        nonlocal is_answered
        rows = await until_answered(parts.clock, ask)
        is_answered = command.is_remote and (bool(rows) or command.is_called_off)
        try:
            readable, histories = await _histories(parts, command.namespace, rows)
            return await _judge(parts, command, readable, histories, asked_at=asked_at)
        except Exception:  # nobody hears of these claims: else they would run out, and count as crashes
            for row in rows if asking.is_ours else ():
                parts.spawn(_give_back(parts, command.namespace, row.id, token=row.token))
            raise

    def give_back(run: ClaimedRun) -> Awaitable[None]:
        return _give_back(parts, command.namespace, run.run_id, token=run.token)

    claimed = await never_lost(parts, asking, claim_and_judge(), give_back)
    return claimed if claimed or is_answered else None


async def _claim_anew(tx: Tx, command: ClaimRuns) -> list[ClaimedRow]:
    return await tx.runs.claim(
        namespace=command.namespace,
        served=command.served,
        limit=command.limit,
        worker=command.worker,
        poll=command.poll,
        claim_for=command.claim_for,
    )


async def _claim_in_turn(
    tx: Tx, command: ClaimRuns, claim_anew: Callable[[Tx], Awaitable[list[ClaimedRow]]]
) -> list[ClaimedRow]:
    """Of the polls of one worker, wherever they arrive, the newest claims; the same again hears what it has claimed."""
    last = await tx.polls.lock(command.namespace, id=command.worker)
    if last is None:
        raise NotFound("worker", command.worker, hint="It left, or was silent for too long: register it again.")
    if command.poll <= last:
        return await _claimed_before(tx, command) if command.poll == last else []
    claimed = [] if command.is_called_off else await claim_anew(tx)
    # One that found nothing may claim yet, and no older one any more: it may stand in a server that was stopped.
    newest = command.poll if claimed or command.is_called_off else command.poll - 1
    if newest > last:
        await tx.polls.note(command.namespace, id=command.worker, poll=newest)
    return claimed


async def _histories(
    parts: Parts, namespace: str, rows: Sequence[ClaimedRow]
) -> tuple[Sequence[ClaimedRow], Mapping[RunId, Sequence[Step]]]:
    """What is on record of those that were at work before; and who is left, should some of it be past reading.

    Read once the claim is committed: whoever held a run before can write nothing about it any more.
    """
    seen = [row.id for row in rows if row.may_have_history]
    if not seen:
        return rows, {}
    try:
        return rows, await _read_histories(parts, namespace, seen)
    except Unavailable:
        raise
    except WindlassError:  # of one run, perhaps: its neighbours are none the worse for it
        found: dict[RunId, Sequence[Step]] = {}
        readable = []
        for row in rows:
            try:
                found |= await _read_histories(parts, namespace, [row.id]) if row.may_have_history else {}
                readable.append(row)
            except WindlassError as error:
                LOGGER.error("Run %s is given back: its history cannot be read: %s", row.id, error)
                await _give_back(parts, namespace, row.id, token=row.token, delay_for=UNREADABLE_FOR)
        return readable, found


async def _read_histories(parts: Parts, namespace: str, ids: Sequence[RunId]) -> dict[RunId, list[Step]]:
    async def read(tx: Tx) -> dict[RunId, list[Step]]:
        return await tx.steps.histories(namespace, run_ids=ids)

    return await until_answered(parts.clock, lambda: parts.store.read("histories", read, single=True))


async def _claimed_before(tx: Tx, command: ClaimRuns) -> list[ClaimedRow]:
    """What this very poll has claimed, should its answer have been lost; renewed, because time has passed since."""
    found = await tx.runs.claimed_by_poll(namespace=command.namespace, worker=command.worker, poll=command.poll)
    ours = [row for row in found if Served(row.run.queue, row.name, row.run.version) in command.served]
    return [row for row in ours if await _renew(tx, row, command)]


async def _judge(
    parts: Parts,
    command: ClaimRuns,
    rows: Sequence[ClaimedRow],
    histories: Mapping[RunId, Sequence[Step]],
    *,
    asked_at: int,
) -> list[ClaimedRun]:
    """What of it is to be executed. The rest ends here, or is paused, each in a transaction of its own."""
    claimed: list[ClaimedRun] = []
    ended: list[tuple[Run, FinishRun]] = []
    held: list[Run] = []
    for row in rows:
        history = histories.get(row.id, ())
        visibility_for = command.claim_for(row.name)
        if row.is_plain and not history:
            claimed.append(row.handed_over(visibility_for=visibility_for, asked_at=asked_at))
            continue
        run, now = row.run, row.at
        ending = await _ending(parts, command, row, history)
        if ending is not None:
            ended.append((run, ending))
        elif run.is_held:  # a person wants it paused, and its last holder never came to that
            held.append(run)
        else:
            records = tuple([step_rules.record(step, now=now) for step in history])
            expires_in = step_rules.remaining(run.expires_at, now=now)
            claimed.append(
                row.handed_over(
                    visibility_for=visibility_for, asked_at=asked_at, history=records, expires_in=expires_in
                )
            )
    if ended:  # whoever waits for them is locked before they are
        await _end_all(parts, ended)
    if held:
        await asyncio.gather(*(_give_back(parts, run.namespace, run.id, token=run.token) for run in held))
    return claimed


async def _end_all(parts: Parts, ended: Sequence[tuple[Run, FinishRun]]) -> None:
    outcomes = await asyncio.gather(*map(_finisher(parts), (item for _, item in ended)), return_exceptions=True)
    for (run, item), outcome in zip(ended, outcomes, strict=True):
        if not isinstance(outcome, BaseException):
            if parts.observer is not None:
                parts.observer.run_ended(namespace=run.namespace, workflow=run.name, status=item.status)
        elif not isinstance(outcome, ClaimLost | Unavailable):
            LOGGER.error("A run that was not to be entered could not be ended", exc_info=outcome)


def _finisher(parts: Parts) -> Callable[[FinishRun], Awaitable[Instant]]:
    return lambda command: parts.batcher.submit("finish_runs", command)


async def _ending(parts: Parts, command: ClaimRuns, row: ClaimedRow, history: Sequence[Step]) -> FinishRun | None:
    """How a claimed run ends without being entered: it is too late, or it was claimed too often without an end."""
    run = row.run
    if run_rules.is_expired(run, now=row.at):
        failure = run_rules.expired()
    elif run_rules.is_crash_loop(run, max_recoveries=parts.settings.max_recoveries):
        silent_for = command.claim_for(run.name) if await _lives(parts, command, row) else None
        failure = run_rules.crash_loop(run, history, silent_for=silent_for)
    else:
        return None
    return FinishRun(
        namespace=run.namespace,
        run_id=run.id,
        token=run.token,
        status=RunStatus.FAILED,
        failure=failure,
        parent=run.parent,
        schedule=run.schedule,
        job=run.job,
    )


async def _lives(parts: Parts, command: ClaimRuns, row: ClaimedRow) -> bool:
    """Did the last holder live when its claim ran out? Its lock says so; without one, a heartbeat."""
    id = row.holder
    if row.was is not RunStatus.RUNNING or id is None:
        return False  # it was found dead, or the answer to the claim was lost
    if id == command.worker:
        return True
    find = functools.partial(_find_worker, namespace=command.namespace, id=id)
    holder = await parts.store.read("find_worker", find, single=True)
    if holder is None:
        return False
    return await parts.store.locks.is_held(id) if holder.lock is not None else is_live(holder, now=row.at)


async def _find_worker(tx: Tx, *, namespace: str, id: WorkerId) -> Worker | None:
    return await tx.workers.find(namespace, id=id)


async def _renew(tx: Tx, row: ClaimedRow, command: ClaimRuns) -> bool:
    run = row.run
    return await tx.runs.renew(
        namespace=run.namespace, id=run.id, token=run.token, visibility_for=command.claim_for(run.name)
    )


async def _give_back(
    parts: Parts, namespace: str, run_id: RunId, *, token: int, delay_for: Duration = NO_DELAY
) -> None:
    try:
        await release_run(parts, Claim(namespace=namespace, run_id=run_id, token=token, delay_for=delay_for))
    except (ClaimLost, Unavailable):
        return  # it comes back by itself when the claim ends
    except Exception:
        LOGGER.exception("Run %s could not be given back", run_id)


async def _wait_with_offer(
    parts: Parts, command: ClaimRuns, subscription: Subscription, pause: int
) -> list[ClaimedRun]:
    def orphan(run: ClaimedRun) -> None:
        parts.spawn(_give_back(parts, command.namespace, run.run_id, token=run.token))

    offer = Offer(command, subscription, orphan)
    parts.offers.add(offer)
    try:
        await subscription.wait(parts.clock, pause)
        parts.offers.remove(offer)
        while offer.in_flight:  # a start has inserted, or is about to insert, a run for us
            subscription.clear()
            await subscription.wait(parts.clock, parts.settings.poll_for)
        return offer.taken
    except BaseException:
        offer.abandon()
        raise
    finally:
        parts.offers.remove(offer)

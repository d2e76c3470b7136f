"""Work what signals have fired: claim, act, and say so.

    claim   due firings, of every namespace, skipping what others hold    token + 1, attempt + 1       one transaction
    work    lock what is acted upon, the signals, the firings ─► rules/signals.py: judged ─► actions, signals, log,
            firings                                                       all of a namespace together  one transaction
    fail    one that cannot be worked: tried again later, or given up, and its signal paused           one transaction

If the work of many cannot be committed it is done one by one, so that one that cannot be done keeps no other.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from windlass.engine.parts import Parts
from windlass.engine.signal import act, chain
from windlass.engine.signal.noting import noted
from windlass.errors import Rejected, StoreRefused, Unavailable, WindlassError
from windlass.model.run import Run, RunId
from windlass.model.signal import (
    FIRED,
    GAVE_UP,
    ActionKind,
    FiringId,
    FiringRow,
    FiringStatus,
    Signal,
    SignalId,
    SignalNews,
    SignalStatus,
)
from windlass.model.time import Instant
from windlass.rules import signals as rules
from windlass.rules.signals import Verdict
from windlass.store.base import Tx
from windlass.store.queries.log import NewLogEntry

LOGGER = logging.getLogger("windlass.coordinator")


class Changed(WindlassError):
    """A signal does something else since it was looked at, and that may touch what is not locked: look again."""


class Done(Struct, frozen=True, kw_only=True):
    """What one transaction has come to."""

    deeds: tuple[act.Deed, ...] = ()
    sent: tuple[Run, ...] = ()
    given_up: tuple[tuple[Signal, str], ...] = ()


async def work_firings(parts: Parts, *, worker: str, batch: int) -> int:
    """Claim what is due, and work it. Answers with how many were claimed; if that is all one may, there may be more."""
    claimed = await claim_firings(parts, worker=worker, batch=batch)
    by_namespace: dict[str, list[FiringRow]] = {}
    for firing in claimed:
        by_namespace.setdefault(firing.namespace, []).append(firing)
    for namespace, firings in by_namespace.items():
        await _work(parts, namespace, firings, worker=worker)
    return len(claimed)


async def claim_firings(parts: Parts, *, worker: str, batch: int) -> list[FiringRow]:
    async def claim(tx: Tx) -> list[FiringRow]:
        due = await tx.firings.lock_due(limit=batch)
        if not due:
            return []
        now = await tx.now()
        claimed = [rules.claimed(firing, worker=worker, now=now) for firing in due]
        await tx.firings.save(list(zip(claimed, due, strict=True)))
        return claimed

    return await parts.run_tx("claim_firings", claim)


async def _work(parts: Parts, namespace: str, firings: Sequence[FiringRow], *, worker: str) -> None:
    try:
        done = await _work_together(parts, namespace, firings, worker=worker)
    except Unavailable:
        raise  # nothing can be done now; the claims end by themselves
    except Exception as error:
        if len(firings) == 1:
            await _fail(parts, firings[0], error, worker=worker)
            return
        for firing in firings:
            await _work(parts, namespace, [firing], worker=worker)
        return
    act.tell(parts, done.deeds, done.sent)
    for signal, reason in done.given_up:
        about = {"namespace": namespace, "signal": signal.id}
        text = "A firing of signal %s, which is %s, failed: %s. See: windlass explain %s"
        LOGGER.error(text, signal.id, signal.status, reason.rstrip("."), signal.id, extra=about)


async def _work_together(parts: Parts, namespace: str, firings: Sequence[FiringRow], *, worker: str) -> Done:
    # Made before the transaction: a second try writes the same.
    ids = {firing.id: parts.ids.run().removeprefix("run_") for firing in firings}
    jitters = {firing.id: parts.rng.random() for firing in firings}
    done: list[Done] = []

    async def work(tx: Tx) -> Done:
        wanted = {firing.signal_id for firing in firings}
        seen = await tx.signals.load_all(namespace, ids=wanted)
        pairs = [(firing, seen[firing.signal_id].action) for firing in firings if firing.signal_id in seen]
        targets = await act.lock_targets(tx, namespace, pairs)
        signals = await tx.signals.lock(namespace, ids=wanted)
        if any(signal.action != seen[id].action for id, signal in signals.items()):
            raise Changed
        held = await tx.firings.lock_claimed(namespace, firings=firings, worker=worker)
        ours = [firing for firing in firings if _is_ours(firing, held.get(firing.id))]
        if not ours:
            return done[-1] if done else Done()  # of a try whose answer was lost; or somebody else has them
        batch = _Batch(tx, signals, targets, now=await tx.now(), ids=ids, jitters=jitters)
        await batch.judge(ours)
        done.append(await batch.save())
        return done[-1]

    while True:
        try:
            return await parts.run_tx("work_firings", work)
        except Changed:
            continue


def _is_ours(claimed: FiringRow, found: FiringRow | None) -> bool:
    return found is not None and (found.token, found.status) == (claimed.token, FiringStatus.RUNNING)


class _Batch:
    """Firings of one namespace, under the locks of all that they concern."""

    def __init__(
        self,
        tx: Tx,
        signals: dict[SignalId, Signal],
        targets: act.Targets,
        *,
        now: Instant,
        ids: Mapping[FiringId, str],
        jitters: Mapping[FiringId, float],
    ) -> None:
        self._tx, self._were, self._signals, self._targets = tx, dict(signals), signals, targets
        self._now, self._ids, self._jitters = now, ids, jitters
        self._firings: list[tuple[FiringRow, FiringRow]] = []
        self._deeds: list[act.Deed] = []
        self._sent: list[Run] = []
        self._given_up: list[tuple[Signal, str]] = []
        self._entries: list[NewLogEntry] = []

    async def judge(self, firings: Sequence[FiringRow]) -> None:
        """In the order of their causes, so that of two causes of a signal the first one wins."""
        namespace = firings[0].namespace
        runs = [RunId(firing.subject_id) for firing in firings if firing.subject_kind == "run"]
        depths = await chain.depths(self._tx, namespace, runs) if runs else {}
        fired = await self._fired_before(firings)
        for firing in sorted(firings, key=lambda firing: int(firing.cause)):
            signal, of = self._signals.get(firing.signal_id), (firing.signal_id, firing.subject_id)
            depth = depths.get(RunId(firing.subject_id), 0)
            verdict = rules.judged(firing, signal, has_fired=of in fired, depth=depth, now=self._now)
            if verdict.acts and signal is not None:
                verdict = await self._act(verdict, firing, signal)
            self._keep(verdict, firing)
            if verdict.acts:
                fired.add(of)

    async def _fired_before(self, firings: Sequence[FiringRow]) -> set[tuple[SignalId, str]]:
        """Of signals that fire once for each subject: for whom they have."""
        fired: set[tuple[SignalId, str]] = set()
        for signal in self._signals.values():
            if rules.is_pattern(signal.trigger) and not signal.repeats:
                own = {firing.subject_id for firing in firings if firing.signal_id == signal.id}
                found = await self._tx.firings.done_for(signal.namespace, signal_id=signal.id, subjects=own)
                fired |= {(signal.id, subject) for subject in found}
        return fired

    async def _act(self, verdict: Verdict, firing: FiringRow, signal: Signal) -> Verdict:
        """The same, with what was written; or what becomes of it if that is refused."""
        try:
            deed = act.plan(firing, signal, self._targets, new_id=self._ids[firing.id], now=self._now)
            if deed.event is not None:
                self._sent.append(await act.send_one(self._tx, deed, self._targets))
        except Rejected as error:
            if signal.action.kind is ActionKind.TASK and rules.is_pattern(signal.trigger):
                return rules.superseded(firing, str(error), now=self._now)  # one item is gone: the others are watched
            failed = rules.failed(firing, error, now=self._now, jitter=self._jitters[firing.id])
            return Verdict(acts=False, firing=failed, signal=rules.gave_up(signal, str(error), now=self._now))
        self._deeds.append(deed)
        run_id = deed.run.id if deed.run is not None else None if deed.event is None else deed.event.run_id
        task_id = None if deed.task is None else deed.task.id
        return replace(verdict, firing=replace(verdict.firing, run_id=run_id, task_id=task_id))

    def _keep(self, verdict: Verdict, was: FiringRow) -> None:
        self._firings.append((verdict.firing, was))
        before = self._signals.get(was.signal_id)
        if verdict.signal is None or before is None:
            return
        self._signals[before.id] = verdict.signal
        if verdict.acts:
            news = announcement(verdict.firing)
            self._entries.append(noted(verdict.signal, was=before.status, cause=FIRED, news=news))
        elif verdict.firing.status is FiringStatus.FAILED:
            error = verdict.firing.error or ""
            self._given_up.append((verdict.signal, error))
            news = SignalNews(firing_id=verdict.firing.id, note=error)
            self._entries.append(noted(verdict.signal, was=before.status, cause=GAVE_UP, news=news))

    async def save(self) -> Done:
        tx = self._tx
        runs = [deed.run for deed in self._deeds if deed.run is not None]
        if runs:
            await tx.runs.create(runs)
        await tx.tasks.insert([deed.task for deed in self._deeds if deed.task is not None])
        await self._save_signals()
        await tx.firings.save(self._firings)
        await tx.log.append(self._entries)
        return Done(deeds=tuple(self._deeds), sent=tuple(self._sent), given_up=tuple(self._given_up))

    async def _save_signals(self) -> None:
        tx, counted, changed = self._tx, list[tuple[Signal, Signal]](), list[Signal]()
        for id, was in self._were.items():
            after = self._signals[id]
            if (
                after.fired != was.fired
                and was.status is SignalStatus.ARMED
                and after.status is not SignalStatus.PAUSED
                and after.available_at == was.available_at
            ):
                counted.append((after, was))
            elif after != was:
                changed.append(after)
        await tx.signals.count_firings(counted)
        await tx.signals.save(changed)
        for signal in changed:
            if signal.status is SignalStatus.PAUSED:
                await tx.held_firings.hold(signal.namespace, signal.id)


def announcement(firing: FiringRow) -> SignalNews:
    """What is told of a firing that is done: the same whenever it is told."""
    return SignalNews(
        firing_id=firing.id,
        subject_kind=firing.subject_kind,
        subject_id=firing.subject_id,
        from_status=firing.from_status,
        to_status=firing.to_status,
        run_id=firing.run_id,
        task_id=firing.task_id,
    )


async def _fail(parts: Parts, firing: FiringRow, error: Exception, *, worker: str) -> None:
    """It could not be worked: later again, or given up. Says why where somebody looks."""
    jitter, is_ours = parts.rng.random(), not isinstance(error, WindlassError)
    text = "Firing %s of signal %s could not be worked, attempt %d: %s"
    about = {"namespace": firing.namespace, "signal": firing.signal_id}
    LOGGER.error(
        text, firing.id, firing.signal_id, firing.attempt, error, exc_info=error if is_ours else None, extra=about
    )

    async def fail(tx: Tx) -> None:
        try:
            signals = await tx.signals.lock(firing.namespace, ids=[firing.signal_id])
        except StoreRefused:  # broken by hand: `doctor` says so, and nobody else waits for it
            signals = {}
        held = await tx.firings.lock_claimed(firing.namespace, firings=[firing], worker=worker)
        if not _is_ours(firing, held.get(firing.id)):
            return
        now, signal = await tx.now(), signals.get(firing.signal_id)
        failed = rules.failed(firing, error, now=now, jitter=jitter)
        await tx.firings.save([(failed, firing)])
        if signal is None or failed.status is not FiringStatus.FAILED:
            return
        after = rules.gave_up(signal, failed.error or "", now=now)
        if after != signal:
            await tx.signals.save([after])
            await tx.held_firings.hold(signal.namespace, signal.id)
            news = SignalNews(firing_id=firing.id, note=failed.error)
            await tx.log.append([noted(after, was=signal.status, cause=GAVE_UP, news=news)])

    await parts.run_tx("fail_firing", fail)

"""Remove runs that ended longer ago than they are kept, in the order they ended.

The log is the list of what ended when, so nothing else has to be kept in that order while runs are executed:

    log   ·····│ removed, or kept for longer │▸ next page ▸│ too young, or not read by all who read the log
               0                             seq           stop

One walk for each namespace and each limit in use there, so that every end is looked at when it is due by its own limit.
Where a walk stands is in memory: a coordinator that starts begins at the beginning, and any number of them may walk.
What was passed because another run may ask for it is found again when that one is removed; whatever else was passed is
found when the walk begins anew, which is after an hour, or later if it takes long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from windlass.engine.again import until_answered
from windlass.engine.parts import Parts
from windlass.engine.signal.resolve import resolve_signals
from windlass.model.run import TERMINAL, Run, RunId
from windlass.model.time import HOUR, Duration, Instant
from windlass.rules import retention as rules
from windlass.store.base import Tx
from windlass.store.queries.prune import EndedRun, Happened, Remark, Ties

PAGE = 500  # rows of the log, or children of a run, in one look
IDLE_PAGES = 100  # in one round: crossing what is kept must not take the time of those who execute runs
AGAIN_AFTER = HOUR
REST = 20  # times as long as a walk takes, at least, from its beginning to that of the next

REMOVED = "its run was removed: it had ended longer ago than runs are kept"  # why a signal on it is over

KeptFor = Callable[[str], Duration | None]  # by workflow


class Page(Struct, frozen=True, kw_only=True):
    """What one look has found."""

    now: Instant
    passed: Sequence[Happened] = ()
    is_more: bool = False  # the log goes on, and what comes next may be old enough
    ended: Sequence[EndedRun] = ()


class Removed(Struct, frozen=True, kw_only=True):
    runs: tuple[Run, ...] = ()
    parents: tuple[RunId, ...] = ()  # those of them that have children


class Walk:
    def __init__(self, parts: Parts, namespace: str, *, keep_for: Duration, batch: int, has_remarks: bool) -> None:
        self._parts, self._namespace, self._keep_for, self._batch = parts, namespace, keep_for, batch
        self._has_remarks = has_remarks  # it is this walk that removes what happened to gates and schedules
        self._kept_for: KeptFor = lambda name: None
        self._seq = 0
        self._begun_at: Instant | None = None
        self._lasted_for: int | None = None  # until it came to what is too young for the first time
        self._idle_pages = 0
        self._families: deque[tuple[RunId, str]] = deque()  # parents that are gone, and up to which step they are done
        self.removed = 0

    def begin_round(self, kept_for: KeptFor) -> None:
        """Go on with the limits as they are now."""
        self._kept_for, self._idle_pages = kept_for, 0

    async def step(self) -> bool:
        """Look at one page, and remove what is old enough. True: there is more to do at once."""
        if self._families:
            await self._remove_children()
            return True
        page = await self._look()
        # A job may have been left behind by a coordinator that removed its graph and died; ties tell.
        due = [run.id for run in page.ended if run.kind.is_job or self._is_over_due(run, now=page.now)]
        await self._remove(due)
        if self._has_remarks:
            await self._remove_remarks(page.passed)
        self._idle_pages = 0 if due else self._idle_pages + 1
        self._move(page)
        return bool(self._families) or (page.is_more and self._idle_pages < IDLE_PAGES)

    def _move(self, page: Page) -> None:
        if page.passed:
            self._seq = page.passed[-1].seq
        if self._begun_at is None:
            self._begun_at = page.now
        if page.is_more:
            return
        if self._lasted_for is None:
            self._lasted_for = page.now - self._begun_at
        rest = max(AGAIN_AFTER, REST * self._lasted_for)
        if not self._begun_at <= page.now < self._begun_at + rest:  # also when the clock was set back
            self._seq, self._begun_at, self._lasted_for = 0, page.now, None

    async def _look(self) -> Page:
        async def look(tx: Tx) -> Page:
            rows = await tx.prune.log_after(self._namespace, after=self._seq, limit=PAGE)
            now, seen_to = await tx.now(), await tx.cursors.slowest(self._namespace)
            passed = list(self._passable(rows, seen_to=seen_to, now=now))
            ids = [RunId(row.id) for row in passed if row.is_own and row.kind == "run" and row.to_status in TERMINAL]
            return Page(
                now=now,
                passed=passed,
                is_more=len(passed) == PAGE,
                ended=await tx.prune.ended(self._namespace, ids=ids) if ids else (),
            )

        return await until_answered(
            self._parts.clock, lambda: self._parts.store.read("look_at_ended", look, single=True)
        )

    def _passable(self, rows: Iterable[Happened], *, seen_to: int | None, now: Instant) -> Iterable[Happened]:
        for row in rows:
            if row.is_own and (
                rules.is_too_young(row.at, keep_for=self._keep_for, now=now)
                or not rules.is_read(row.seq, seen_to=seen_to)
            ):
                return
            yield row

    def _is_over_due(self, run: EndedRun | Run, *, now: Instant) -> bool:
        return rules.is_over_due(run.finished_at, keep_for=self._kept_for(run.name), now=now)

    async def _remove(self, ids: Sequence[RunId]) -> None:
        left = deque(ids)
        while left:
            some = [left.popleft() for _ in range(min(self._batch, len(left)))]
            removed = await self._remove_batch(some)
            self.removed += len(removed.runs)
            self._families.extend((id, "") for id in removed.parents)
            # What was tried again by one of these was kept for it alone.
            left.extend(run.retry_of for run in removed.runs if run.retry_of is not None)

    async def _remove_batch(self, ids: Sequence[RunId]) -> Removed:
        """One transaction: a run goes with all its rows, or not at all."""
        tries: list[Removed] = []

        async def remove(tx: Tx) -> None:
            locked = {run.id: run for run in await tx.prune.lock_ended(self._namespace, ids=ids)}
            # A second statement on purpose: the one that locks would see nothing that was written until it has.
            ties = await tx.prune.ties(self._namespace, ids=list(locked)) if locked else {}
            now, seen_to = await tx.now(), await tx.cursors.slowest(self._namespace)
            going = [
                run
                for id, run in locked.items()
                if (_is_left_behind(run, ties[id]) or self._is_over_due(run, now=now))
                and not _is_asked_for(run, ties[id])
                and rules.is_read(ties[id].last_seq, seen_to=seen_to)
            ]
            if going:
                gone = [run.id for run in going]
                await resolve_signals(tx, self._namespace, kind="run", subjects=gone, reason=REMOVED)
            await tx.prune.remove(going)
            parents = tuple(run.id for run in going if ties[run.id].has_children)
            tries.append(Removed(runs=tuple(going), parents=parents))

        await self._parts.run_tx("prune_runs", remove)
        # A try whose answer was lost has removed what the last one did not find any more.
        return Removed(
            runs=tuple({run.id: run for one in tries for run in one.runs}.values()),
            parents=tuple(dict.fromkeys(id for one in tries for id in one.parents)),
        )

    async def _remove_children(self) -> None:
        """Children of a run that is gone, kept for its sake: those that are old enough, and jobs, which go with it."""
        parent, after = self._families[0]

        async def look(tx: Tx) -> tuple[list[tuple[RunId, str]], list[EndedRun], Instant]:
            children = await tx.prune.ended_children(self._namespace, parent=parent, after=after, limit=PAGE)
            ended = await tx.prune.ended(self._namespace, ids=[id for id, _ in children]) if children else []
            return children, ended, await tx.now()

        children, ended, now = await until_answered(
            self._parts.clock, lambda: self._parts.store.read("look_at_children", look, single=True)
        )
        await self._remove([run.id for run in ended if run.kind.is_job or self._is_over_due(run, now=now)])
        self._families.popleft()
        if len(children) == PAGE:
            self._families.appendleft((parent, children[-1][1]))

    async def _remove_remarks(self, passed: Sequence[Happened]) -> None:
        remarks = [
            Remark(namespace=self._namespace, seq=row.seq, subject_kind=row.kind, subject_id=row.id)
            for row in passed
            if row.is_own and row.kind != "run"
        ]
        for first in range(0, len(remarks), self._batch):
            await self._remove_some(remarks[first : first + self._batch])

    async def _remove_some(self, remarks: Sequence[Remark]) -> None:
        await self._parts.run_tx("prune_log", lambda tx: tx.prune.remove_remarks(remarks))


def _is_asked_for(run: Run, ties: Ties) -> bool:
    return rules.is_asked_for(parent_status=ties.parent_status, has_retry=ties.has_retry, is_job=run.kind.is_job)


def _is_left_behind(run: Run, ties: Ties) -> bool:
    """Is it a job whose graph is gone? It is kept for that alone."""
    return run.kind.is_job and ties.parent_status is None

"""Whether signals fired what they had to, once, and did it: invariants I-46 to I-49, and those of signals themselves.

Each function takes evidence and answers with complaints, none if all is well. Whoever arms, fires or ends a signal
holds its row, so the numbers of the log are the order in which these things happened to it; and who watches one
subject holds that, so they are the order of its moves and of the arming, too. A signal on many subjects holds none
of them: there the order of the feed counts, as far as the log was examined.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tests.invariants.evidence import Evidence, Snapshot
from windlass.engine.signal.work import announcement
from windlass.model.feed import BEGINNING, Place
from windlass.model.run import LogEntry
from windlass.model.signal import (
    UPDATED,
    ActionKind,
    FiringId,
    FiringRow,
    FiringStatus,
    Signal,
    SignalId,
    SignalStatus,
    TriggerKind,
)
from windlass.rules.firing_inputs import FIRING_INPUT
from windlass.rules.signals import MOVES, is_meant, is_pattern

GONE = "deleted"  # how the log calls the end of a signal that was removed
LIVE = frozenset({SignalStatus.ARMED.value, SignalStatus.PAUSED.value})
CHANGES = frozenset({UPDATED, "undeclared"})  # causes behind which it may watch, or do, something else
BEGINNINGS = ((None, "pending"), (None, "waiting"), ("pending", "waiting"))  # of a run that nobody has claimed
GIVEN = re.compile(re.escape(FIRING_INPUT) + rb'"([^"]+)"')  # the firing that a run was started with


def one_firing_for_each_cause(evidence: Evidence) -> list[str]:
    """I-46: a cause is one firing of a signal, announced once; and what it tells of its cause is what the log says."""
    found: list[str] = []
    for snapshot in evidence.snapshots:
        rows = Counter((row.namespace, row.signal_id, row.cause) for row in snapshot.watched.firing_rows)
        found += [f"{signal}: {times} firings for {cause}" for (_, signal, cause), times in rows.items() if times > 1]
        announced = Counter(news.firing_id for _, news in snapshot.announcements)
        found += [f"{firing}: announced {times} times" for firing, times in announced.items() if times > 1]
    for before, after in evidence.pairs:
        for row in before.watched.firing_rows:
            later = after.watched.firings.get(row.id)
            if later is not None and row.status in (FiringStatus.DONE, FiringStatus.SUPERSEDED) and later != row:
                found.append(f"{row.id}: it was {row.status}, and that changed")
    entries = {entry.seq: entry for entry in evidence.last.log}
    for row in evidence.last.watched.firing_rows:
        found += _wrong_cause(row, entries, is_whole=evidence.keep_for is None)
    return found


def _wrong_cause(row: FiringRow, entries: Mapping[int, LogEntry], *, is_whole: bool) -> Iterator[str]:
    if row.subject_kind == TriggerKind.TIME:
        if row.cause != str(row.happened_at):
            yield f"{row.id}: of {row.happened_at}, and says {row.cause}"
        return
    entry = entries.get(int(row.cause))
    if entry is None:
        if is_whole:
            yield f"{row.id}: the log has no such entry"
        return
    told = (row.namespace, row.subject_kind, row.subject_id, row.from_status, row.to_status, row.happened_at)
    was = (entry.namespace, entry.subject_kind, entry.subject_id, entry.from_status, entry.to_status, entry.at)
    if told != was:
        yield f"{row.id}: tells of {told}, and the log of {was}"


def firings_are_done_and_announced_together(evidence: Evidence) -> list[str]:
    """I-47: what is done is announced, under the ids it has, and counted; at every commit, and for nothing else."""
    found: list[str] = []
    for snapshot in evidence.snapshots:
        found += [f"life {snapshot.life}: {text}" for text in _not_together(snapshot, evidence)]
    return found


def _not_together(snapshot: Snapshot, evidence: Evidence) -> Iterator[str]:
    watched, told = snapshot.watched, snapshot.announcements
    news = {item.firing_id: item for _, item in told}
    is_whole = evidence.keep_for is None
    for row in watched.firing_rows:
        is_done = row.status is FiringStatus.DONE
        if is_done and row.id not in news:
            yield from [f"{row.id}: done, and not announced"] if is_whole else []
        elif is_done and news[row.id] != announcement(row):
            yield f"{row.id}: announced as {news[row.id]}, and is {announcement(row)}"
        elif not is_done and row.id in news:
            yield f"{row.id}: announced, and is {row.status}"
    fired = Counter(entry.subject_id for entry, _ in told)
    for signal in watched.signal_rows:
        if is_whole and signal.fired != fired[signal.id]:
            yield f"{signal.id}: counts {signal.fired} firings, and {fired[signal.id]} are announced"
        missing = {news.firing_id for entry, news in told if entry.subject_id == signal.id} - watched.firings.keys()
        yield from [f"{id}: announced, and gone" for id in missing] if is_whole else []


def once_is_once(evidence: Evidence) -> list[str]:
    """I-48: a signal that fires once has fired once for its subject since it was armed; its log is a path."""
    found: list[str] = []
    for signal_id, story in evidence.last.signal_stories.items():
        found += _not_a_path(signal_id, story)
        signal = evidence.last.watched.signals.get(signal_id)
        if signal is None or signal.repeats or any(entry.cause in CHANGES for entry in story):
            continue
        times = Counter(news.subject_id for entry, news in evidence.last.announcements if entry.subject_id == signal_id)
        armed = 1 + sum((entry.from_status, entry.to_status) == ("fired", "armed") for entry in story)
        if is_pattern(signal.trigger):
            found += [
                f"{signal_id}: fired {count} times for {subject}" for subject, count in times.items() if count > 1
            ]
        elif times.total() > armed:
            found.append(f"{signal_id}: fired {times.total()} times, and was armed {armed} times")
    return found


def _not_a_path(signal_id: SignalId, story: Sequence[LogEntry]) -> Iterator[str]:
    before: str | None = None
    for place, entry in enumerate(story):
        if place > 0 and entry.from_status != before:
            yield f"{signal_id}: was {before}, and left {entry.from_status} for {entry.to_status}"
        before = entry.to_status
        if before == GONE or entry.from_status in (None, entry.to_status):
            continue
        if SignalStatus(before) not in MOVES[SignalStatus(entry.from_status)]:
            yield f"{signal_id}: went from {entry.from_status} to {before}"


def nothing_that_counts_is_skipped(evidence: Evidence) -> list[str]:
    """I-49: whatever one subject entered while it was watched is a firing, however much else happened between."""
    last, told = evidence.last, evidence.last.signal_stories
    by_subject: defaultdict[tuple[str, str, str], list[LogEntry]] = defaultdict(list)
    for entry in last.log if last.watched.signals else ():
        by_subject[entry.namespace, entry.subject_kind, entry.subject_id].append(entry)
    found = []
    for signal in last.watched.signal_rows:
        if signal.trigger.kind is TriggerKind.TIME or is_pattern(signal.trigger):
            continue
        spans = _spans(told.get(signal.id, ()))
        moves = by_subject[signal.namespace, signal.trigger.kind.subject_kind, signal.trigger.subject]
        for entry in moves:
            is_watched = any(begin < entry.seq < end for begin, end in spans) and not _is_retry(entry, last)
            if is_watched and is_meant(signal.trigger, entry) and not _is_there(signal, entry, evidence):
                found.append(f"{signal.id}: {entry.subject_id} entered {entry.to_status} at {entry.seq}, and no firing")
    return found


def _spans(story: Sequence[LogEntry]) -> list[tuple[int, float]]:
    """Between which numbers of the log a signal was live, and as it is now."""
    spans: list[tuple[int, float]] = []
    begin: int | None = None
    for entry in story:
        if entry.to_status not in LIVE:
            if begin is not None:
                spans.append((begin, entry.seq))
            begin = None
        elif entry.cause in CHANGES:
            spans, begin = [], entry.seq
        elif begin is None:
            begin = entry.seq
    return spans if begin is None else [*spans, (begin, float("inf"))]


def _is_retry(entry: LogEntry, snapshot: Snapshot) -> bool:
    """The beginning of a run that tries another one again: who watched that one watches this one from then on."""
    run = snapshot.runs.get(entry.subject_id)
    is_begin = (entry.from_status, entry.to_status) in BEGINNINGS
    return is_begin and run is not None and run.retry_of is not None


def _is_there(signal: Signal, entry: LogEntry, evidence: Evidence) -> bool:
    id = FiringId(f"{signal.id}.{entry.seq}")
    is_kept = evidence.keep_for is None or evidence.last.at - entry.at < evidence.keep_for
    return id in evidence.last.watched.firings or not is_kept


def effects_and_firings_agree(evidence: Evidence) -> list[str]:
    """S4: every run, task or event that a signal has caused belongs to one firing that is done; and the reverse."""
    found: list[str] = []
    for snapshot in evidence.snapshots:
        found += [f"life {snapshot.life}: {text}" for text in (*_wrong_tasks(snapshot), *_wrong_runs(snapshot))]
        if evidence.keep_for is None:
            found += [f"life {snapshot.life}: {text}" for text in _missing_effects(snapshot)]
    return found


def _wrong_tasks(snapshot: Snapshot) -> Iterator[str]:
    watched = snapshot.watched
    for task in watched.tasks:
        firing = watched.firings.get(FiringId(task.firing_id or ""))
        if firing is not None and (firing.status, firing.task_id) != (FiringStatus.DONE, task.id):
            yield f"{task.id}: of {firing.id}, which is {firing.status} and has task {firing.task_id}"


def _wrong_runs(snapshot: Snapshot) -> Iterator[str]:
    watched, inputs = snapshot.watched, snapshot.payloads if snapshot.watched.signal_rows else {}
    for run_id, payload in inputs.items():
        run, given = snapshot.runs.get(run_id), GIVEN.match(payload.input)
        if given is None or run is None or run.retry_of is not None:
            continue
        firing = watched.firings.get(FiringId(given[1].decode()))
        if firing is not None and (firing.status, firing.run_id) != (FiringStatus.DONE, run_id):
            yield f"{run_id}: of {firing.id}, which is {firing.status} and has run {firing.run_id}"
    shared = Counter(row.run_id for row in watched.firing_rows if _does(snapshot, row) is ActionKind.START)
    yield from (f"{run_id}: started by {times} firings" for run_id, times in shared.items() if times > 1)


def _missing_effects(snapshot: Snapshot) -> Iterator[str]:
    tasks, items = {task.id for task in snapshot.watched.tasks}, {item.id for item in snapshot.watched.items}
    for row in snapshot.watched.firing_rows:
        match _does(snapshot, row):
            case ActionKind.START if row.run_id not in snapshot.runs:
                yield f"{row.id}: done, and there is no run {row.run_id}"
            case ActionKind.TASK if row.subject_id in items and row.task_id not in tasks:
                yield f"{row.id}: done, and there is no task {row.task_id}"
            case ActionKind.SEND if row.run_id in snapshot.runs:
                times = sum(message.id == row.id for message in snapshot.inboxes.get(row.run_id or "", ()))
                if times != 1:
                    yield f"{row.id}: done, and {row.run_id} was sent {times} events by it"


def _does(snapshot: Snapshot, row: FiringRow) -> ActionKind | None:
    """What a firing that is done has done; none: it is not, or its signal was changed and may have done otherwise."""
    signal = snapshot.watched.signals.get(row.signal_id)
    if row.status is not FiringStatus.DONE or signal is None:
        return None
    is_changed = any(entry.cause in CHANGES for entry in snapshot.signal_stories.get(signal.id, ()))
    return None if is_changed else signal.action.kind


def the_log_is_examined_forward(evidence: Evidence) -> list[str]:
    """S6: the cursor never goes back, and passes nothing that a signal on many subjects waits for, without a firing."""
    found = []
    for before, after in evidence.pairs:
        for namespace, place in before.watched.cursors.items():
            if after.watched.signal_rows and after.watched.cursors.get(namespace, BEGINNING) < place:
                found.append(f"{namespace}: examined up to {place}, then to {after.watched.cursors.get(namespace)}")
    last = evidence.last
    for signal in last.watched.signal_rows:
        if is_pattern(signal.trigger) and signal.status.is_live:
            found += _overlooked(signal, evidence)
    return found


def _overlooked(signal: Signal, evidence: Evidence) -> Iterator[str]:
    last = evidence.last
    cursor = last.watched.cursors.get(signal.namespace, BEGINNING)
    spans = _spans(last.signal_stories.get(signal.id, ()))
    for entry in last.log:
        run = last.runs.get(entry.subject_id)
        place = last.watched.places.get(entry.seq, BEGINNING)
        is_examined = Place(signal.armed_xid, signal.armed_seq) < place <= cursor
        if not is_examined or entry.namespace != signal.namespace or not any(a < entry.seq < b for a, b in spans):
            continue
        name = None if run is None else run.name
        if is_meant(signal.trigger, entry, name=name) and not _is_there(signal, entry, evidence):
            yield f"{signal.id}: {entry.subject_id} entered {entry.to_status} at {place}, which was passed"


def old_tokens_change_no_firing(evidence: Evidence) -> list[str]:
    """S7: tokens only grow, each claim has one, and whoever works a firing holds it."""
    found = []
    for snapshot in evidence.snapshots:
        for row in snapshot.watched.firing_rows:
            is_held = row.status is FiringStatus.RUNNING
            if row.attempt > row.token:
                found.append(f"{row.id}: {row.attempt} attempts, and token {row.token}")
            if is_held != (row.worker is not None) or (is_held and row.available_at is None):
                found.append(f"{row.id}: {row.status}, held by {row.worker} until {row.available_at}")
    for before, after in evidence.pairs:
        for row in before.watched.firing_rows:
            later = after.watched.firings.get(row.id)
            if later is not None and later.token < row.token:
                found.append(f"{row.id}: its token went from {row.token} back to {later.token}")
            if later is not None and later.token == row.token and later.attempt > row.attempt:
                found.append(f"{row.id}: attempt {later.attempt} under the token of attempt {row.attempt}")
    return found


def nothing_fired_is_lost(evidence: Evidence) -> list[str]:
    """S8: what is not over stays until it is, is held back by a pause only, and once faults have ended is worked."""
    found = []
    for before, after in evidence.pairs:
        for row in before.watched.firing_rows:
            is_gone = row.id not in after.watched.firings and row.signal_id in after.watched.signals
            if is_gone and not (row.status.is_over and evidence.keep_for is not None):
                found.append(f"{row.id}: {row.status}, and gone")
    last, slack = evidence.last, evidence.visibility_for + 2 * evidence.poll_for
    for row in last.watched.firing_rows:
        signal = last.watched.signals.get(row.signal_id)
        if signal is None or row.status.is_over:
            continue
        if row.available_at is None and signal.status is SignalStatus.ARMED and not is_pattern(signal.trigger):
            found.append(f"{row.id}: held back, and its signal is {signal.status}")
        if evidence.healed_at is not None and row.available_at is not None and row.available_at + slack < last.at:
            found.append(f"{row.id}: {row.status}, and nobody comes for it")
    return found

"""Whether claims kept their promises: invariants I-17 to I-21, I-23 and I-25.

Each function takes evidence and answers with complaints, none if all is well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tests.invariants.evidence import Evidence, Snapshot, is_claim, is_remark
from tests.lives.journal import Event, Line
from tests.lives.journalled_work import CLAIM_LOST, OK, PARKED
from windlass.codec import Codec
from windlass.model.run import LogEntry, Run, RunStatus

Holding = tuple[str, int]  # run id and token
GIVES_BACK = ("finish_run", "hold_run", "release_run")
WORKER = "worker"  # who writes, if it is not the test by hand
DELAYED = "delayed"  # a start that asked for a later time

_codec = Codec()


def tokens_only_grow(evidence: Evidence) -> list[str]:
    """I-17: every claim has a token of its own, greater than all before it; one at most is alive."""
    found: list[str] = []
    for snapshot in evidence.snapshots:
        found += _wrong_tokens(snapshot)
    for before, after in evidence.pairs:
        for run in before.runs.values():
            if run.id in after.runs and after.runs[run.id].token < run.token:
                found.append(f"{run.id}: its token went back")
    given: set[Holding] = set()
    for line in evidence.of(Event.CLAIMED):
        for run_id, token in line.value:
            if (run_id, token) in given:
                found.append(f"{run_id}: token {token} was given twice")
            given.add((run_id, token))
    return found


def old_tokens_write_nothing(evidence: Evidence) -> list[str]:
    """I-18: a write under a token that is not the current one changes nothing and is told so."""
    found = []
    newest: dict[str, int] = {}
    given_back: set[Holding] = set()
    for line in evidence.of(Event.CLAIMED, Event.ANSWERED):
        if line.event is Event.CLAIMED:
            newest.update({run_id: max(token, newest.get(run_id, 0)) for run_id, token in line.value})
            continue
        is_old = line.token < newest.get(line.run_id, 0) or (line.run_id, line.token) in given_back
        if is_old and line.outcome != CLAIM_LOST:
            found.append(f"{line.run_id}: {line.what} under the old token {line.token} was answered {line.outcome!r}")
        if line.outcome == PARKED or (line.outcome == OK and line.what in GIVES_BACK):
            given_back.add((line.run_id, line.token))
    for step in evidence.last.steps:
        claims = evidence.last.claims.get(step.run_id, [])
        if step.finished_at is not None and step.token < len(claims) and step.finished_at > claims[step.token].at:
            found.append(f"{step.run_id} {step.key}: written under token {step.token} after the next claim")
    return found


def lost_claims_are_dropped(evidence: Evidence) -> list[str]:
    """I-19: a worker that was told ClaimLost writes nothing more under that token, and no claim brings it back.

    Told so of a body's beginning it may go on once that body has ended: the completion may have overtaken it.
    """
    lost: set[Holding] = set()
    ended: set[tuple[str, int, str]] = set()
    found = []
    for line in evidence.of(Event.SENT, Event.ANSWERED, Event.CLAIMED):
        if line.event is Event.CLAIMED:
            again = [run_id for run_id, token in line.value if (run_id, token) in lost]
            found += [f"{run_id}: a token that was lost was given again" for run_id in again]
        elif line.who == WORKER:
            holding, body = (line.run_id, line.token), (line.run_id, line.token, line.key)
            if line.event is Event.SENT and holding in lost:
                found.append(f"{line.run_id}: {line.what} was sent under token {line.token}, which was lost")
            elif line.event is Event.SENT and line.what == "complete_step":
                ended.add(body)
            elif line.outcome == CLAIM_LOST and not (line.what == "begin_step" and body in ended):
                lost.add(holding)
    return found


def only_the_holder_renews(evidence: Evidence) -> list[str]:
    """I-20: the end of a claim is the claim's own time plus its visibility, or a renewal of its holder; never less."""
    renewals: defaultdict[Holding, list[Line]] = defaultdict(list)
    for line in evidence.of(Event.SENT, Event.ANSWERED):
        if line.renew_for is not None:
            renewals[line.run_id, line.token].append(line)
    found = []
    for snapshot in evidence.snapshots:
        for run in snapshot.runs.values():
            claims = snapshot.claims.get(run.id, [])
            if run.status is not RunStatus.RUNNING or not claims or run.available_at is None:
                continue
            lines = [line for line in renewals[run.id, run.token] if line.life <= snapshot.life]
            first = _end_of_claim(run, claims[-1].at, evidence.visibility_for)
            asked = {first, *(_end_of_claim(run, line.at, line.renew_for) for line in lines)}
            granted = [line for line in lines if (line.event, line.outcome) == (Event.ANSWERED, OK)]
            least = max([first, *(_end_of_claim(run, line.at, line.renew_for) for line in granted)])
            if run.available_at not in asked or run.available_at < least:
                found.append(f"{run.id}: its claim ends at {run.available_at}, which its holder never asked for")
    return found


def claims_end_by_the_stores_clock(evidence: Evidence) -> list[str]:
    """I-21: nobody takes a claim over before its end, as the store's clock tells it."""
    found = []
    for run_id, entries in evidence.last.histories.items():
        for earlier, later in pairwise(entries):
            if later.at < earlier.at:
                found.append(f"{run_id}: its log goes back in time")
    for before, after in evidence.pairs:
        for run in before.runs.values():
            claims = after.claims.get(run.id, [])
            if run.status is RunStatus.RUNNING and run.available_at is not None and len(claims) > run.token:
                taken_at = claims[run.token].at
                released = any(entry.at <= taken_at for entry in _given_back(run.id, run.token, after))
                if taken_at < run.available_at and not released:
                    found.append(f"{run.id}: taken over {run.available_at - taken_at} µs before its claim ended")
    return found + _too_early(evidence)


def claims_go_by_priority(evidence: Evidence) -> list[str]:
    """I-23: among runs of a queue that are due, the more urgent is claimed no later than the less urgent."""
    last = evidence.last
    delayed = [tuple(line.value) for line in evidence.of(Event.ASKED) if line.outcome == DELAYED]  # values of any type
    first = {
        run_id: claims[0]
        for run_id, claims in last.claims.items()
        if claims and claims[0].cause == "claim" and _codec.decode(last.payloads[run_id].input) not in delayed
    }
    found = []
    for run_id, claim in first.items():
        for other_id, other in first.items():
            run, rival = last.runs[run_id], last.runs[other_id]
            if (run.queue, run.name) != (rival.queue, rival.name) or rival.priority <= run.priority:
                continue
            rival_started = last.histories[other_id][0]
            if rival_started.seq < claim.seq < other.seq:
                found.append(f"{other_id}: waited while {run_id} of lower priority was claimed")
    return found


def graceful_stops_leave_nothing_behind(evidence: Evidence) -> list[str]:
    """I-25: a worker that stops in order claims nothing new, and what it gives back is claimable at once."""
    found = []
    stopping: set[str] = set()
    for line in evidence.lines:
        if line.event is Event.STOPPING:
            stopping.add(line.who)
        elif line.event is Event.CLAIMED and line.who in stopping:
            found.append(f"{line.who}: claimed {line.value!r} while it was stopping")
    stopped = {line.who: line for line in evidence.of(Event.STOPPED)}
    for snapshot in evidence.snapshots:
        for run in snapshot.runs.values():
            goodbye = stopped.get(run.worker or "")
            if goodbye is not None and goodbye.life <= snapshot.life:
                found.append(f"{run.id}: still held by {run.worker}, which has stopped")
            entries = [entry for entry in snapshot.histories.get(run.id, []) if not is_remark(entry)]
            if entries and entries[-1].cause == "release" and run.available_at != entries[-1].at:
                found.append(f"{run.id}: released at {entries[-1].at}, claimable only at {run.available_at}")
            if any(entry.cause == "recover" and before.cause == "release" for before, entry in pairwise(entries)):
                found.append(f"{run.id}: a release was counted as a crash")
    return found


def _end_of_claim(run: Run | None, at: int, claim_for: int | None) -> int:
    """No claim lasts longer than its run may; one that comes too late for that is over at once."""
    end = at + (claim_for or 0)
    return end if run is None or run.expires_at is None else min(end, max(run.expires_at, at))


def _wrong_tokens(snapshot: Snapshot) -> Iterator[str]:
    for run in snapshot.runs.values():
        claims = len(snapshot.claims.get(run.id, []))
        if run.token != claims:
            yield f"{run.id}: token {run.token} after {claims} claims"
        if (run.status is RunStatus.RUNNING) != (run.worker is not None):
            yield f"{run.id}: {run.status}, held by {run.worker}"


def _given_back(run_id: str, token: int, snapshot: Snapshot) -> list[LogEntry]:
    """The entries by which the holder of that token itself let go of the run."""
    claims, found = 0, []
    for entry in snapshot.histories.get(run_id, []):
        if is_claim(entry):
            claims += 1
        elif claims == token:
            found.append(entry)
    return found


def _too_early(evidence: Evidence) -> list[str]:
    """Recoveries that came sooner than the shortest claim lasts."""
    return [
        f"{run_id}: recovered {later.at - earlier.at} µs after it was claimed"
        for run_id, entries in evidence.last.histories.items()
        for earlier, later in pairwise([entry for entry in entries if not is_remark(entry)])
        if later.cause == "recover"
        and later.at < _end_of_claim(evidence.last.runs.get(run_id), earlier.at, evidence.visibility_for)
    ]

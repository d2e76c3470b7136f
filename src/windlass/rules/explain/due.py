"""A run that waits for a worker and for nothing else: is there one, and what keeps it?"""

from __future__ import annotations

from windlass.model.explanation import Explanation, Situation
from windlass.model.run import DEATH, GONE, Run
from windlass.model.time import SECOND, Duration, Instant
from windlass.rules.explain.facts import Facts
from windlass.rules.explain.gates import closed_gates, named, openings
from windlass.rules.explain.words import ago, answer, count, listed
from windlass.rules.runs import is_expired
from windlass.rules.workers import is_live

DEFAULT_QUEUE = "default"
LONG_DUE_FOR = Duration(60 * SECOND)  # a worker with a free slot claims within a poll, which is 5 s


def due(facts: Facts, due_at: Instant, told: str, *, is_claim: bool = False) -> Explanation:
    """`told` is what is known so far; with `is_claim` a worker had it and said nothing in time."""
    run = facts.run
    if facts.cause in GONE:
        told = f"{died(facts)} {told}"
    if is_expired(run, now=facts.now):
        told = f"{told} {_is_too_late(facts)}"
    if facts.closed:
        return answer(
            facts,
            Situation.GATE_CLOSED,
            told,
            closed_gates(facts),
            advice=openings(facts),
            since=due_at,
            worker=run.worker,
            brief=f"{named(facts.closed[0])} is paused",
        )
    code, more = _served(facts, due_at, is_claim=is_claim) if facts.able else _unserved(facts)
    if is_expired(run, now=facts.now):
        code = Situation.EXPIRED
    return answer(facts, code, told, more, since=due_at, worker=run.worker)


def _is_too_late(facts: Facts) -> str:
    ended = ago(facts.run.expires_at or facts.now, now=facts.now)
    return f"Its time-out passed {ended}: the worker that takes it ends it as failed, and enters no more of it."


def died(facts: Facts) -> str:
    noticed, times = ago(facts.since, now=facts.now), facts.run.recoveries
    died = "died" if facts.cause == DEATH else "died, or lost their session,"
    if times > 1:
        return f"Its workers {died} {times} times in a row; the last time was noticed {noticed}."
    died = "died" if facts.cause == DEATH else "died, or lost its session"
    return f"Its worker {died}; that was noticed {noticed}."


def _served(facts: Facts, due_at: Instant, *, is_claim: bool) -> tuple[Situation, str]:
    able = facts.able
    active, slots = sum(worker.active for worker in able), sum(worker.slots for worker in able)
    serve = count(len(able), "live worker serves it", "live workers serve it")
    if active >= slots:
        return (
            Situation.WORKERS_FULL,
            f"{serve}, and all {slots:,} slots are taken: it waits for one, or for another worker.",
        )
    code = Situation.CLAIM_ENDED if is_claim else Situation.DUE
    taken = f"{serve}, with {active:,} of {slots:,} slots taken"
    if facts.now - due_at > LONG_DUE_FOR:
        return code, f"{taken}, yet none has taken it: see the workers' logs."
    return code, f"{taken}; one of them should take it at any moment."


def _unserved(facts: Facts) -> tuple[Situation, str]:
    """Nobody can take it. Closest first: whoever leaves was there, and whoever runs it elsewhere is more likely a slip
    than an absence."""
    run = facts.run
    alive = [worker for worker in facts.workers if is_live(worker, now=facts.now)]
    live = [worker for worker in alive if not worker.is_draining]
    leaving = sum(facts.lane in worker.served for worker in alive)
    if leaving:
        one, many = "it is draining and takes", "they are draining and take"
        told = count(leaving, f"live worker serves it, but {one}", f"live workers serve it, but {many}")
        return Situation.NO_WORKER, f"{told} nothing new. {start_one(run)}"
    served = {item for worker in live for item in worker.served if item.name == run.name}
    queues = sorted({item.queue for item in served if item.version == run.version})
    versions = sorted({item.version for item in served})
    if queues:
        where = listed("queue", "queues", queues)
        told = f"Live workers run {run.name!r} in {where}, but none in queue {run.queue!r}, where this run waits."
        return Situation.OTHER_QUEUE, f"{told} {start_one(run)}"
    if versions:
        others = listed("version", "versions", [version for version in versions if version]) or "no version"
        wanted = f"version {run.version!r}" if run.version else "a workflow without a version"
        told = f"Live workers run {run.name!r} with {others}, but this run wants {wanted}."
        return Situation.OTHER_VERSION, f"{told} {start_one(run)}"
    return Situation.NO_WORKER, f"No live worker runs {run.name!r}. {start_one(run)}"


def start_one(run: Run) -> str:
    version = f", of code that declares version {run.version!r}" if run.version else ""
    option, argument = "", ""
    if run.queue != DEFAULT_QUEUE:
        option, argument = f" --queue {run.queue}", f"queues=[{run.queue!r}]"
    return f'Start one{version}: windlass worker MODULE:APP{option}, or "async with app.worker({argument}):".'

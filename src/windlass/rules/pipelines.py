"""Which handler of a pipeline begins next, and when somebody has to look.

    1  the attempt that stopped, if it is to be tried again           nothing else of the pipeline begins before
    2  consumers: news in their topics, or a wake that has come       the one with the oldest event, or wake, first
    3  producers whose time has come, or whom somebody asked for      also after a hundred runs of consumers in a row

A consumer has news if something was published to its topics since it looked last. That events are pending is not
enough: it may have looked at them, and reserved none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from windlass.model.effect import Effect
from windlass.model.pipeline import Handler, HandlerKind, HandlerRun, Phase, Pipeline, PipelineStatus
from windlass.model.schedule import Timing
from windlass.model.time import DAY, SECOND, Duration, Instant
from windlass.rules.retries import backoff
from windlass.rules.slots import next_slot

SHORTEST_WAKE, LONGEST_WAKE = Duration(30 * SECOND), Duration(DAY)
BEFORE_EFFECTS = frozenset({Phase.EXECUTING, Phase.PREPARING, Phase.PREPARED})  # nothing is on the ledger
CLAMPED = "Its wake was moved: it is at least 30 s and at most 24 h from now."
MOST_IN_A_ROW = 100  # runs of consumers, while a producer is due
NEVER_LOOKED = -1  # what a new consumer has seen: it is dirty, whatever there is


def outdated(poll: int) -> int:
    """What stands for the poll that claimed a pipeline once its holder has other code than is declared."""
    return poll if poll < 0 else -1 - poll


def is_outdated(pipeline: Pipeline) -> bool:
    """Has its holder other code than is declared by now?"""
    return pipeline.poll < 0


def is_claimed_by(pipeline: Pipeline, *, poll: int) -> bool:
    """Was it this poll of its holder that claimed it? Also if other code was declared since."""
    return pipeline.poll in (poll, outdated(poll))


def is_held(pipeline: Pipeline, *, token: int) -> bool:
    """Is this claim the one that holds it?"""
    return pipeline.status is PipelineStatus.RUNNING and pipeline.token == token


def clamp_wake(*, wake_at: Instant | None, wake_in: Duration | None, now: Instant) -> Instant | None:
    """When a consumer is woken at the latest: within the bounds of the host, whatever it asked for."""
    asked = wake_at if wake_in is None else Instant(now + wake_in)
    if asked is None:
        return None
    return Instant(min(max(asked, now + SHORTEST_WAKE), now + LONGEST_WAKE))


def is_clamped(found: Instant | None, *, wake_at: Instant | None, wake_in: Duration | None, now: Instant) -> bool:
    """Was a consumer given another time than it asked for?"""
    asked = wake_at if wake_in is None else Instant(now + wake_in)
    return found is not None and found != asked


def next_time(timing: Timing, *, now: Instant) -> Instant | None:
    """When a producer is due after a run that is committed now. Times that have passed meanwhile are one run."""
    return next_slot(timing, now, after=now)


def is_declared_since(producer: Handler, run: HandlerRun, *, now: Instant) -> bool:
    """Was it made due by a deploy while an attempt of it was at work? That was other code than is to run."""
    return producer.next_at is not None and run.created_at <= producer.next_at <= now


def due_at(handler: Handler, *, now: Instant) -> Instant | None:
    """When a handler may begin; none: when something is published, or never."""
    if not handler.is_declared:
        return None
    if handler.spec.kind is HandlerKind.PRODUCER:
        return now if handler.is_queued else handler.next_at
    return now if handler.is_dirty else handler.wake_at


def is_due(handler: Handler, *, now: Instant) -> bool:
    due = due_at(handler, now=now)
    return due is not None and due <= now


def due_consumers(handlers: Sequence[Handler], *, now: Instant) -> list[Handler]:
    return [item for item in handlers if item.spec.kind is HandlerKind.CONSUMER and is_due(item, now=now)]


def is_turn_of_producers(pipeline: Pipeline) -> bool:
    """Have consumers had their way for so long that a producer that is due goes first?"""
    return pipeline.streak >= MOST_IN_A_ROW


def next_consumer(consumers: Sequence[Handler], oldest: Mapping[str, Instant], *, now: Instant) -> Handler | None:
    """Of those that are due, the one with the oldest pending event or wake. `oldest`: by handler.

    One that has nothing to look at, and no code that looks, does not begin.
    """
    able = [item for item in consumers if item.spec.prepares or item.name in oldest]

    def age(handler: Handler) -> tuple[int, int]:
        wake = now if handler.wake_at is None else handler.wake_at
        return min(oldest.get(handler.name, now), wake), handler.position

    return min(able, key=age, default=None)


def next_producer(handlers: Sequence[Handler], *, now: Instant) -> Handler | None:
    due = [item for item in handlers if item.spec.kind is HandlerKind.PRODUCER and is_due(item, now=now)]
    return min(due, key=lambda item: (now if item.next_at is None else item.next_at, item.position), default=None)


def retry_due(pipeline: Pipeline, run: HandlerRun) -> Instant:
    """When an attempt that failed for a while is tried again."""
    failure = run.failure
    if failure is not None and failure.retry_after is not None:
        return Instant(run.updated_at + failure.retry_after)
    return Instant(run.updated_at + backoff(pipeline.retry, failures=max(1, pipeline.failures), jitter=0.0))


def available_at(
    pipeline: Pipeline,
    handlers: Sequence[Handler],
    *,
    run: HandlerRun | None,
    effect: Effect | None,
    now: Instant,
) -> Instant | None:
    """When somebody has to look at a pipeline that nobody holds. The only rule about that."""
    if pipeline.is_paused or not pipeline.is_declared:
        return None
    match pipeline.status:
        case PipelineStatus.ATTENTION:
            return None
        case PipelineStatus.BACKOFF if run is not None:
            return retry_due(pipeline, run)
        case PipelineStatus.RECONCILING if effect is not None and effect.next_at is not None:
            return effect.next_at
    if run is not None:  # it is to be tried again, fixed, or looked into, now
        return now
    dues = [due for handler in handlers if (due := due_at(handler, now=now)) is not None]
    return Instant(max(0, min(dues))) if dues else None


def released(
    pipeline: Pipeline,
    handlers: Sequence[Handler],
    *,
    run: HandlerRun | None,
    effect: Effect | None,
    now: Instant,
) -> Pipeline:
    """The pipeline, held by nobody from now on."""
    free = pipeline
    if pipeline.status is PipelineStatus.RUNNING:
        free = replace(pipeline, status=PipelineStatus.IDLE, changed_at=now)
    due = available_at(free, handlers, run=run, effect=effect, now=now)
    return replace(free, worker=None, available_at=due)


def looked(handler: Handler, *, begun_with: int, has_reserved: bool, has_pending: bool) -> Handler:
    """A consumer whose run is committed: what it has seen.

    Nothing pending: all of it. Something pending behind what it took: it is to look again at once. Something pending
    of which it took nothing: it has seen what was there when it began, and only what came since counts.
    """
    if not has_pending:
        seen = handler.news
    elif has_reserved:
        seen = NEVER_LOOKED
    else:
        seen = begun_with
    return replace(handler, seen=seen)


def put_back(handler: Handler, run: HandlerRun, *, waiting: Iterable[int]) -> Handler:
    """A consumer whose events a person gives back: they are numbered anew, behind all that it has heard of.

    It goes on at once if others are `waiting`, by their numbers, that were not given back themselves since there was
    news. If all that it had chosen was, it has chosen the same again, and waits for news: nobody is asked in a loop.
    """
    has_others = any(seq <= handler.news for seq in waiting)
    is_progress = any(event.version <= handler.news for event in run.reserved)
    return replace(handler, seen=NEVER_LOOKED if has_others and is_progress else max(handler.seen, run.news))


def has_news(handler: Handler, *, topics: frozenset[str], seq: int) -> Handler:
    """Something was published to these topics, numbered up to `seq`."""
    if handler.spec.kind is HandlerKind.PRODUCER or topics.isdisjoint(handler.spec.topics):
        return handler
    return replace(handler, news=max(handler.news, seq))


def is_moved_by_news(pipeline: Pipeline) -> bool:
    """Can news make it due? Not while somebody holds it, or something else holds it up."""
    return pipeline.status is PipelineStatus.IDLE


def moved_by_news(pipeline: Pipeline, handlers: Sequence[Handler], *, run: HandlerRun | None, now: Instant) -> Pipeline:
    """One that news can make due, whose handlers have been told of them."""
    due = available_at(pipeline, handlers, run=run, effect=None, now=now)
    if due is not None and pipeline.available_at is not None:  # news never put off what was due before
        due = min(due, pipeline.available_at)
    return replace(pipeline, available_at=due)

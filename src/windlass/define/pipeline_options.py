"""What the options of a pipeline and its handlers may be: everything is refused where it is written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from windlass.define import signature
from windlass.define.handler_code import Source
from windlass.define.options import shorten
from windlass.define.retry import Retry
from windlass.define.topic import Topic
from windlass.define.workflow import check_retry_option
from windlass.errors import AlreadyExists, InvalidInput
from windlass.model.pipeline import PIPELINE_RETRY, HandlerKind, HandlerSpec
from windlass.model.retry import RetryPolicy

LOGGER = logging.getLogger("windlass")


class Hooks(Struct, frozen=True, kw_only=True):
    """Who is told when a handler does not go well."""

    on_logic_error: Callable[..., Any] | None
    on_attention: Callable[..., Any] | None
    on_indeterminate: Callable[..., Any] | None


def check_consumer(spec: HandlerSpec, *, location: str) -> None:
    """Raises InvalidInput for options that contradict the code."""
    whose = f"Consumer {spec.name!r} ({location})"
    if spec.publishes and not spec.emits:
        raise InvalidInput(
            f"{whose} has publishes={[*spec.publishes]} and nothing that publishes. Write next, or leave it out.",
            reason="invalid_handler",
            path="publishes",
        )
    if spec.batch > 1 and spec.prepares:
        raise InvalidInput(
            f"{whose} chooses its events itself, so batch={spec.batch} says nothing. Leave out batch, or prepare.",
            reason="invalid_handler",
            path="batch",
        )


def check_lists(spec: HandlerSpec, data_type: Any, topics: Iterable[Topic[Any]], *, location: str) -> None:
    """Raises InvalidInput where a class names the payload of its topic and is given lists of them."""
    is_one = isinstance(data_type, type) and data_type not in (Any, object, list)
    if spec.batch > 1 and is_one and any(topic.type is data_type for topic in topics):
        name = data_type.__name__
        raise InvalidInput(
            f"Consumer {spec.name!r} ({location}) with batch={spec.batch} is given lists, and its class says {name}. "
            f"Write Consumer[list[{name}], …].",
            reason="invalid_handler",
            path="batch",
        )


def check_free(spec: HandlerSpec, *, source: Source, known: HandlerSpec, known_source: Source, pipeline: str) -> None:
    """A notebook may declare a handler anew, and anybody the same again; else one would silently replace the other."""
    if known_source.identity != source.identity or known_source.is_apart(source):
        raise AlreadyExists(
            f"Pipeline {pipeline!r} has two handlers named {spec.name!r}: at {known_source.location} and at "
            f"{source.location}. Rename one, or give it name=.",
            reason="already_registered",
            owner=known_source.location,
        )
    if known_source.is_shared(source) and known != spec:
        is_of_other_topics = spec.kind is known.kind is HandlerKind.CONSUMER and {*spec.topics} != {*known.topics}
        advice = "Name all topics in one decorator, or give" if is_of_other_topics else "Give"
        raise AlreadyExists(
            f"{spec.kind.capitalize()} {spec.name!r} of pipeline {pipeline!r} ({source.location}) is declared twice, "
            f"and the second would replace the first. {advice} one of them name=.",
            reason="already_registered",
            owner=known_source.location,
        )


def warn_of_loop(spec: HandlerSpec, *, pipeline: str, location: str) -> None:
    """It may be meant, so it is not refused."""
    own = [topic for topic in spec.publishes if topic in spec.topics]
    if own:
        LOGGER.warning(
            "Consumer %r of pipeline %r (%s) publishes to %r, which it takes events from: unless it stops by itself, "
            "it goes on for ever.",
            spec.name,
            pipeline,
            location,
            own[0],
        )


def read_retry(retry: Retry | None, *, pipeline: str) -> RetryPolicy:
    """How often a pipeline tries again. Raises InvalidInput."""
    given = check_retry_option(retry, what=f"retry of pipeline {pipeline!r}")
    if given is None:
        return PIPELINE_RETRY
    if given.never:
        raise InvalidInput(
            f"retry of pipeline {pipeline!r} takes no never=: how a handler failed is said by StepError(kind=…), or by "
            "classify= of the App.",
            reason="invalid_option",
            path="retry",
        )
    return given.policy


def check_hooks(hooks: Hooks, *, pipeline: str) -> Hooks:
    """Raises InvalidInput for what cannot be called with a Problem."""
    for option in hooks.__struct_fields__:
        hook = getattr(hooks, option)
        if hook is not None and not (callable(hook) and signature.takes(hook, 1)):
            raise InvalidInput(
                f"{option} of pipeline {pipeline!r} takes a function of one argument, a windlass.Problem, "
                f"not {shorten(hook)}.",
                reason="invalid_option",
                path=option,
            )
    return hooks

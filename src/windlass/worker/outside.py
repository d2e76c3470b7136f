"""What the code of a run waits for that others bring: how a stored event, decision or child's end reads to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec

from windlass.codec import Codec
from windlass.define.context import RAISE
from windlass.define.event import Event
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput, RunCancelled, RunFailed, WaitTimeout
from windlass.model.failure import Failure, FailureKind
from windlass.model.message import Decision
from windlass.worker.calls import Read

_decisions = msgspec.json.Decoder(Decision)


def read_event(event: Event[Any], default: Any, codec: Codec) -> Read:
    def read(output: bytes | None, failure: Failure | None) -> tuple[Any, Exception | None]:
        if failure is not None:
            return (None, WaitTimeout(event.name)) if default is RAISE else (default, None)
        try:
            return codec.decode(output or b"null", event.type), None
        except InvalidInput as refused:  # sent by somebody who did not know its type: the code may handle it
            text = f"Event {event.name!r} brought something else than it declares: {refused}"
            return None, InvalidInput(text, reason="wrong_event", path=refused.path)

    return read


def read_decision(output: bytes | None, failure: Failure | None) -> tuple[Any, Exception | None]:
    return _decisions.decode(output or b"null"), None


def read_child(
    run_id: str, definition: WorkflowDefinition, codec: Codec, output: bytes | None, failure: Failure | None
) -> tuple[Any, Exception | None]:
    if failure is None:
        return codec.decode(output or b"null", definition.return_type), None
    return None, _ended_badly(run_id, definition, failure, codec)


def _ended_badly(run_id: str, definition: WorkflowDefinition, failure: Failure, codec: Codec) -> Exception:
    if (failure.kind, failure.type) == (FailureKind.INTERNAL, RunCancelled.__name__):
        return RunCancelled(run_id, failure.message)
    return RunFailed(
        failure.type,
        failure.message,
        data=None if failure.data is None else codec.decode(failure.data),
        traceback=failure.traceback,
        kind=failure.kind.value,
        subject=f"Run {run_id} ({definition.name!r})",
    )


async def race(awaitables: Mapping[str, Awaitable[Any]]) -> tuple[str, Any]:
    """The first that ends. Results reach a run one at a time, so there is one; the others are cancelled."""
    tasks = {name: asyncio.ensure_future(awaitable) for name, awaitable in awaitables.items()}
    try:
        await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        winner = next(name for name, task in tasks.items() if task.done())
    finally:
        losers = [task for task in tasks.values() if not task.done()]
        for task in losers:
            task.cancel()
        if losers:
            await asyncio.wait(losers)
        for task in losers:
            if not task.cancelled():
                task.exception()  # seen: its branch was given up
    return winner, await tasks[winner]

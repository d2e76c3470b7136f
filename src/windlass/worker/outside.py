"""What the code of a run waits for that others bring: how a stored event, decision or child's end reads to it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from windlass.answers import seen
from windlass.codec import Codec
from windlass.define.context import RAISE, Context
from windlass.define.event import Event
from windlass.define.signal import takes_firing
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import InvalidInput, RunCancelled, RunFailed, WaitTimeout
from windlass.model.failure import Failure, FailureKind
from windlass.model.message import Decision
from windlass.rules.firing_inputs import read_firing_payload
from windlass.worker.calls import Read

_decisions = msgspec.json.Decoder(Decision)


def read_event(event: Event[Any], default: Any, codec: Codec) -> Read:
    def read(output: bytes | None, failure: Failure | None) -> tuple[Any, Exception | None]:
        if failure is not None:
            return (None, WaitTimeout(event.name)) if default is RAISE else (default, None)
        try:
            firing = read_firing_payload(output or b"", codec) if takes_firing(event.type) else None
            return codec.decode(output or b"null", event.type) if firing is None else firing, None
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
        # A graph returns nothing, and the engine, which ends it, cannot encode even that.
        return codec.decode(output, definition.return_type) if output else None, None
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
        reason=failure.reason,
        subject=f"Run {run_id} ({definition.name!r})",
    )


def encode_detail(data: Any, codec: Codec) -> bytes:
    """What a person who decides is shown."""
    try:
        return codec.encode(data)
    except InvalidInput as refused:
        raise InvalidInput(f"approval(data=…): {refused}", reason=refused.reason, path=refused.path) from None


def refused_argument(refused: InvalidInput, fn: Callable[..., Any], args: Sequence[object]) -> InvalidInput:
    """The same refusal, with the call it belongs to."""
    name = getattr(fn, "__name__", type(fn).__name__)
    if any(isinstance(argument, Context) for argument in args):
        text = f"ctx.step({name}, …): a step gets no ctx. Leave it out, or call {name} from the workflow."
    else:
        text = f"ctx.step({name}, …): {refused}"
    return InvalidInput(text, reason=refused.reason, path=refused.path)


def list_items(items: object) -> list[Any]:
    """What a map goes over."""
    if isinstance(items, Iterable):
        return list(items)
    text = f"map() takes a list of items, not {type(items).__name__}: ctx.map(resize, images)."
    raise InvalidInput(text, reason="invalid_argument", path="items")


def check_runners(unnamed: Sequence[object], named: Mapping[str, object]) -> None:
    """Refuse what cannot race. Coroutines that will never run are closed: Python would complain about each."""
    wrong = next((name for name, runner in named.items() if not inspect.isawaitable(runner)), None)
    if unnamed:
        text = (
            "race() takes its runners by name: name, value = await ctx.race(reply=ctx.receive(…), late=ctx.sleep(…))."
        )
    elif not named:
        text = "race() needs something to wait for."
    elif wrong is not None:
        text = f"race() takes what can be awaited, and {wrong!r} is of type {type(named[wrong]).__name__}."
    else:
        return
    for runner in (*unnamed, *named.values()):
        if inspect.iscoroutine(runner):
            runner.close()
    raise InvalidInput(text, reason="invalid_argument", path=wrong or "")


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
        for task in tasks.values():
            seen(task)  # its branch was given up; of the winner more is heard below
    return winner, await tasks[winner]

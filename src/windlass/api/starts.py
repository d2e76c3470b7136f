"""Starts from outside, as every door accepts them: completed, checked, and recognised when they come again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from windlass.answers import outcomes
from windlass.api.checks import MOST_STARTS, check
from windlass.api.fields import check_version
from windlass.api.lanes import DEFAULT_QUEUE, KnownLanes
from windlass.api.service import Runs
from windlass.codec import Codec
from windlass.errors import AlreadyExists, InvalidInput, NotFound, WindlassError
from windlass.model.commands import Started, StartRun
from windlass.model.signal import ActionKind, CreateSignal
from windlass.rules.limits import check_limit, check_name, check_payload, check_run_id

_CODEC = Codec()


def hash_of_payload(payload: bytes) -> bytes:
    """What the programs' own codec says of plain JSON. Raises InvalidInput for anything else."""
    return _CODEC.hash_of(_CODEC.decode(payload))


def hash_of_arguments(payload: bytes) -> bytes:
    value = _CODEC.decode(payload)
    if not isinstance(value, list | tuple):
        raise InvalidInput("The input of a run is a JSON array: its arguments by position.", path="input")
    return _CODEC.hash_of(tuple(value))


async def _placed(command: StartRun, lanes: KnownLanes | None) -> StartRun:
    """In the queue where workers serve the workflow."""
    if lanes is None:
        return replace(command, queue=DEFAULT_QUEUE)
    place = await lanes.place(command.namespace, command.name, queue=None, version=command.version or None)
    return replace(command, queue=place.queue, version=place.version)


class Starts:
    def __init__(self, runs: Runs, lanes: KnownLanes) -> None:
        self._runs, self._lanes = runs, lanes

    async def start(self, commands: Sequence[StartRun], *, allow_unknown: bool) -> list[Started | Exception]:
        """An outcome for each: one that is refused does not keep its neighbours from being started."""
        check_limit(len(commands), what="number of starts", low=1, high=MOST_STARTS)
        lanes = None if allow_unknown else self._lanes if len(commands) == 1 else self._lanes.once()
        found: list[Any] = [await self._prepared(command, lanes) for command in commands]
        ready = [place for place, item in enumerate(found) if isinstance(item, StartRun)]
        answers: list[Any] = [self._runs.start_run(found[place]) for place in ready]
        for place, outcome in zip(ready, await outcomes(answers), strict=True):
            found[place] = await self._same(found[place], outcome)
        return found

    async def complete(self, command: CreateSignal) -> CreateSignal:
        """A signal as a program's own code would say it: where its workflow is served, and the hash of its payload."""
        action = command.action
        if action.kind is ActionKind.START and not action.queue:
            name = check_name(action.workflow, what="workflow")
            if command.allow_unknown:
                return replace(command, action=replace(action, queue=DEFAULT_QUEUE))
            version = check_version(action.version) or None
            place = await self._lanes.place(command.namespace, name, queue=None, version=version)
            return replace(command, action=replace(action, queue=place.queue, version=place.version))
        if action.kind is ActionKind.SEND and command.payload is not None and not action.payload_hash:
            check_payload(command.payload, what="payload")
            return replace(command, action=replace(action, payload_hash=hash_of_payload(command.payload)))
        return command

    async def _prepared(self, command: StartRun, lanes: KnownLanes | None) -> StartRun | WindlassError:
        """`lanes` tells what is known; none: whoever asks vouches for it."""
        try:
            if command.run_id is not None:
                check_run_id(command.run_id)
            if not command.queue:
                command = await _placed(command, lanes)
            if not command.input_hash:
                command = replace(command, input_hash=hash_of_arguments(command.input))
            command = check(command)
            if lanes is not None:
                await lanes.check(command)
        except WindlassError as refused:
            return refused
        return command

    async def _same(self, command: StartRun, outcome: Started | Exception) -> Started | Exception:
        """An id that was chosen by the caller and is known may be the caller's own start once more, or another run."""
        if isinstance(outcome, Exception) or not outcome.is_repeat or command.run_id is None or command.key is not None:
            return outcome
        try:
            view = await self._runs.get_run(command.namespace, command.run_id)
        except (NotFound, InvalidInput):
            return outcome
        except WindlassError as error:
            return error
        if (view.run.name, view.run.version, view.input) == (command.name, command.version, command.input):
            return outcome
        text = f"Run {command.run_id} exists, of another workflow or with other input. Choose another id."
        return AlreadyExists(text, reason="run_id_conflict", owner=command.run_id)

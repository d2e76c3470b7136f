"""Ask for a run: check the arguments here, before anything is stored, and hold what was started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from windlass.answers import outcomes
from windlass.api.service import Runs
from windlass.client.calls import Call, check_calls
from windlass.client.graphs import GraphHandle
from windlass.client.handle import Door, Handle
from windlass.define.options import START_OPTIONS, shorten
from windlass.define.starting import start_command
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import AlreadyExists, InvalidInput, NotFound, WindlassError
from windlass.model.commands import SetGate, Started, StartRun
from windlass.model.duration import MAX_DURATION, from_instant
from windlass.model.gate import GateKind
from windlass.model.run import RunId, RunView
from windlass.model.time import DAY, HOUR, MINUTE, SECOND
from windlass.rules.limits import check_key, check_note, check_person, check_run_id

SHOWN_INPUT = 60
SHOWN_POSITIONS = 20


class Client:
    """Starts runs and finds them again, over the door to the runs."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def start(
        self, definition: WorkflowDefinition, args: Sequence[Any] = (), options: Mapping[str, Any] | None = None
    ) -> Handle[Any]:
        """Store a run and answer with its handle. The same key with the same arguments answers with the same run.

        Raises InvalidInput before anything is stored, AlreadyExists if the key belongs to other input.
        """
        command = self._command(definition, args, options or {})
        await self._door.to_change()
        runs = await self._door.runs()
        try:
            started = await runs.start_run(command)
        except AlreadyExists as error:
            raise await self._conflict(runs, error, definition, command) from None
        return self._held(definition, started)

    async def start_many(self, calls: Iterable[Call[Any]]) -> list[Handle[Any]]:
        """Check all, then store all together. Raises what the first one met, once every other one is stored."""
        wanted = [self._read_call(position, item) for position, item in enumerate(check_calls(calls))]
        if not wanted:
            return []
        await self._door.to_change()
        runs = await self._door.runs()
        # Asked for in their order and at once, so that they share commits.
        answers = await outcomes([runs.start_run(command) for _, command in wanted])
        refused = {position: answer for position, answer in enumerate(answers) if isinstance(answer, Exception)}
        if refused:
            raise await self._first_of(runs, refused, wanted)
        return [
            self._held(definition, answer)
            for (definition, _), answer in zip(wanted, answers, strict=True)
            if isinstance(answer, Started)
        ]

    async def set_gate(self, kind: GateKind, name: str, *, is_paused: bool, by: str | None, note: str | None) -> None:
        """Pause or resume what lies behind a gate."""
        by, note = check_person(by), check_note(note)
        control = await self._door.control()
        namespace = self._door.namespace
        await control.set_gate(
            SetGate(namespace=namespace, kind=kind, name=name, is_paused=is_paused, by=by, note=note)
        )

    def handle(self, run_id: str, definition: WorkflowDefinition | None = None) -> Handle[Any]:
        """The handle of a run known by its id. Whether it exists is seen at the first await."""
        kind: type[Handle[Any]] = Handle if definition is None else _kind_of(definition, self._door)
        return kind(self._door, run_id=RunId(check_run_id(run_id)), definition=definition)

    def handle_of_key(self, definition: WorkflowDefinition, key: str) -> Handle[Any]:
        """The handle of the run a start key belongs to."""
        return _kind_of(definition, self._door)(self._door, key=check_key(key, what="key"), definition=definition)

    def _held(self, definition: WorkflowDefinition, started: Started) -> Handle[Any]:
        kind = _kind_of(definition, self._door)
        return kind(self._door, run_id=started.run_id, definition=definition, is_known=True)

    async def _first_of(
        self, runs: Runs, refused: Mapping[int, Exception], wanted: Sequence[tuple[WorkflowDefinition, StartRun]]
    ) -> Exception:
        """What to raise for several: an unknown outcome before a conflict, which names where it and its like stand."""
        for error in refused.values():
            if not isinstance(error, AlreadyExists):
                return error
        first, *others = refused
        conflict = refused[first]
        assert isinstance(conflict, AlreadyExists)
        told = await self._conflict(runs, conflict, *wanted[first])
        return AlreadyExists(f"calls[{first}]: {told} {_what_became_of(others)}", reason=told.reason, owner=told.owner)

    def _read_call(self, position: int, call: Call[Any]) -> tuple[WorkflowDefinition, StartRun]:
        try:
            definition = self._door.registry.find_workflow(call.function, verb="windlass.call")
            return definition, self._command(definition, call.args, call.options)
        except InvalidInput as error:
            where = f"calls[{position}]"
            path = f"{where}.{error.path}" if error.path else where
            raise InvalidInput(f"{where}: {error}", reason=error.reason, path=path) from None

    def _command(self, definition: WorkflowDefinition, args: Sequence[Any], options: Mapping[str, Any]) -> StartRun:
        namespace, codec = self._door.namespace, self._door.codec
        if definition.plan is not None:
            definition.plan(codec)  # refused here, before anything is stored, if it could not run
        command = start_command(
            definition, args, options, namespace=namespace, codec=codec, verb="start", allowed=START_OPTIONS
        )
        if command.at is not None and command.at - self._door.clock.now() > MAX_DURATION:
            text = f"Invalid at {from_instant(command.at).isoformat()}: it is more than 10 years ahead."
            raise InvalidInput(text, reason="invalid_time", path="at")
        return command

    async def _conflict(
        self, runs: Runs, error: AlreadyExists, definition: WorkflowDefinition, command: StartRun
    ) -> AlreadyExists:
        """The same refusal, with what the owner of the key was started with."""
        if error.reason != "idempotency_conflict" or not error.owner:
            return error
        try:
            view = await runs.get_run(self._door.namespace, RunId(error.owner))
        except NotFound:  # pruned; its key outlives it
            return error
        belongs = f"Key {command.key!r} belongs to {error.owner} ({self._standing(view)})"
        if view.run.name != command.name:
            text = f"{belongs} of workflow {view.run.name!r}, not {command.name!r}. Use another key."
        elif view.run.version != command.version:
            text = f"{belongs} of version {view.run.version!r}, not {command.version!r}. Use another key."
        else:
            text = (
                f"{belongs} with other input: {self._shown(view.input)}, not {self._shown(command.input)}. "
                f"Use another key, or app.handle({definition.function.__name__}, key={command.key!r})."
            )
        return AlreadyExists(text, reason=error.reason, owner=error.owner)

    def _standing(self, view: RunView) -> str:
        run = view.run
        if run.finished_at is None:
            return run.status.value
        return f"{run.status.value} {_ago(self._door.clock.now() - run.finished_at)}"

    def _shown(self, encoded: bytes) -> str:
        try:
            return shorten(list(self._door.codec.decode(encoded)), to=SHOWN_INPUT)
        except WindlassError:
            return "input that cannot be read here"


def _kind_of(definition: WorkflowDefinition, door: Door) -> type[Handle[Any]]:
    return Handle if definition.plan is None or door.graphs is None else GraphHandle


def _what_became_of(refused: Sequence[int]) -> str:
    """A sentence about the other calls, of which these are refused too."""
    if not refused:
        return "All other calls are started."
    shown = ", ".join(f"calls[{position}]" for position in refused[:SHOWN_POSITIONS])
    more = len(refused) - SHOWN_POSITIONS
    return f"Also refused: {shown}{f' and {more:,} more' if more > 0 else ''}; all other calls are started."


def _ago(passed: int) -> str:
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s")):
        if passed >= unit:
            return f"{passed // unit} {name} ago"
    return "just now"

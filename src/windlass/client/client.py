"""Ask for a run: check the arguments here, before anything is stored, and hold what was started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windlass.api.service import Runs
from windlass.client.handle import Door, Handle
from windlass.define.options import START_OPTIONS, refuse_unknown_options, shorten
from windlass.define.workflow import WorkflowDefinition
from windlass.errors import AlreadyExists, InvalidInput, NotFound, WindlassError
from windlass.model.commands import StartRun
from windlass.model.duration import to_duration, to_instant
from windlass.model.run import RunId, RunView
from windlass.model.time import DAY, HOUR, MINUTE, SECOND
from windlass.rules.limits import check_key, check_priority, check_queue, check_run_id

SHOWN_INPUT = 60


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
        runs = await self._door.runs()
        try:
            started = await runs.start_run(command)
        except AlreadyExists as error:
            if error.reason != "idempotency_conflict" or not error.owner:
                raise
            raise await self._conflict(runs, error, definition, command) from None
        return Handle(self._door, run_id=started.run_id, definition=definition, is_known=True)

    def handle(self, run_id: str) -> Handle[Any]:
        """The handle of a run known by its id. Whether it exists is seen at the first await."""
        return Handle(self._door, run_id=RunId(check_run_id(run_id)))

    def handle_of_key(self, definition: WorkflowDefinition, key: str) -> Handle[Any]:
        """The handle of the run a start key belongs to."""
        return Handle(self._door, key=check_key(key, what="key"), definition=definition)

    def _command(self, definition: WorkflowDefinition, args: Sequence[Any], options: Mapping[str, Any]) -> StartRun:
        refuse_unknown_options(options, verb="start", function=definition.function, args=args, allowed=START_OPTIONS)
        self._check_arguments(definition, args)
        given = {option: value for option, value in options.items() if value is not None}
        if "delay" in given and "at" in given:
            raise InvalidInput("start() takes delay or at, not both.", reason="invalid_option", path="at")
        encoded, hashed = self._door.codec.encode_hashed(tuple(args))
        return StartRun(
            namespace=self._door.namespace,
            name=definition.name,
            version=definition.version,
            queue=check_queue(given["queue"], what="queue") if "queue" in given else definition.queue,
            priority=check_priority(given.get("priority", 0)),
            input=encoded,
            input_hash=hashed,
            key=check_key(given["key"], what="key") if "key" in given else None,
            delay_for=to_duration(given["delay"], what="delay") if "delay" in given else None,
            at=to_instant(given["at"], what="at") if "at" in given else None,
            timeout_for=to_duration(given["timeout"], what="timeout", allow_zero=False)
            if "timeout" in given
            else definition.timeout_for,
        )

    def _check_arguments(self, definition: WorkflowDefinition, args: Sequence[Any]) -> None:
        names, types = definition.argument_names, definition.argument_types
        what = f"Workflow {definition.name!r}"
        if len(args) < definition.required:
            missing = names[len(args)]
            expected = _describe_type(types[len(args)])
            raise InvalidInput(
                f"{what} needs {missing!r} ({expected}) and got {_count(len(args))}: {_call(definition)}.",
                reason="missing_argument",
                path=f"$.{missing}",
            )
        if len(args) > len(names):
            raise InvalidInput(
                f"{what} takes {_count(len(names))} and got {len(args)}: {_call(definition)}.",
                reason="extra_argument",
                path=f"$[{len(names)}]",
            )
        self._door.codec.check_arguments(tuple(args), types[: len(args)], names[: len(args)], what=what)

    async def _conflict(
        self, runs: Runs, error: AlreadyExists, definition: WorkflowDefinition, command: StartRun
    ) -> AlreadyExists:
        """The same refusal, with what the owner of the key was started with."""
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


def _ago(passed: int) -> str:
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s")):
        if passed >= unit:
            return f"{passed // unit} {name} ago"
    return "just now"


def _count(number: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(number, f"{number} arguments")


def _call(definition: WorkflowDefinition) -> str:
    return f"app.start({', '.join([definition.function.__name__, *definition.argument_names])})"


def _describe_type(type: Any) -> str:
    return "any value" if type is Any else getattr(type, "__name__", None) or str(type)

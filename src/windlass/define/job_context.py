"""What a job of a graph may know besides what every workflow may do: how the jobs that it needed have ended.

A job is entered when all of them are over, so this is the same at every replay. The worker's context implements it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from windlass.codec import Codec
from windlass.define.context import Context
from windlass.define.registry import Registry
from windlass.define.signal import takes_firing
from windlass.errors import InvalidInput
from windlass.model.failure import in_one_line
from windlass.model.graph import Met, NeedsOf
from windlass.model.run import RunStatus
from windlass.rules.firing_inputs import read_firing_input

UNREAD = object()
SHOWN = 10  # names in a message


class Need:
    """How one job ended that this one needed: `ctx.needs[lint].output`."""

    __slots__ = ("_codec", "_met", "_output", "_type", "error", "name", "status")

    def __init__(self, met: Met, type: Any, codec: Codec) -> None:
        self.name, self.status = met.job, met.status.value
        self.error = None if met.failure is None else in_one_line(met.failure)
        self._met, self._type, self._codec = met, type, codec
        self._output: Any = UNREAD

    name: str
    """Its name in the graph, such as "lint" or "test[3.11]"."""

    status: str
    """How it ended: "completed", "failed", "cancelled" or "skipped"."""

    error: str | None
    """Why it failed, for people."""

    @property
    def output(self) -> Any:
        """What it returned, as its return annotation says; None unless it completed. Read when it is asked for."""
        if self._output is UNREAD:
            stored = self._met.output if self._met.status is RunStatus.COMPLETED else None
            self._output = self._codec.decode(stored, self._type) if stored else None
        return self._output

    def __repr__(self) -> str:
        return f"Need({self.name!r}, {self.status})"


class Members(list[Need]):
    """The jobs of a group. `status` and `error` are of the job that returned them: if it failed, there are none."""

    def __init__(self, generator: Need, needs: Iterable[Need]) -> None:
        super().__init__(needs)
        self.status, self.error = generator.status, generator.error


class Needs(Mapping[str, Any]):
    """What a job needed, by function or by name: a Need, or a list of them for a matrix or a group."""

    def __init__(self, found: NeedsOf, registry: Registry, codec: Codec) -> None:
        self._found, self._registry, self._codec = found, registry, codec
        self._single: dict[str, Met] = {}
        self._several: dict[str, list[Met]] = {}
        self._generators = {met.job: met for met in found.needs if met.is_group}
        for met in found.needs:
            if met.is_group:
                self._several.setdefault(met.job, [])
                continue
            self._single[met.job] = met
            for name in (met.matrix, self._group_of(met)):
                if name is not None:
                    self._several.setdefault(name, []).append(met)
        self._workflows = {met.workflow for met in found.needs}
        self._names = [*dict.fromkeys(self._group_of(met) or met.matrix or met.job for met in found.needs)]

    def _group_of(self, met: Met) -> str | None:
        """The group that it came with; one that is needed by its own name stands for itself."""
        return met.group if met.group in self._generators else None

    def __getitem__(self, key: Callable[..., Any] | str) -> Any:
        """A Need, or a list of them. Raises InvalidInput for a job that this one does not need."""
        for name in self._meant(key):
            if name in self._several:
                members = [self._need(met) for met in self._several[name]]
                generator = self._generators.get(name)
                return members if generator is None else Members(self._need(generator), members)
            if name in self._single:
                return self._need(self._single[name])
        raise self._unknown(key)

    def __contains__(self, key: object) -> bool:
        return any(name in self._several or name in self._single for name in self._meant(key))

    def get(self, key: Callable[..., Any] | str, default: Any = None) -> Any:
        """The same as `[]`, with an answer for a job that this one does not need."""
        try:
            return self[key]
        except InvalidInput:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Needs({', '.join(self._names)})"

    def _meant(self, key: object) -> tuple[str, ...]:
        """The names in a graph that a key may stand for: a function may be a job of several graphs."""
        if isinstance(key, str):
            return (key,)
        return tuple(item.job for item in self._registry.jobs_of(key) if item.job and item.name in self._workflows)

    def _need(self, met: Met) -> Need:
        definition = self._registry.workflow_or_none(met.workflow, met.version)
        return Need(met, Any if definition is None else definition.return_type, self._codec)

    def _unknown(self, key: object) -> InvalidInput:
        name = key if isinstance(key, str) else getattr(key, "__name__", type(key).__name__)
        known = [*self._names, *(item for item in self._single if item not in self._names)]
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        shown = ", ".join(map(repr, known[:SHOWN])) + (" …" if len(known) > SHOWN else "")
        has = f"It needs {shown}." if known else "It needs nothing."
        return InvalidInput(
            f"Job {self._found.job!r} does not need {name!r}, so it knows nothing of it. {has}{hint} "
            "Add it to needs=[…] of the job.",
            reason="unknown_output",
            path=f"needs[{name!r}]",
        )


class JobContext(Context):
    """The first parameter of every job of a graph: all that a Context has, and what the job is given.

    Example::

        @release.job(needs=[lint, windlass.after(test, on="always")])
        async def report(ctx: windlass.JobContext) -> str:
            passed = [need.name for need in ctx.needs[test] if need.status == "completed"]
            return f"{ctx.input.tag}: {ctx.needs[lint].output}, {len(passed)} passed"
    """

    needs: Needs
    """How the jobs that this one needed have ended, and what they returned."""

    input: Any
    """What the graph was started with, of the type that `app.graph(…, input=…)` names; None if it takes nothing."""

    graph_id: str
    """The id of the graph's run."""

    job: str
    """The name of this job in the graph, such as "report" or "test[3.11]"."""


def read_input(stored: bytes, type: Any, codec: Codec) -> Any:
    """What a graph was started with, from the arguments on record."""
    if type is None:
        return None
    firing = read_firing_input(stored, codec) if takes_firing(type) else None
    if firing is not None:
        return firing
    arguments: tuple[Any] = codec.decode(stored, tuple[type])
    return arguments[0]

"""What became of an input, drawn as a tree: events, below each the attempts that took it, below those what they did."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from rich.text import Text

from windlass.cli import payloads
from windlass.cli.terminal import UNICODE, Screen, cut, escape
from windlass.model.effect import Effect, EffectStatus
from windlass.model.failure import in_one_line
from windlass.model.pipeline import EventRow, EventStatus, HandlerRun, HandlerRunId, HandlerStatus
from windlass.model.pipeline_commands import Trace

DIM = "bright_black"
EVENTS = {
    EventStatus.PENDING: "yellow",
    EventStatus.RESERVED: "cyan",
    EventStatus.CONSUMED: "green",
    EventStatus.SKIPPED: DIM,
}
EFFECTS = {EffectStatus.APPLIED: "green", EffectStatus.FAILED: "red"}
LONGEST_PAYLOAD = 60


class Guides(Struct, frozen=True, kw_only=True):
    """The lines of a tree."""

    more: str = "├─ "
    last: str = "└─ "
    beside: str = "│  "
    below: str = "   "


PLAIN = Guides(more="|- ", last="`- ", beside="|  ")


class Node(Struct, frozen=True, kw_only=True):
    line: Text
    below: tuple[Node, ...] = ()


def tree(trace: Trace, *, screen: Screen) -> Iterator[Text]:
    guides = Guides() if screen.glyphs is UNICODE else PLAIN
    yield from _drawn(_Grown(trace, screen).roots(), guides=guides, before="  ")


def attempt_style(status: HandlerStatus) -> str:
    """The colour of how an attempt stands."""
    if status is HandlerStatus.COMMITTED:
        return "green"
    if status is HandlerStatus.ACTIVE:
        return "cyan"
    return "bold red" if status.value.startswith("failed") else "magenta"


class _Grown:
    """Each attempt is drawn once, below the first of its events."""

    def __init__(self, trace: Trace, screen: Screen) -> None:
        self._trace, self._screen = trace, screen
        self._drawn: set[HandlerRunId] = set()
        self._effects = {effect.owner: effect for effect in trace.effects}

    def roots(self) -> tuple[Node, ...]:
        """What was published from outside, or by something that took none of its events."""
        takers = {run.id for run in self._trace.runs if run.reserved}
        return tuple(self._event(event) for event in self._trace.events if event.created_by not in takers)

    def _event(self, event: EventRow) -> Node:
        width = min(LONGEST_PAYLOAD, self._screen.width // 2)
        line = Text(f"{escape(event.topic)} {escape(event.id)}", style="bold")
        line.append(f"  {event.status.value}", style=EVENTS[event.status])
        line.append(f"  {payloads.one_line(event.payload, width=width, glyphs=self._screen.glyphs)}", style=DIM)
        taken = [run for run in self._trace.runs if _has(run, event)]
        return Node(line=line, below=tuple(self._attempt(run) for run in taken))

    def _attempt(self, run: HandlerRun) -> Node:
        line = Text(f"{escape(run.handler)}", style="default not bold")
        if run.id in self._drawn:
            return Node(line=line.append(f"  with it, above ({run.id})", style=DIM))
        self._drawn.add(run.id)
        line.append(f"  {run.status.value}", style=attempt_style(run.status))
        line.append(f"  {escape(run.title)}" if run.title else "")
        line.append(f"  {run.id}" + (f", attempt {run.attempt}" if run.attempt > 1 else ""), style=DIM)
        below: list[Node] = []
        if run.failure is not None:
            text = cut(escape(in_one_line(run.failure)), self._screen.width - 16, glyphs=self._screen.glyphs)
            below.append(Node(line=Text(text, style="red")))
        effect = self._effects.get(run.id)
        if effect is not None:
            below.append(Node(line=effect_line(effect)))
        below += [self._event(event) for event in self._trace.events if event.created_by == run.id]
        return Node(line=line, below=tuple(below))


def effect_line(effect: Effect) -> Text:
    line = Text(f"effect {escape(effect.name)}", style="default not bold")
    line.append(f"  {effect.status.value}", style=EFFECTS.get(effect.status, "bold magenta"))
    if effect.resolution is not None:
        by = "" if effect.resolved_by is None else f", by {escape(effect.resolved_by)}"
        line.append(f" ({effect.resolution.value}{by})", style=DIM)
    return line.append(f"  key {escape(effect.idempotency_key)}", style=DIM)


def _has(run: HandlerRun, event: EventRow) -> bool:
    return any(item.topic == event.topic and item.id == event.id for item in run.reserved)


def _drawn(nodes: tuple[Node, ...], *, guides: Guides, before: str) -> Iterator[Text]:
    for number, node in enumerate(nodes):
        is_last = number == len(nodes) - 1
        yield Text(f"{before}{guides.last if is_last else guides.more}", style=DIM).append_text(node.line)
        yield from _drawn(node.below, guides=guides, before=before + (guides.below if is_last else guides.beside))

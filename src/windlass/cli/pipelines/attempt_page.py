"""`windlass show hrn_…`: one attempt of a handler: how far it came, with what, and what it led to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from windlass.cli import payloads
from windlass.cli.pipelines.trace import EVENTS, attempt_style, effect_line
from windlass.cli.terminal import Screen, escape, wrapped
from windlass.model.duration import between, describe, from_instant
from windlass.model.effect import Effect
from windlass.model.failure import Failure, in_one_line
from windlass.model.pipeline import EventRow
from windlass.model.pipeline_commands import HandlerRunView
from windlass.model.time import Duration, Instant

DIM = "bright_black"
MOST_EVENTS = 20


def page(view: HandlerRunView, *, now: Instant, screen: Screen, is_full: bool) -> Iterator[Text]:
    yield from _head(view, now=now, screen=screen)
    yield from _payload("Prepared", view.data, screen=screen, is_full=is_full)
    yield from _events("Events", view.events, screen=screen, is_full=is_full)
    if view.effect is not None:
        yield from _effect(view.effect, now=now, screen=screen, is_full=is_full)
    yield from _payload("Result", view.result, screen=screen, is_full=is_full)
    yield from _events("Published", view.published, screen=screen, is_full=is_full)
    if view.run.failure is not None:
        yield from _failure(f"Failed: {view.run.failure.kind.value}", view.run.failure, screen=screen, is_full=is_full)
    if len(view.chain) > 1:
        yield from _title("Attempts, the first above")
        for number, id in enumerate(view.chain, start=1):
            here = "  this one" if id == view.run.id else ""
            yield Text(f"  {number}  {id}", style="bold" if here else "").append(here, style=DIM)


def _head(view: HandlerRunView, *, now: Instant, screen: Screen) -> Iterator[Text]:
    run, dot = view.run, f" {screen.glyphs.dot} "
    line = Text(run.status.value, style=attempt_style(run.status))
    line.append(f"  {escape(run.handler)}", style="bold default").append(f" of {escape(run.pipeline)}", style="default")
    yield line
    if run.title:
        yield Text(f"  {escape(run.title)}")
    facts = [run.id, f"{run.kind.value}, attempt {run.attempt}", f"phase {run.phase.value}"]
    if run.outcome is not None:
        facts.append(f"effect: {run.outcome.value}")
    times = [f"{from_instant(run.created_at):%Y-%m-%d %H:%M:%S} UTC, {between(run.created_at, now)} ago"]
    if run.ended_at is not None:
        times.append(f"took {describe(Duration(max(0, run.ended_at - run.created_at)))}")
    if run.worker is not None:
        times.append(run.worker)
    if run.retry_of is not None:
        times.append(f"tries {run.retry_of} again")
    if run.decided_by is not None:
        times.append(f"decided by {escape(run.decided_by)}{f': {escape(run.note)}' if run.note else ''}")
    for listed in (facts, times):
        for text in wrapped(dot.join(listed), width=screen.width - 2):
            yield Text(f"  {text}", style=DIM)
    if run.warning is not None:
        yield Text(f"  {escape(run.warning)}", style="yellow")


def _effect(effect: Effect, *, now: Instant, screen: Screen, is_full: bool) -> Iterator[Text]:
    yield from _title("Effect")
    yield Text("  ").append_text(effect_line(effect))
    asked = "" if not effect.asked else f", asked about in vain {effect.asked}x"
    yield Text(f"  call {effect.attempt}, {between(effect.created_at, now)} ago{asked}", style=DIM)
    for line in payloads.lines(effect.params, width=screen.width - 4, is_full=is_full):
        yield Text(f"    {line}")
    if effect.note is not None:
        yield Text(f"  {escape(effect.note)}")
    if effect.failure is not None:
        yield Text(f"  {escape(in_one_line(effect.failure))}", style="red")


def _events(title: str, events: Sequence[EventRow], *, screen: Screen, is_full: bool) -> Iterator[Text]:
    if not events:
        return
    yield from _title(title)
    shown = events if is_full else events[:MOST_EVENTS]
    for event in shown:
        line = Text(f"  {escape(event.topic)} {escape(event.id)}").append(
            f"  {event.status.value}", style=EVENTS[event.status]
        )
        room = max(screen.width - line.cell_len - 2, 20)
        yield line.append(f"  {payloads.one_line(event.payload, width=room, glyphs=screen.glyphs)}", style=DIM)
    if len(events) > len(shown):
        yield Text(f"  {screen.glyphs.ellipsis} {len(events) - len(shown):,} more (--full)", style=DIM)


def _payload(title: str, data: bytes | None, *, screen: Screen, is_full: bool) -> Iterator[Text]:
    if not data or data == b"null":
        return
    yield from _title(title)
    for line in payloads.lines(data, width=screen.width - 2, is_full=is_full):
        yield Text(f"  {line}")


def _failure(title: str, failure: Failure, *, screen: Screen, is_full: bool) -> Iterator[Text]:
    yield from _title(title)
    for line in wrapped(escape(in_one_line(failure)), width=screen.width - 2):
        yield Text(f"  {line}", style="red")
    for line in payloads.traceback(failure, is_full=is_full):
        yield Text(f"  {line}", style=DIM)


def _title(text: str) -> Iterator[Text]:
    yield Text()
    yield Text(text, style="bold")

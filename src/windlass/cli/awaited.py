"""What a page says about the outside: what a run waits for, what was sent to it, and what people did to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from rich.cells import cell_len
from rich.text import Text

from windlass.cli import payloads
from windlass.cli.terminal import Glyphs, cut, escape, wrapped
from windlass.model.duration import between, describe, from_instant, moment
from windlass.model.message import Decision, Message, MessageKind
from windlass.model.run import RETRIED_BY, Deed, LogEntry, Run
from windlass.model.step import Step, StepKind, StepStatus
from windlass.model.time import Duration, Instant

MAX_WAITS, MAX_MESSAGES, MAX_LOG, MAX_NOTE = 6, 8, 10, 3
NOTE_INDENT = 16
DIM = "bright_black"


def open_waits(run: Run, steps: Sequence[Step]) -> list[Step]:
    """What a run waits for that others have to bring."""
    if run.status.is_terminal:
        return []
    waiting = [step for step in steps if step.status is StepStatus.WAITING and not step.is_dropped]
    return [step for step in waiting if step.kind in (StepKind.EVENT, StepKind.APPROVAL, StepKind.CHILD)]


def waits(
    waiting: Sequence[Step], *, now: Instant, width: int, glyphs: Glyphs, is_full: bool = False
) -> Iterator[Text]:
    """A line for each wait, and what an approval shows to whoever decides."""
    shown = waiting if is_full else waiting[:MAX_WAITS]
    for step in shown:
        what = _awaited(step)
        since = [] if step.started_at is None else [f"for {between(step.started_at, now)}"]
        until = [] if step.due_at is None else [f"until {moment(step.due_at, now=now)}"]
        facts = f" {glyphs.dot} ".join([f"step {escape(step.key)}", *since, *until])
        lines = [f"  {what} {glyphs.dot} {facts}"]
        if cell_len(lines[0]) > width:
            lines = [f"  {what}", f"      {facts}"]
        for line in lines:
            yield Text(line if is_full else cut(line, width, glyphs=glyphs), style="yellow")
        if step.detail is not None and step.detail != b"null":
            for part in payloads.lines(step.detail, width=width - 6, is_full=is_full):
                yield Text(f"      {part}")
    if len(waiting) > len(shown):
        yield Text(f"  {glyphs.ellipsis} {len(waiting) - len(shown):,} more (--full)", style=DIM)


def _awaited(step: Step) -> str:
    match step.kind:
        case StepKind.EVENT:
            return f"event {escape(repr(step.awaits))}"
        case StepKind.APPROVAL:
            return f"approval {escape(repr(step.awaits))}"
    return f"child {step.awaits}"


def messages_title(messages: Sequence[Message]) -> str:
    unread = sum(message.taken_by is None for message in messages)
    return f"Messages: {len(messages) - unread:,} received, {unread:,} unread"


def message_lines(messages: Sequence[Message], *, width: int, glyphs: Glyphs, is_full: bool = False) -> Iterator[Text]:
    """A line for each message, in the order they came; the unread ones stand out."""
    shown = messages if is_full else messages[-MAX_MESSAGES:]
    if len(messages) > len(shown):
        yield Text(f"  {glyphs.ellipsis} {len(messages) - len(shown):,} earlier (--full)", style=DIM)
    room = min(max((len(_name(message)) for message in shown), default=0), width // 3)
    for message in shown:
        at = f"{from_instant(message.sent_at):%H:%M:%S}"
        read = "unread" if message.taken_by is None else "received"
        begin = f"  {at}  {read:8}  {cut(_name(message), room, glyphs=glyphs):{room}}  "
        content = _content(message, width=10_000 if is_full else max(width - len(begin), 1), glyphs=glyphs)
        yield Text(begin, style="yellow" if message.taken_by is None else DIM).append(content, style="default")


def _name(message: Message) -> str:
    return f"{message.kind.value} {escape(message.name)}"


def _content(message: Message, *, width: int, glyphs: Glyphs) -> str:
    if message.kind is MessageKind.EVENT:
        return payloads.one_line(message.payload, width=width, glyphs=glyphs)
    try:
        decision = msgspec.json.decode(message.payload, type=Decision)
    except msgspec.DecodeError:
        return payloads.one_line(message.payload, width=width, glyphs=glyphs)
    by = f" by {decision.by}" if decision.by else ""
    note = f": {decision.note}" if decision.note else ""
    return cut(escape(f"{decision.outcome}{by}{note}"), width, glyphs=glyphs)


def deed(entry: LogEntry, *, width: int) -> tuple[str, str]:
    """Why the status changed, and who did it if somebody did; what does not fit into the width comes second."""
    done = Deed.from_log(entry.data)
    parts = [entry.cause]
    if done.by is not None:
        parts.append(f" by {done.by}")
    if done.step is not None or done.run is not None:
        parts.append(f" ({done.step or done.run})")
    if done.note is not None:
        parts.append(f": {done.note}")
    parts = [escape(part) for part in parts]
    fits = len(parts)
    while fits > 1 and cell_len("".join(parts[:fits])) > width:
        fits -= 1
    return "".join(parts[:fits]), "".join(parts[fits:]).removeprefix(": ").strip()


def cancelled(entry: LogEntry) -> tuple[str, list[str]]:
    """The last entry of a cancelled run: a title, and what is to be said below it."""
    done = Deed.from_log(entry.data)
    said = []
    if done.run is not None:
        said.append(f"{'to be tried again as' if entry.cause == RETRIED_BY else 'with its parent'} {done.run}")
    if done.note is not None:
        said.append(escape(done.note))
    return "Cancelled" + (f" by {escape(done.by)}" if done.by is not None else ""), said


def log_lines(log: Sequence[LogEntry], *, width: int, glyphs: Glyphs, is_full: bool) -> Iterator[Text]:
    """What was written about a run, with the time that passed between two entries."""
    shown = log if is_full else log[-MAX_LOG:]
    if len(log) > len(shown):
        yield Text(f"  {glyphs.ellipsis} {len(log) - len(shown):,} earlier (--full)", style=DIM)
    previous: Instant | None = log[0].at if len(log) == len(shown) else None
    for entry in shown:
        at = f"{from_instant(entry.at):%H:%M:%S.%f}"[:-3]
        passed = "" if previous is None else f"+{describe(Duration(max(0, entry.at - previous)))}"
        previous = entry.at
        change = f"{entry.from_status or 'new'} {glyphs.arrow} {entry.to_status}"
        begin = f"  {at}  {passed:>12}  {escape(change):21}  "
        head, rest = deed(entry, width=width - len(begin))
        yield Text(begin + (head if is_full else cut(head, width - len(begin), glyphs=glyphs)), style=DIM)
        lines = wrapped(rest, width=width - NOTE_INDENT) if rest else []
        for line in lines if is_full else lines[:MAX_NOTE]:
            yield Text(" " * NOTE_INDENT + line, style=DIM)

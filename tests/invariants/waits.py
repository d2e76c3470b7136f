"""Whether runs got what they waited for: events once and in order, children once, and no end before theirs (I-14).

Each function takes evidence and answers with complaints, none if all is well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from tests.invariants.evidence import Evidence, Snapshot
from tests.lives.journal import Event
from windlass.codec import Codec
from windlass.model.message import Message, MessageKind
from windlass.model.run import RunStatus
from windlass.model.step import Step, StepKind, StepStatus

_codec = Codec()


def events_are_received_once(evidence: Evidence) -> list[str]:
    """DESIGN §5, rules 3 and 4: what was sent is there for ever, is received once at most, and in its order."""
    found = []
    for line in evidence.of(Event.HEARD):
        if line.what == "send":
            found += [
                f"{line.run_id}: event {line.key!r} was acknowledged in life {line.life}, life {snapshot.life} lost it"
                for snapshot in evidence.snapshots
                if snapshot.life >= line.life and not _is_there(snapshot, line.run_id, line.key, line.value)
            ]
    for snapshot in evidence.snapshots:
        for run_id, messages in snapshot.inboxes.items():
            found += _received_wrongly(run_id, messages, snapshot)
        found += _out_of_nothing(snapshot)
    for before, after in evidence.pairs:
        later = {(message.run_id, message.seq): message for message in after.messages}
        for message in before.messages:
            now = later.get((message.run_id, message.seq))
            if now is None or message not in (now, replace(now, taken_by=None)):
                found.append(f"{message.run_id}: message {message.id!r} changed after it was kept")
    return found


def children_are_created_once_and_awaited(evidence: Evidence) -> list[str]:
    """I-14: one child for each call of its parent, which has its result, and does not end before it."""
    found: list[str] = []
    for snapshot in evidence.snapshots:
        born = Counter((run.parent, run.parent_step) for run in snapshot.runs.values() if run.parent is not None)
        found += [
            f"{parent} {step}: {times} children of one call" for (parent, step), times in born.items() if times > 1
        ]
        for run in snapshot.runs.values():
            if run.parent is not None and not run.kind.is_job:  # a graph counts its jobs
                steps = snapshot.attempts.get((run.parent, run.parent_step or ""), [])
                if [step.awaits for step in steps] != [run.id]:
                    found.append(f"{run.id}: its parent {run.parent} does not know of it")
        for step in snapshot.steps:
            if step.kind in (StepKind.CHILD, StepKind.START):
                found += _of_another_mind(step, snapshot)
    return found


def _is_there(snapshot: Snapshot, run_id: str, id: str, value: object) -> bool:
    name, payload = value if isinstance(value, list) else ("", None)
    return any(
        (message.id, message.name, message.payload) == (id, name, _codec.encode(payload))
        for message in snapshot.inboxes.get(run_id, [])
    )


def _received_wrongly(run_id: str, messages: list[Message], snapshot: Snapshot) -> Iterator[str]:
    for what, values in (("id", [message.id for message in messages]), ("seq", [message.seq for message in messages])):
        if len(set(values)) < len(values):
            yield f"{run_id}: two messages have one {what}"
    taken = Counter(message.taken_by for message in messages if message.taken_by is not None)
    yield from (f"{run_id} {key}: received {times} messages" for key, times in taken.items() if times > 1)
    for name in {message.name for message in messages}:
        own = sorted((message for message in messages if message.name == name), key=lambda message: message.seq)
        yield from _out_of_order(run_id, own, snapshot)


def _out_of_order(run_id: str, messages: list[Message], snapshot: Snapshot) -> Iterator[str]:
    """Messages of one name: each received by a step that has it, the earlier before the later, unread ones last."""
    orders = []
    for earlier, later in pairwise(messages):
        if earlier.taken_by is None and later.taken_by is not None:
            yield f"{run_id}: message {later.id!r} was received before {earlier.id!r}"
    for message in messages:
        if message.taken_by is None:
            continue
        steps = snapshot.attempts.get((run_id, message.taken_by), [])
        if [(step.status, step.output) for step in steps] != [(StepStatus.COMPLETED, message.payload)]:
            yield f"{run_id} {message.taken_by}: took message {message.id!r}, and does not have it"
        orders += [step.order or 0 for step in steps]
    if orders != sorted(orders):
        yield f"{run_id}: messages were received in another order than they came"


def _out_of_nothing(snapshot: Snapshot) -> Iterator[str]:
    """Steps that received an event nobody sent."""
    taken = {(message.run_id, message.taken_by) for message in snapshot.messages if message.kind is MessageKind.EVENT}
    for step in snapshot.steps:
        is_received = step.kind is StepKind.EVENT and step.status is StepStatus.COMPLETED
        if is_received and (step.run_id, step.key) not in taken:
            yield f"{step.run_id} {step.key}: received an event that is not there"


def _of_another_mind(step: Step, snapshot: Snapshot) -> Iterator[str]:
    """What a parent believes about its child, held against the child."""
    child, parent = snapshot.runs.get(step.awaits or ""), snapshot.runs.get(step.run_id)
    if parent is None or parent.retry_of is not None:
        return  # a run that tries another again has the results of that one's children
    if child is None:
        yield f"{step.run_id} {step.key}: its child {step.awaits} does not exist"
        return
    is_open = step.status is StepStatus.WAITING and not step.is_dropped
    if is_open and step.kind is StepKind.CHILD and parent.status is RunStatus.COMPLETED:
        yield f"{step.run_id}: completed while it waits for {child.id}"
    if step.kind is StepKind.START or step.status is StepStatus.WAITING:
        return
    if not child.status.is_terminal or (child.finished_at or 0) > (step.finished_at or 0):
        yield f"{step.run_id} {step.key}: over before its child {child.id}"
    elif (child.status is RunStatus.COMPLETED) != (step.status is StepStatus.COMPLETED):
        yield f"{step.run_id} {step.key}: {step.status}, and its child {child.id} is {child.status}"
    elif step.status is StepStatus.COMPLETED and step.output != snapshot.payloads[child.id].output:
        yield f"{step.run_id} {step.key}: has another result than its child {child.id}"

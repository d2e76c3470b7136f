"""Is every command about work items and signals checked, field by field, before anything is written?"""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from windlass.api.checks import check
from windlass.errors import InvalidInput
from windlass.model import item, signal
from windlass.model.item import (
    AddTask,
    CreateItem,
    DeleteItem,
    EndTask,
    ItemId,
    ItemStatus,
    ListItems,
    TaskId,
    TaskStatus,
    TransitionItem,
)
from windlass.model.run import RunId
from windlass.model.signal import (
    Action,
    ActionKind,
    CreateSignal,
    DeclaredSignal,
    DeclareSignals,
    DeleteSignal,
    FiringStatus,
    ListFirings,
    ListSignals,
    SignalId,
    SignalStatus,
    SignalVerb,
    SteerSignal,
    Trigger,
    TriggerKind,
    UpdateSignal,
)
from windlass.model.time import HOUR, MINUTE, Duration, Instant

ITEM, TASK = ItemId("itm_" + "0" * 26), TaskId("tsk_" + "0" * 26)
SIGNAL, RUN = SignalId("sig_" + "0" * 26), RunId("run_" + "0" * 26)
HASH = bytes(16)
BIG = b"x" * (3 * 1024 * 1024 + 1)
CURSOR = f"1700000000000000:{SIGNAL}.42"

ON_ITEM = Trigger(kind=TriggerKind.ITEM, subject=ITEM, to=("blocked", "failed"))
ON_ORDERS = Trigger(kind=TriggerKind.WORKFLOW, subject="order", to=("failed",))
AT = Trigger(kind=TriggerKind.TIME, at=Instant(5))
START = Action(kind=ActionKind.START, workflow="page", queue="mail", version="2", timeout_for=MINUTE, input=b"[]")
SEND = Action(kind=ActionKind.SEND, run_id=RUN, event="woken", payload_hash=HASH)
TO_DO = Action(kind=ActionKind.TASK, title="Look at it")

CREATE_ITEM = CreateItem(namespace="shop", title="Mend it", priority=3, data=b"1", key="k", by="ann", item_id=ITEM)
MOVE = TransitionItem(namespace="shop", item_id=ITEM, to=ItemStatus.READY, expected=ItemStatus.BACKLOG, note="a\nb")
DELETE_ITEM = DeleteItem(namespace="shop", item_id=ITEM, by="ann")
ADD_TASK = AddTask(namespace="shop", item_id=ITEM, title="Call them", data=b"1", task_id=TASK)
END_TASK = EndTask(namespace="shop", task_id=TASK, status=TaskStatus.COMPLETED, note="done")
LIST_ITEMS = ListItems(namespace="shop", status=ItemStatus.DOING, before=ITEM)
CREATE = CreateSignal(namespace="shop", trigger=ON_ITEM, action=START, payload=b"1", key="k", signal_id=SIGNAL)
UPDATE = UpdateSignal(namespace="shop", signal_id=SIGNAL, to=("done",), payload=b"1", repeats=True, by="ann")
STEER = SteerSignal(namespace="shop", signal_id=SIGNAL, verb=SignalVerb.PAUSE, by="ann", note="later")
DELETE = DeleteSignal(namespace="shop", signal_id=SIGNAL)
DECLARED = DeclaredSignal(name="page_ann", trigger=ON_ORDERS, action=START, repeats=False)
DECLARE = DeclareSignals(namespace="shop", program="shop.py", signals=(DECLARED, replace(DECLARED, name="other")))
LIST = ListSignals(namespace="shop", subject_kind="run", subject=RUN, status=SignalStatus.ARMED, before=SIGNAL)
FIRINGS = ListFirings(namespace="shop", signal_id=SIGNAL, status=FiringStatus.FAILED, before=CURSOR)

GOOD: list[Any] = [
    CREATE_ITEM, MOVE, DELETE_ITEM, ADD_TASK, END_TASK, LIST_ITEMS, CREATE, UPDATE, STEER, DELETE, DECLARE, LIST,
    FIRINGS,
]  # fmt: skip
# What is an answer, a row, or part of another command.
NOT_SENT = {
    "Item", "Task", "ItemPage", "ItemView", "Trigger", "Action", "Signal", "FiringRow", "Firing", "DeclaredSignal",
    "SignalPage", "SignalView", "FiringPage", "SignalNews",
}  # fmt: skip


def test_every_command_that_may_come_is_checked() -> None:
    known = {
        name
        for module in (item, signal)
        for name, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, msgspec.Struct) and cls.__module__ == module.__name__
    }

    assert known - NOT_SENT == {type(command).__name__ for command in GOOD}


@pytest.mark.parametrize("command", GOOD, ids=lambda command: type(command).__name__)
def test_a_good_one_passes_unchanged(command: Any) -> None:
    assert check(command) is command


@pytest.mark.parametrize(
    "command",
    [
        replace(CREATE, action=Action(), payload=None),
        replace(CREATE, action=SEND),
        replace(CREATE, action=replace(SEND, payload_hash=b""), payload=None),  # the firing is sent
        replace(CREATE, action=TO_DO),
        replace(CREATE, trigger=replace(ON_ITEM, subject="*"), action=TO_DO),
        replace(CREATE, trigger=Trigger(kind=TriggerKind.PIPELINE, subject="mail", to=("attention",))),
        replace(CREATE, trigger=Trigger(kind=TriggerKind.GRAPH, subject=RUN, to=("cancelled", "failed"))),
        replace(CREATE, trigger=AT),
        replace(CREATE, trigger=Trigger(kind=TriggerKind.TIME, every=HOUR), repeats=True),
        replace(UPDATE, to=None, payload=None, repeats=None),
        replace(LIST, subject_kind=None, subject=None),
        replace(LIST, subject_kind="time", subject=None),
        replace(LIST, subject_kind="item", subject="*"),
        replace(LIST, subject_kind="item", subject=ITEM),
        replace(LIST, subject_kind="pipeline", subject="mail"),
        replace(LIST, subject_kind="workflow", subject="order"),
        replace(FIRINGS, before=None, signal_id=None),
        replace(DECLARE, signals=()),
    ],
    ids=repr,
)
def test_there_are_others_that_pass(command: Any) -> None:
    assert check(command) is command


@pytest.mark.parametrize("command", GOOD, ids=lambda command: type(command).__name__)
def test_a_namespace_that_cannot_be_is_refused(command: Any) -> None:
    for wrong in ("", " ", "a/b", "..", "x" * 201, "a\0b", "\ud800", "a\u202eb", "a\nb"):
        with pytest.raises(InvalidInput) as refused:
            check(replace(command, namespace=wrong))
        assert refused.value.path == "namespace"


@pytest.mark.parametrize(
    ("command", "changes", "path", "reason"),
    [
        (CREATE_ITEM, {"title": ""}, "title", "invalid_text"),
        (CREATE_ITEM, {"title": "  "}, "title", "invalid_text"),
        (CREATE_ITEM, {"title": "a\nb"}, "title", "invalid_text"),
        (CREATE_ITEM, {"title": "t" * 201}, "title", "invalid_text"),
        (CREATE_ITEM, {"title": "a\0"}, "title", "invalid_text"),
        (CREATE_ITEM, {"priority": -1}, "priority", "invalid_argument"),
        (CREATE_ITEM, {"priority": 1_000_001}, "priority", "invalid_argument"),
        (CREATE_ITEM, {"data": BIG}, "data", "payload_too_large"),
        (CREATE_ITEM, {"key": ""}, "key", "invalid_key"),
        (CREATE_ITEM, {"by": "b" * 256}, "by", "invalid_key"),
        (CREATE_ITEM, {"item_id": "itm_1"}, "item id", "invalid_id"),
        (CREATE_ITEM, {"item_id": RUN}, "item id", "invalid_id"),
        (MOVE, {"item_id": "x"}, "item id", "invalid_id"),
        (MOVE, {"by": ""}, "by", "invalid_key"),
        (MOVE, {"note": "n" * 2_001}, "note", "invalid_text"),
        (DELETE_ITEM, {"item_id": ""}, "item id", "invalid_id"),
        (DELETE_ITEM, {"by": "a\nb"}, "by", "invalid_key"),
        (ADD_TASK, {"item_id": TASK}, "item id", "invalid_id"),
        (ADD_TASK, {"task_id": ITEM}, "task id", "invalid_id"),
        (ADD_TASK, {"title": ""}, "title", "invalid_text"),
        (ADD_TASK, {"data": BIG}, "data", "payload_too_large"),
        (END_TASK, {"task_id": "tsk_"}, "task id", "invalid_id"),
        (END_TASK, {"status": TaskStatus.QUEUED}, "status", "invalid_status"),
        (END_TASK, {"note": "\ud800"}, "note", "invalid_text"),
        (LIST_ITEMS, {"limit": 0}, "limit", "invalid_argument"),
        (LIST_ITEMS, {"limit": 501}, "limit", "invalid_argument"),
        (LIST_ITEMS, {"before": SIGNAL}, "before", "invalid_id"),
        (CREATE, {"payload": BIG}, "payload", "payload_too_large"),
        (CREATE, {"key": " k"}, "key", "invalid_key"),
        (CREATE, {"by": ""}, "by", "invalid_key"),
        (CREATE, {"signal_id": "sig_x"}, "signal id", "invalid_id"),
        (CREATE, {"trigger": replace(ON_ITEM, subject="order")}, "subject", "invalid_id"),
        (CREATE, {"trigger": replace(ON_ITEM, to=())}, "to", "invalid_trigger"),
        (CREATE, {"trigger": replace(ON_ITEM, to=("blokced",))}, "to", "invalid_trigger"),
        (CREATE, {"trigger": replace(ON_ITEM, to=("done",) * 21)}, "number of states", "invalid_argument"),
        (CREATE, {"trigger": replace(ON_ITEM, at=Instant(5))}, "at", "invalid_trigger"),
        (CREATE, {"trigger": replace(ON_ORDERS, subject="a/b")}, "subject", "invalid_name"),
        (CREATE, {"trigger": replace(AT, at=Instant(-1))}, "at", "invalid_time"),
        (CREATE, {"trigger": replace(AT, at=Instant(10**18))}, "at", "invalid_time"),
        (CREATE, {"trigger": replace(AT, every=HOUR)}, "at", "invalid_trigger"),
        (CREATE, {"trigger": Trigger(kind=TriggerKind.TIME)}, "at", "invalid_trigger"),
        (CREATE, {"trigger": Trigger(kind=TriggerKind.TIME, every=Duration(1))}, "every", "invalid_trigger"),
        (CREATE, {"trigger": replace(AT, subject=ITEM)}, "kind", "invalid_trigger"),
        (CREATE, {"trigger": AT, "repeats": True, "action": Action()}, "repeats", "invalid_trigger"),
        (CREATE, {"trigger": ON_ORDERS, "action": TO_DO}, "task", "invalid_trigger"),
        (CREATE, {"action": replace(TO_DO, title="")}, "task", "invalid_text"),
        (CREATE, {"action": replace(START, workflow="")}, "workflow", "invalid_name"),
        (CREATE, {"action": replace(START, queue="a b")}, "queue", "invalid_name"),
        (CREATE, {"action": replace(START, version="v" * 201)}, "version", "invalid_text"),
        (CREATE, {"action": replace(START, timeout_for=0)}, "timeout", "invalid_duration"),
        (CREATE, {"action": replace(START, input=BIG)}, "input", "payload_too_large"),
        (CREATE, {"action": replace(SEND, run_id=None)}, "send.run_id", "invalid_id"),
        (CREATE, {"action": replace(SEND, event="")}, "send.event", "invalid_name"),
        (CREATE, {"action": replace(SEND, payload_hash=b"1")}, "payload_hash", "invalid_hash"),
        (CREATE, {"action": replace(SEND, payload_hash=b"")}, "payload_hash", "invalid_hash"),
        (CREATE, {"action": Action(title="t" * 10_000)}, "title", "invalid_option"),
        (CREATE, {"action": Action(input=b"[]")}, "input", "invalid_option"),
        (CREATE, {"action": replace(START, run_id=RUN)}, "run_id", "invalid_option"),
        (CREATE, {"action": replace(SEND, workflow="page")}, "workflow", "invalid_option"),
        (CREATE, {"action": replace(TO_DO, event="woken")}, "event", "invalid_option"),
        (UPDATE, {"signal_id": ITEM}, "signal id", "invalid_id"),
        (UPDATE, {"to": ("done",) * 21}, "number of states", "invalid_argument"),
        (UPDATE, {"to": ("d" * 51,)}, "to", "invalid_text"),
        (UPDATE, {"to": ("a\0",)}, "to", "invalid_text"),
        (UPDATE, {"payload": BIG}, "payload", "payload_too_large"),
        (UPDATE, {"by": "b" * 256}, "by", "invalid_key"),
        (STEER, {"signal_id": ""}, "signal id", "invalid_id"),
        (STEER, {"note": "n" * 2_001}, "note", "invalid_text"),
        (STEER, {"by": " "}, "by", "invalid_key"),
        (DELETE, {"signal_id": RUN}, "signal id", "invalid_id"),
        (DECLARE, {"program": ""}, "program", "invalid_key"),
        (DECLARE, {"signals": (DECLARED,) * 1_001}, "number of signals", "invalid_argument"),
        (DECLARE, {"signals": (DECLARED, DECLARED)}, "signal name", "invalid_trigger"),
        (DECLARE, {"signals": (replace(DECLARED, name="a/b"),)}, "signal name", "invalid_name"),
        (DECLARE, {"signals": (replace(DECLARED, trigger=replace(ON_ORDERS, to=("x",))),)}, "to", "invalid_trigger"),
        (DECLARE, {"signals": (replace(DECLARED, action=TO_DO),)}, "task", "invalid_trigger"),
        (LIST, {"limit": 0}, "limit", "invalid_argument"),
        (LIST, {"limit": 501}, "limit", "invalid_argument"),
        (LIST, {"before": ITEM}, "before", "invalid_id"),
        (LIST, {"subject_kind": None}, "subject", "invalid_filter"),
        (LIST, {"subject_kind": "graph"}, "subject_kind", "invalid_filter"),
        (LIST, {"subject_kind": "time"}, "subject", "invalid_filter"),
        (LIST, {"subject_kind": "item"}, "subject", "invalid_id"),
        (LIST, {"subject": "order"}, "subject", "invalid_id"),
        (LIST, {"subject_kind": "pipeline"}, "subject", "invalid_name"),
        (LIST, {"subject_kind": "workflow", "subject": "a/b"}, "subject", "invalid_name"),
        (FIRINGS, {"limit": 501}, "limit", "invalid_argument"),
        (FIRINGS, {"signal_id": "sig_"}, "signal id", "invalid_id"),
        (FIRINGS, {"before": SIGNAL}, "before", "invalid_cursor"),
        (FIRINGS, {"before": ""}, "before", "invalid_cursor"),
        (FIRINGS, {"before": f"-1:{SIGNAL}.1"}, "before", "invalid_cursor"),
        (FIRINGS, {"before": f"9{'9' * 18}:{SIGNAL}.1"}, "before", "invalid_cursor"),
        (FIRINGS, {"before": f"1:{SIGNAL}."}, "before", "invalid_cursor"),
        (FIRINGS, {"before": f"1:{SIGNAL}.1\n"}, "before", "invalid_cursor"),
        (FIRINGS, {"before": f"1:{SIGNAL}." + "1" * 101}, "before", "invalid_cursor"),
        (FIRINGS, {"before": f"\u0661:{SIGNAL}.1"}, "before", "invalid_cursor"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else str(value)[:30],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused_with_its_path_and_reason(
    command: Any, changes: dict[str, Any], path: str, reason: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        check(replace(command, **changes))

    assert (refused.value.path, refused.value.reason) == (path, reason)
    assert len(str(refused.value)) < 400


def test_a_refusal_of_what_is_declared_names_the_signal() -> None:
    wrong = replace(DECLARED, trigger=replace(ON_ORDERS, to=("faild",)))

    with pytest.raises(InvalidInput, match=r"Signal 'page_ann': .*Did you mean 'failed'"):
        check(replace(DECLARE, signals=(wrong,)))


def test_names_come_back_composed_and_states_sorted_each_once() -> None:
    trigger = Trigger(kind=TriggerKind.WORKFLOW, subject="cafe\u0301", to=("failed", "cancelled", "failed"))
    action = replace(START, workflow="cafe\u0301", queue="cafe\u0301")

    created = check(replace(CREATE, trigger=trigger, action=action))
    (declared,) = check(
        replace(DECLARE, signals=(DeclaredSignal(name="cafe\u0301", trigger=trigger, action=action, repeats=True),))
    ).signals
    listed = check(replace(LIST, subject_kind="workflow", subject="cafe\u0301"))

    composed = Trigger(kind=TriggerKind.WORKFLOW, subject="caf\u00e9", to=("cancelled", "failed"))
    assert created.trigger == declared.trigger == composed
    assert (created.action.workflow, created.action.queue) == ("caf\u00e9", "caf\u00e9")
    assert (declared.name, listed.subject) == ("caf\u00e9", "caf\u00e9")

"""What is said about work items and signals over gRPC: one call of each kind, about things with these ids."""

from __future__ import annotations

from typing import Any

from windlass.v1 import signal_pb2

SIGNALS = "/windlass.v1.SignalService/"
ON_ITEM, ON_WORKFLOW = "work_item.status.transition", "workflow.status.transition"


def on_item(item: str, *states: str) -> Any:
    return signal_pb2.SignalTrigger(kind=ON_ITEM, subject=item, to=states or ("blocked",))


def signal_reads(item: str, *, signal: str) -> dict[str, Any]:
    one = signal_pb2.SignalRequest(signal_id=signal)
    return {
        SIGNALS + "GetItem": signal_pb2.GetItemRequest(item_id=item),
        SIGNALS + "ListItems": signal_pb2.ListItemsRequest(),
        SIGNALS + "ReadItemLog": signal_pb2.ReadItemLogRequest(item_id=item),
        SIGNALS + "GetSignal": one,
        SIGNALS + "ListSignals": signal_pb2.ListSignalsRequest(subject_kind="item", subject=item),
        SIGNALS + "ReadSignalLog": signal_pb2.ReadSignalLogRequest(signal_id=signal),
        SIGNALS + "ListFirings": signal_pb2.ListFiringsRequest(signal_id=signal),
        SIGNALS + "ExplainSignal": one,
    }


def signal_commands(item: str, *, task: str, signal: str) -> dict[str, Any]:
    return {
        SIGNALS + "TransitionItem": signal_pb2.TransitionItemRequest(item_id=item, to=signal_pb2.ITEM_STATUS_READY),
        SIGNALS + "DeleteItem": signal_pb2.DeleteItemRequest(item_id=item),
        SIGNALS + "AddTask": signal_pb2.AddTaskRequest(item_id=item, title="Look"),
        SIGNALS + "EndTask": signal_pb2.EndTaskRequest(task_id=task, status=signal_pb2.ITEM_TASK_STATUS_COMPLETED),
        SIGNALS + "CreateSignal": signal_pb2.CreateSignalRequest(trigger=on_item(item)),
        SIGNALS + "UpdateSignal": signal_pb2.UpdateSignalRequest(signal_id=signal, to=["done"]),
        SIGNALS + "SteerSignal": signal_pb2.SteerSignalRequest(signal_id=signal, verb=signal_pb2.SIGNAL_VERB_PAUSE),
        SIGNALS + "DeleteSignal": signal_pb2.DeleteSignalRequest(signal_id=signal),
    }


def signal_creations(item: str, *, key: str) -> dict[str, Any]:
    """These need nothing that is there already."""
    declared = signal_pb2.DeclaredSignal(
        name="follow_up",
        trigger=signal_pb2.SignalTrigger(kind=ON_WORKFLOW, subject="order", to=["failed"]),
        action=signal_pb2.SignalAction(kind=signal_pb2.ACTION_KIND_START, workflow="order", queue="default"),
    )
    return {
        SIGNALS + "CreateItem": signal_pb2.CreateItemRequest(title="Mend it", key=key, item_id=item),
        SIGNALS + "DeclareSignals": signal_pb2.DeclareSignalsRequest(program="p", signals=[declared]),
    }

"""Windlass: a durable scheduler for Python. Only what is named here is public."""

from __future__ import annotations

from importlib.metadata import version as _version

from windlass.app import App
from windlass.client.calls import Call, call
from windlass.client.graphs import GraphHandle, GraphResult, JobInfo
from windlass.client.handle import Handle
from windlass.client.items import Item, ItemChange, ItemInfo, TaskInfo
from windlass.client.pipeline_infos import (
    EffectInfo,
    EventInfo,
    HandlerRunInfo,
    InputInfo,
    InputTrace,
    PipelineInfo,
    TopicInfo,
)
from windlass.client.schedules import ScheduleInfo
from windlass.client.signals import FiringInfo, Signal, SignalInfo
from windlass.client.sync import SyncGraphHandle, SyncHandle
from windlass.client.sync_signals import SyncItem, SyncSignal
from windlass.define.child import Child
from windlass.define.consumer import Consumer
from windlass.define.context import Context
from windlass.define.current import StepInfo, current_step
from windlass.define.effect import DidNotHappen, Effect, Happened, Unknown
from windlass.define.event import Event
from windlass.define.graph import Graph
from windlass.define.input import Input
from windlass.define.job_context import JobContext, Need
from windlass.define.needs import after
from windlass.define.pipeline import Pipeline
from windlass.define.pipeline_context import MutateContext, NextContext, PrepareContext, ProducerContext
from windlass.define.pipeline_values import Fixed, GiveUp, Idle, Prepared, Problem, Reserve, TopicEvent
from windlass.define.retry import Retry
from windlass.define.spawn import Spawn
from windlass.define.topic import Topic
from windlass.errors import (
    AlreadyExists,
    AmbiguousStep,
    ClaimLost,
    InvalidInput,
    NotAllowed,
    NotFound,
    Rejected,
    ReplayMismatch,
    ResultTimeout,
    RunCancelled,
    RunFailed,
    StepError,
    StepFailed,
    StoreRefused,
    Unavailable,
    UserCodeError,
    WaitTimeout,
    WindlassError,
    WrongState,
)
from windlass.model.item import ItemStatus, TaskStatus
from windlass.model.message import Decision
from windlass.model.signal import Firing, FiringStatus, SignalStatus

__version__ = _version("windlass")

__all__ = [
    "App",
    "Context",
    "Handle",
    "SyncHandle",
    "call",
    "Call",
    "ScheduleInfo",
    "Event",
    "Child",
    "Graph",
    "after",
    "JobContext",
    "Need",
    "Spawn",
    "GraphHandle",
    "SyncGraphHandle",
    "GraphResult",
    "JobInfo",
    "Pipeline",
    "Topic",
    "TopicEvent",
    "Consumer",
    "ProducerContext",
    "PrepareContext",
    "MutateContext",
    "NextContext",
    "Reserve",
    "Idle",
    "Prepared",
    "Input",
    "Effect",
    "Happened",
    "DidNotHappen",
    "Unknown",
    "Problem",
    "Fixed",
    "GiveUp",
    "PipelineInfo",
    "HandlerRunInfo",
    "TopicInfo",
    "EventInfo",
    "InputInfo",
    "InputTrace",
    "EffectInfo",
    "Firing",
    "Signal",
    "SyncSignal",
    "SignalStatus",
    "SignalInfo",
    "FiringStatus",
    "FiringInfo",
    "Item",
    "SyncItem",
    "ItemStatus",
    "ItemInfo",
    "ItemChange",
    "TaskStatus",
    "TaskInfo",
    "Decision",
    "Retry",
    "StepError",
    "current_step",
    "StepInfo",
    "WindlassError",
    "Rejected",
    "InvalidInput",
    "NotFound",
    "AlreadyExists",
    "WrongState",
    "NotAllowed",
    "AmbiguousStep",
    "ClaimLost",
    "Unavailable",
    "StoreRefused",
    "ReplayMismatch",
    "ResultTimeout",
    "WaitTimeout",
    "RunCancelled",
    "UserCodeError",
    "StepFailed",
    "RunFailed",
    "__version__",
]

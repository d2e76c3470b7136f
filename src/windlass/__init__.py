"""Windlass: a durable scheduler for Python. Only what is named here is public."""

from __future__ import annotations

from importlib.metadata import version as _version

from windlass.app import App
from windlass.client.handle import Handle
from windlass.define.context import Context
from windlass.define.current import StepInfo, current_step
from windlass.define.retry import Retry
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
    RunFailed,
    StepError,
    StepFailed,
    StoreRefused,
    Unavailable,
    UserCodeError,
    WindlassError,
    WrongState,
)

__version__ = _version("windlass")

__all__ = [
    "App",
    "Context",
    "Handle",
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
    "UserCodeError",
    "StepFailed",
    "RunFailed",
    "__version__",
]

"""Errors on the wire: one table from our codes to gRPC's, and the same class again on the other side."""

from __future__ import annotations

import logging
from typing import Any

import grpc

from windlass import errors
from windlass.api.log_rate import OneLineASecond
from windlass.api.statuses import HIDDEN, INTERNAL
from windlass.errors import InvalidInput, NotAllowed, Unavailable, WindlassError
from windlass.v1.model_pb2 import ErrorDetail

LOGGER = logging.getLogger("windlass.server.grpc")
LOGGER.addFilter(OneLineASecond(worst=logging.WARNING))  # anybody can cause these while the store does not answer
TRAILER = "windlass-error-bin"
TOO_LARGE = "too_large"  # the reason of a refusal: a request that no server takes
Code = grpc.StatusCode

# What each class is on the wire, and which of its attributes go along under the same name.
TABLE: dict[type[WindlassError], tuple[grpc.StatusCode, tuple[str, ...]]] = {
    errors.InvalidInput: (Code.INVALID_ARGUMENT, ("reason", "path")),
    errors.NotFound: (Code.NOT_FOUND, ("kind", "name", "close")),
    errors.AlreadyExists: (Code.ALREADY_EXISTS, ("reason", "owner")),
    errors.WrongState: (Code.FAILED_PRECONDITION, ("kind", "name", "state", "wanted")),
    errors.NotAllowed: (Code.FAILED_PRECONDITION, ()),
    errors.CursorExpired: (Code.OUT_OF_RANGE, ()),
    errors.AmbiguousStep: (Code.INVALID_ARGUMENT, ("name",)),
    errors.ClaimLost: (Code.FAILED_PRECONDITION, ("name",)),
    errors.NotAuthenticated: (Code.UNAUTHENTICATED, ()),
    errors.Forbidden: (Code.PERMISSION_DENIED, ()),
    errors.Busy: (Code.RESOURCE_EXHAUSTED, ()),
    errors.Unavailable: (Code.UNAVAILABLE, ()),
    errors.ReplayMismatch: (Code.FAILED_PRECONDITION, ("name", "state", "wanted")),
    errors.ResultTimeout: (Code.DEADLINE_EXCEEDED, ("name", "state")),
    errors.StoreRefused: (Code.UNAVAILABLE, ()),
}
# Where an attribute has another name here than in a message.
_NAMES: dict[type[WindlassError], dict[str, str]] = {
    errors.WrongState: {"name": "id"},
    errors.AmbiguousStep: {"name": "step"},
    errors.ClaimLost: {"name": "run_id"},
    errors.ReplayMismatch: {"name": "step", "state": "recorded", "wanted": "found"},
    errors.ResultTimeout: {"name": "run_id", "state": "status"},
}
LEAVING = "This server is stopping. Ask another one."
_CLASSES = {cls.code: cls for cls in TABLE}


def to_detail(error: Exception, *, request_id: str = "") -> ErrorDetail:
    """What of an error may leave the server: nothing that is not ours, and nothing about the database itself."""
    cls = next((cls for cls in TABLE if type(error) is cls), None)
    if cls is None:
        return ErrorDetail(code=INTERNAL, message=HIDDEN[INTERNAL], request_id=request_id)
    text = str(error)
    if cls.code in HIDDEN and text != LEAVING:
        LOGGER.warning("Request %s cannot be answered: %s", request_id, text)
        text = HIDDEN[cls.code]
    detail = ErrorDetail(code=cls.code, message=text, request_id=request_id)
    for name in TABLE[cls][1]:
        value = getattr(error, _NAMES.get(cls, {}).get(name, name))
        if name == "close":
            detail.close.extend(value)
        else:
            setattr(detail, name, value)
    return detail


def status_of(detail: ErrorDetail) -> grpc.StatusCode:
    cls = _CLASSES.get(detail.code)
    return Code.INTERNAL if cls is None else TABLE[cls][0]


def from_detail(detail: ErrorDetail) -> WindlassError:
    """The same class with the same text. One that is not known here is still one of ours."""
    cls = _CLASSES.get(detail.code)
    if cls is None:
        return Unavailable(_with_request(detail))
    error = cls.__new__(cls)
    Exception.__init__(error, detail.message)
    for name in TABLE[cls][1]:
        value: Any = tuple(detail.close) if name == "close" else getattr(detail, name)
        setattr(error, _NAMES.get(cls, {}).get(name, name), value)
    if isinstance(error, errors.ClaimLost):
        error.token = None
    return error


def _with_request(detail: ErrorDetail) -> str:
    return f"{detail.message} ({detail.request_id})" if detail.request_id else detail.message


def from_rpc_error(error: grpc.aio.AioRpcError) -> WindlassError:
    """What a call that failed means to whoever asked."""
    trailer: Any = error.trailing_metadata() or ()
    for key, value in trailer:
        if key == TRAILER and isinstance(value, bytes):
            return from_detail(ErrorDetail.FromString(value))
    return _of_transport(error.code(), " ".join(str(error.details() or "").split()))


def _of_transport(code: grpc.StatusCode, text: str) -> WindlassError:
    """Said by the machinery on the way, not by our server."""
    if code is Code.RESOURCE_EXHAUSTED and "larger than max" in text:
        return InvalidInput("The request is larger than a server takes (4 MiB).", reason=TOO_LARGE, path="request")
    if code is Code.UNIMPLEMENTED:
        return NotAllowed("The server does not know this call: it is another version of Windlass, or something else.")
    if code is Code.UNAUTHENTICATED:
        return errors.NotAuthenticated(text or "The server wants a token: set WINDLASS_TOKEN.")
    if code is Code.INVALID_ARGUMENT:
        return InvalidInput(text or "The server could not read the request.", path="request")
    return Unavailable(
        f"The server does not answer ({code.name.lower()}: {text or 'no reason given'}). "
        "See that it runs, that the URL names its gRPC port, and where it uses TLS that tls_ca is its authority."
    )

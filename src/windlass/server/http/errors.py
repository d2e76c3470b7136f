"""What a caller is told when something is refused: one shape for everything, and nothing about the inside.

No stack, no SQL, no path of a file and no version; the log has more under the request's id.
"""

from __future__ import annotations

import logging

import msgspec

from windlass.api.log_rate import OneLineASecond
from windlass.api.statuses import HIDDEN, HTTP_STATUS, INTERNAL, PASSING, http_status, path_of, reason_of
from windlass.errors import WindlassError
from windlass.server.http.told import ErrorAnswer, ErrorDetail

log = logging.getLogger("windlass.server.http")
log.addFilter(OneLineASecond(worst=logging.WARNING))  # anybody can cause these while the store does not answer

LONGEST_MESSAGE = 2_000


class Refused(Exception):
    """A request that HTTP itself does not allow, whatever it asks for."""

    def __init__(self, status: int, code: str, message: str, *, path: str = "", allow: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.path, self.allow = status, code, message, path, allow


def not_found() -> Refused:
    return Refused(404, "not_found", "There is nothing under this path.")


def detail_of(error: Exception, *, request_id: str) -> ErrorDetail:
    """What may be told about an error. What nobody foresaw, and what names the database, goes to the log only."""
    if isinstance(error, Refused):
        return ErrorDetail(
            code=error.code, reason=error.code, message=error.message, path=error.path, request_id=request_id
        )
    code = error.code if isinstance(error, WindlassError) and error.code in HTTP_STATUS else INTERNAL
    if code == INTERNAL or not isinstance(error, WindlassError):
        log.error("Request %s failed", request_id, exc_info=error)
        code = INTERNAL
    elif code in HIDDEN:
        log.warning("Request %s cannot be answered: %s", request_id, error)
    text = HIDDEN.get(code, str(error))[:LONGEST_MESSAGE]
    reason = reason_of(error) if isinstance(error, WindlassError) and code != INTERNAL else code
    path = path_of(error) if isinstance(error, WindlassError) else ""
    return ErrorDetail(code=code, reason=reason, message=clean(text), path=clean(path), request_id=request_id)


def status_of(error: Exception) -> int:
    if isinstance(error, Refused):
        return error.status
    return http_status(error) if isinstance(error, WindlassError) else HTTP_STATUS[INTERNAL]


def headers_of(error: Exception) -> list[tuple[bytes, bytes]]:
    """What the status asks for: who may come in, which methods there are, when to come back."""
    if isinstance(error, Refused):
        allow = [(b"allow", error.allow.encode())] if error.allow else []
        return [*allow, (b"connection", b"close")]  # what is left of it is not waited for, and not taken for the next
    status, code = status_of(error), getattr(error, "code", "")
    if status == 401:
        return [(b"www-authenticate", b'Bearer realm="windlass"')]
    return [(b"retry-after", b"1")] if code in PASSING else []


def body_of(error: Exception, *, request_id: str) -> bytes:
    return msgspec.json.encode(ErrorAnswer(error=detail_of(error, request_id=request_id)))


def clean(text: str) -> str:
    """Text as it may stand in JSON and in a log: whatever is not valid is escaped."""
    return text.encode(errors="backslashreplace").decode()

"""Which status an error has on the wire: one table for every door, by the stable code of its class."""

from __future__ import annotations

from windlass.errors import WindlassError

INTERNAL = "internal"  # what nobody foresaw: logged with the request's id, and told to nobody

HTTP_STATUS: dict[str, int] = {
    "rejected": 400,
    "invalid_input": 400,
    "not_found": 404,
    "already_exists": 409,
    "wrong_state": 409,
    "not_allowed": 409,
    "cursor_expired": 410,
    "ambiguous_step": 400,
    "claim_lost": 409,
    "not_authenticated": 401,
    "forbidden": 403,
    "busy": 429,
    "unavailable": 503,
    "store_refused": 503,
    "replay_mismatch": 409,
    "result_timeout": 504,
    "wait_timeout": 504,
    "run_cancelled": 409,
    "user_code": 409,
    "step_failed": 409,
    "run_failed": 409,
    "windlass": 500,
    INTERNAL: 500,
}

PASSING = frozenset({"busy", "unavailable"})  # the same call may be made again later


# What must not leave the server: these may name its database, or how it is reached.
HIDDEN = {
    "unavailable": "The server cannot answer now, and whether this was done is not known. Ask again later.",
    "store_refused": "The database of the server cannot be used; its log says why.",
    INTERNAL: "The server failed; its log has more under this request id.",
}


def http_status(error: WindlassError) -> int:
    """An error of a class that is new and not in the table is nobody's fault but ours."""
    return HTTP_STATUS.get(error.code, HTTP_STATUS[INTERNAL])


def reason_of(error: WindlassError) -> str:
    """The finer stable code, where a class has several."""
    return str(getattr(error, "reason", "") or error.code)


def path_of(error: WindlassError) -> str:
    """Which value was refused, or nothing."""
    return str(getattr(error, "path", "") or "")

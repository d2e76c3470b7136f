"""Every error Windlass raises, and what to do about each.

WindlassError                 code: stable text, crosses the wire
├── Rejected                  the request is wrong as it stands; do not retry
│   ├── InvalidInput          a value was refused; `path` says which one
│   ├── NotFound              no such run, workflow, …
│   ├── AlreadyExists         the name or the key is taken
│   ├── WrongState            it exists, but its state does not accept this
│   ├── NotAllowed            not here, not now, not from this caller
│   ├── CursorExpired         what follows this cursor is gone; begin anew
│   └── AmbiguousStep         a step needs an explicit key
├── ClaimLost                 someone else owns this work now; drop it
├── NotAuthenticated          the server does not know who asks
├── Forbidden                 the server knows who asks, and the key does not allow it
├── Busy                      too many at once, or too often; retry later
├── Unavailable               the store cannot answer; retry with back-off
├── StoreRefused              this database cannot be used as it stands
├── ReplayMismatch            code no longer matches recorded history
├── ResultTimeout             result(timeout=…) gave up; the run goes on
├── WaitTimeout               receive(timeout=…) gave up, and no default was given
├── RunCancelled              the run was cancelled
└── UserCodeError             carried failure of user code
    ├── StepFailed            a step failed for good
    └── RunFailed             the run itself failed
StepError(Exception)          raised by user code to say how a step failed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

SCHEMA_BEHIND = "schema_behind"  # the database is of an older Windlass, and who only reads does not migrate it
FILE_GONE = "file_gone"  # the file was removed or replaced while it was open


class WindlassError(Exception):
    """Base of everything Windlass raises on purpose. `code` is stable and crosses the wire."""

    code: ClassVar[str] = "windlass"


class Rejected(WindlassError):
    """The request is wrong as it stands; sending it again will not help."""

    code = "rejected"


class InvalidInput(Rejected):
    """A value was refused before anything was written. `reason` is its stable code, `path` names the value."""

    code = "invalid_input"

    def __init__(self, message: str, *, reason: str = "invalid_input", path: str = "") -> None:
        super().__init__(message)
        self.reason, self.path = reason, path


class NotFound(Rejected):
    """No such thing in this namespace. `close` holds names that look alike."""

    code = "not_found"

    def __init__(self, kind: str, name: str, *, close: Sequence[str] = (), hint: str = "") -> None:
        text = f"{kind} {name!r} does not exist."
        if close:
            text += " Did you mean " + " or ".join(repr(item) for item in close) + "?"
        if hint:
            text += f" {hint}"
        super().__init__(text)
        self.kind, self.name, self.close = kind, name, tuple(close)


class AlreadyExists(Rejected):
    """The name or start key belongs to something else; `owner` says to what."""

    code = "already_exists"

    def __init__(self, message: str, *, reason: str = "already_exists", owner: str = "") -> None:
        super().__init__(message)
        self.reason, self.owner = reason, owner


class WrongState(Rejected):
    """The thing exists, but its state does not accept this operation."""

    code = "wrong_state"

    def __init__(self, kind: str, id: str, state: str, *, wanted: str, hint: str = "") -> None:
        text = f"{kind} {id} is {state}; {wanted} was expected."
        super().__init__(f"{text} {hint}" if hint else text)
        self.kind, self.id, self.state, self.wanted = kind, id, state, wanted


class NotAllowed(Rejected):
    """This call is not possible here: a closed app, a context whose run has parked, a loop that already runs."""

    code = "not_allowed"


class CursorExpired(Rejected):
    """What follows this cursor of the log is gone. Read what there is now, and follow from there."""

    code = "cursor_expired"


class AmbiguousStep(Rejected):
    """Two concurrent branches call one step name, so the order of the calls is not repeatable. Give each a `key=`."""

    code = "ambiguous_step"

    def __init__(self, step: str, *, verb: str = "step") -> None:
        what = "Step" if verb == "step" else "Workflow"
        super().__init__(
            f"{what} {step!r} is called from two concurrent branches, so its order is not repeatable. "
            f"Give each a key: ctx.{verb}({step}, x, key=x.id)."
        )
        self.step = step


class ClaimLost(WindlassError):
    """Someone else owns this work now. Drop it, write nothing, do not retry with the same token."""

    code = "claim_lost"

    def __init__(self, run_id: str, *, token: int | None = None) -> None:
        super().__init__(f"The claim on {run_id} is lost: another worker owns it, or it is over.")
        self.run_id, self.token = run_id, token


class NotAuthenticated(WindlassError):
    """The server does not know who asks: the token is missing, wrong, expired or revoked. Set WINDLASS_TOKEN."""

    code = "not_authenticated"


class Forbidden(WindlassError):
    """The server knows who asks, and the key does not allow it: another role or another namespace is needed."""

    code = "forbidden"


class Busy(WindlassError):
    """Too much at once, or too often. Nothing was done; try again later."""

    code = "busy"


class Unavailable(WindlassError):
    """The store or server cannot answer now; the outcome of the call is unknown. Retry with back-off."""

    code = "unavailable"


class StoreRefused(WindlassError):
    """This database cannot be used as it stands: not ours, corrupt, newer, read-only, unreachable. It is unchanged.

    `reason` names the two cases that a program may treat in its own way: SCHEMA_BEHIND and FILE_GONE.
    """

    code = "store_refused"
    reason = "store_refused"

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        if reason is not None:  # it does not cross the wire
            self.reason = reason


class ReplayMismatch(WindlassError):
    """The code no longer matches what the run has recorded. The run is paused until a person decides."""

    code = "replay_mismatch"

    def __init__(self, message: str, *, step: str = "", recorded: str = "", found: str = "") -> None:
        super().__init__(message)
        self.step, self.recorded, self.found = step, recorded, found


class ResultTimeout(WindlassError, TimeoutError):
    """`result(timeout=…)` gave up waiting. The run itself goes on."""

    code = "result_timeout"

    def __init__(self, run_id: str, status: str) -> None:
        super().__init__(f"Run {run_id} is still {status}; it goes on. Call result() again to wait for it.")
        self.run_id, self.status = run_id, status


class WaitTimeout(WindlassError, TimeoutError):
    """`ctx.receive(timeout=…)` waited in vain and was given no default. The same at every replay."""

    code = "wait_timeout"

    def __init__(self, event: str) -> None:
        super().__init__(f"Event {event!r} did not come in time.")
        self.event = event


class RunCancelled(WindlassError):
    """The run was cancelled: what `result()` raises, and what a parent gets that waits for it."""

    code = "run_cancelled"

    def __init__(self, run_id: str, message: str = "") -> None:
        super().__init__(message or f"Run {run_id} was cancelled.")
        self.run_id = run_id


class UserCodeError(WindlassError):
    """A failure of user code, carried as data: its type, message, data and traceback text."""

    code = "user_code"

    def __init__(
        self,
        type: str,
        message: str,
        *,
        data: Any = None,
        traceback: str = "",
        kind: str = "logic",
        subject: str = "",
        step: str = "",
        reason: str | None = None,
    ) -> None:
        super().__init__(self._sentence(type, message, subject))
        self.type, self.message, self.data = type, message, data
        self.traceback, self.kind, self.subject, self.step = traceback, kind, subject, step
        self.reason = reason  # of a time-out or a crash loop: worker_lost, claim_ran_out or too_long

    @staticmethod
    def _sentence(type: str, message: str, subject: str) -> str:
        failed = f"{type}: {message}" if message else type
        return f"{subject} failed: {failed}" if subject else failed


class StepFailed(UserCodeError):
    """A step failed for good: its retries are used up, or its failure is of a kind that is never retried."""

    code = "step_failed"


class RunFailed(UserCodeError):
    """The run ended as failed. `kind` is one of the closed list of failure kinds."""

    code = "run_failed"


class StepError(Exception):
    """Raise it in a step to say how it failed: `kind` decides whether it is retried, `retry_after` when.

    An effect that knows whether anything happened says so with `did_not_happen`; without it that follows from the
    kind: logic, permission and auth mean that nothing did, and all the others leave it open.
    """

    def __init__(
        self,
        message: str = "",
        *,
        kind: str = "transient",
        retry_after: Any = None,
        data: Any = None,
        did_not_happen: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.retry_after, self.data, self.did_not_happen = kind, retry_after, data, did_not_happen

"""What is sent to a run: an event, or a decision about an approval."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from windlass.model.time import Instant

DecisionOutcome = Literal["approved", "rejected", "expired"]


class MessageKind(StrEnum):
    EVENT = "event"  # its name is the event's
    APPROVAL = "approval"  # its name is the key of the step that waits


class Message(Struct, frozen=True, kw_only=True):
    """A row of `inbox`."""

    namespace: str
    run_id: str
    seq: int  # in the order in which they were accepted
    kind: MessageKind
    name: str
    id: str  # a repeated send is recognised by it
    payload: bytes
    payload_hash: bytes
    sent_at: Instant
    taken_by: str | None = None  # the key of the step that received it


class Decision(Struct, frozen=True, kw_only=True):
    """What became of an approval: `if (await ctx.approval("Ship it?")).outcome == "approved": …`."""

    outcome: DecisionOutcome
    by: str | None = None
    note: str | None = None
    at: datetime
    """When it was decided, or expired, in UTC."""

    @property
    def is_approved(self) -> bool:
        return self.outcome == "approved"

"""How much an attempt may reserve and prepare, whichever way it is told."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.errors import InvalidInput
from windlass.model.pipeline import EventRow
from windlass.model.pipeline_work import ReserveEvents
from windlass.rules.limits import MAX_TITLE, check_note, check_payload

MOST_RESERVED = 1_000  # events, by one attempt
# Of these and what was prepared: whoever goes on after a crash is given all of it, and what an effect returned, in one
# answer of a server.
MOST_BYTES = 8 * 1024 * 1024
BYTES_OF_CAUSE = 100  # about


def check_reservation(command: ReserveEvents) -> None:
    """Raises InvalidInput for what would not be taken through every door."""
    if len(command.reserved) > MOST_RESERVED:
        text = f"An attempt reserves at most {MOST_RESERVED:,} events; these are {len(command.reserved):,}."
        raise InvalidInput(text, reason="too_many", path="reserved")
    check_payload(command.data, what="data")
    check_note(command.title, what="title", longest=MAX_TITLE)
    check_note(command.warning, what="warning")
    if command.wake_at is not None and command.wake_in is not None:
        text = "Invalid wake_at: a wake is a time or a duration, not both."
        raise InvalidInput(text, reason="invalid_option", path="wake_at")


def check_weight(events: Iterable[EventRow], data: bytes | None) -> None:
    """Raises InvalidInput for what one worker could take, and none could be given again."""
    given = list(events)
    weight = sum(map(weight_of, given)) + len(data or b"")
    if weight > MOST_BYTES:
        text = (
            f"An attempt reserves at most {MOST_BYTES:,} bytes; {len(given):,} events and the data have {weight:,}. "
            "Reserve fewer events at a time."
        )
        raise InvalidInput(text, reason="too_large", path="reserved")


def weight_of(event: EventRow) -> int:
    return len(event.payload) + BYTES_OF_CAUSE * len(event.causes)

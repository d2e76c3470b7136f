"""By what id something outside is known, and what became of it.

The same source, type and id there give the same one, in every process.
"""

from __future__ import annotations

from hashlib import blake2b

from msgspec import msgpack

from windlass.model.pipeline import Input, InputId, InputRow, InputStatus, NewInput
from windlass.model.time import DAY, Duration, Instant
from windlass.rules.limits import MAX_TITLE, check_key, check_name, check_note
from windlass.runtime import ALPHABET

STALE_AFTER = Duration(7 * DAY)  # an input that is pending for longer needs somebody to look
CHARACTERS = 26  # of 5 bits each: 128 bits fit


def input_id(source: str, type: str, external_id: str) -> InputId:
    """Raises InvalidInput for a source or type that is no name, and an id that is no text of 1 to 255 characters."""
    known_by = (
        check_name(source, what="source"),
        check_name(type, what="type"),
        check_key(external_id, what="id of the input"),
    )
    # Encoded, not joined: "a", "bc" and "ab", "c" are two things.
    number = int.from_bytes(blake2b(msgpack.encode(known_by), digest_size=16).digest(), "big")
    digits = [ALPHABET[(number >> 5 * place) & 31] for place in reversed(range(CHARACTERS))]
    return InputId("inp_" + "".join(digits))


def new_input(source: str, type: str, external_id: str, *, title: str = "") -> NewInput:
    """What is asked of the engine. Raises InvalidInput."""
    return NewInput(
        id=input_id(source, type, external_id),
        source=check_name(source, what="source"),
        type=check_name(type, what="type"),
        external_id=external_id,
        title=check_note(title, what="title", longest=MAX_TITLE) or "",
    )


def judged(row: InputRow, *, now: Instant) -> Input:
    """What became of it so far: done once it has caused events, and all of them are over."""
    status = InputStatus.DONE if row.events and not row.pending else InputStatus.PENDING
    if row.skipped_at is not None:
        status = InputStatus.SKIPPED
    return Input(
        namespace=row.namespace,
        pipeline=row.pipeline,
        id=row.id,
        source=row.source,
        type=row.type,
        external_id=row.external_id,
        title=row.title,
        status=status,
        pending=row.pending,
        events=row.events,
        created_at=row.created_at,
        skipped_by=row.skipped_by,
        is_stale=status is InputStatus.PENDING and now - row.created_at > STALE_AFTER,
    )

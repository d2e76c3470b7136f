"""How a firing is handed to the run that it starts, or sends to: what the engine writes, and how a worker reads it.

The engine knows no codec of users, so it writes plain JSON: {"$tuple":[{"firing_id":…,"payload":…}]} as the arguments
of a run, and the object alone as an event. It is read without the hook of a codec, except for its payload, which a
program has written: as it is where that is JSON, and as {"$bytes":…} where it is not, because it is sealed.
"""

from __future__ import annotations

import binascii
from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any

import msgspec

from windlass.codec import Codec
from windlass.errors import InvalidInput
from windlass.model.duration import from_instant
from windlass.model.signal import Firing, FiringRow

FIRING_PAYLOAD = b'{"firing_id":'
FIRING_INPUT = b'{"$tuple":[' + FIRING_PAYLOAD
NO_ARGUMENTS = b'{"$tuple":[]}'  # of a run that takes no firing: the same whoever seals, so that a repeat is one
NOTHING = b"null"

_BEGIN, _END = b'{"$tuple":[', b"]}"
_PLAIN = Codec()


class _Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Firing, with its payload as it stands."""

    firing_id: str
    signal_id: str
    subject_kind: str
    subject_id: str
    from_status: str | None
    to_status: str
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    payload: msgspec.Raw


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Written).decode
_raw = msgspec.json.Decoder(msgspec.Raw).decode


def firing_input(firing: FiringRow, payload: bytes | None) -> bytes:
    """The arguments of the run that a firing starts, with the payload of its signal."""
    return _BEGIN + _encode(_written(firing, payload)) + _END


def firing_payload(firing: FiringRow) -> tuple[bytes, bytes]:
    """What is sent to a run by a signal without a payload, and its hash, as `Codec.encode_hashed` gives them."""
    return _PLAIN.encode_hashed(msgspec.json.decode(_encode(_written(firing, None))))


def payload_hash(payload: bytes) -> bytes:
    """Of a payload whose program did not say: as its codec does, where it is plain."""
    try:
        return _PLAIN.hash_of(_PLAIN.decode(payload))
    except InvalidInput:
        return blake2b(payload, digest_size=16).digest()


def read_firing_input(data: bytes, codec: Codec) -> Firing | None:
    """The only argument of a run that a signal has started; None: something else started it.

    Raises InvalidInput if its payload cannot be opened.
    """
    if not (data.startswith(FIRING_INPUT) and data.endswith(_END)):
        return None
    return read_firing_payload(data[len(_BEGIN) : -len(_END)], codec)


def read_firing_payload(data: bytes, codec: Codec) -> Firing | None:
    """What a signal has sent to a run; None: somebody else sent it. Raises InvalidInput."""
    if not data.startswith(FIRING_PAYLOAD):
        return None
    try:
        written = _decode(data)
    except msgspec.DecodeError:
        return None
    return Firing(
        id=written.firing_id,
        signal_id=written.signal_id,
        subject_kind=written.subject_kind,
        subject_id=written.subject_id,
        from_status=written.from_status,
        to_status=written.to_status,
        at=written.at,
        payload=_opened(bytes(written.payload), codec),
    )


def _written(firing: FiringRow, payload: bytes | None) -> _Written:
    return _Written(
        firing_id=firing.id,
        signal_id=firing.signal_id,
        subject_kind=firing.subject_kind,
        subject_id=firing.subject_id,
        from_status=firing.from_status,
        to_status=firing.to_status,
        at=from_instant(firing.happened_at),
        payload=msgspec.Raw(_as_json(payload)),
    )


def _as_json(payload: bytes | None) -> bytes:
    if payload is None:
        return NOTHING
    try:
        # Whole, without spaces around it, and text: only then it comes out as it was put in.
        if bytes(_raw(payload)) == payload and payload.decode():
            return payload
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    return _encode({"$bytes": binascii.b2a_base64(payload, newline=False).decode()})


def _opened(written: bytes, codec: Codec) -> Any:
    if written == NOTHING:
        return None
    if not codec.is_sealing:
        return codec.decode(written)
    try:
        inner = _PLAIN.decode(written)
    except InvalidInput:  # sealed as some JSON of its own
        inner = None
    return codec.decode(inner if type(inner) is bytes else written)

"""How a topic travels between processes: as text, with its sender, who need not hear it again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from windlass.notify.local import EVERYTHING, Topic
from windlass.runtime import Ids

_decode = msgspec.json.Decoder(tuple[str, ...]).decode


class Channel(Protocol):
    """Something that carries short texts to every process. It says "*" when it may have lost some."""

    def open(self, on_topic: Callable[[str], None], /) -> Awaitable[None]: ...

    def send(self, topic: str, /) -> None: ...

    def close(self) -> Awaitable[None]: ...


class Broadcast:
    def __init__(self, channel: Channel, ids: Ids) -> None:
        self._channel = channel
        self._sender = ids.worker()
        self._hear: Callable[[Topic], None] = lambda topic: None

    async def open(self, hear: Callable[[Topic], None]) -> None:
        self._hear = hear
        await self._channel.open(self._received)

    def send(self, topic: Topic) -> None:
        self._channel.send(msgspec.json.encode((self._sender, *topic)).decode())

    def waiting(self, *, anyone: bool) -> None:
        return None  # it listens all the time

    async def close(self) -> None:
        await self._channel.close()

    def _received(self, text: str) -> None:
        if text == "*":
            self._hear(EVERYTHING)
            return
        try:
            sender, *topic = _decode(text)
        except (msgspec.DecodeError, ValueError):
            return  # not ours: the channel is open to everyone who may connect
        if sender != self._sender:
            self._hear(tuple(topic))

"""The client's side of the wire: a connection to whichever server answers, and calls that are asked again.

A call whose answer was lost is asked again, of the next server if there are several; where a message has `is_again`, it
says so. Nothing is asked again that could have two effects.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import grpc
from google.protobuf.message_factory import GetMessageClass

from windlass.api.grpc.errors import from_rpc_error
from windlass.api.grpc.table import LARGEST_ANSWER, SERVICES, to_bytes
from windlass.errors import NotAuthenticated, Unavailable
from windlass.model.time import MILLISECOND, SECOND, Duration
from windlass.runtime import Clock

LOGGER = logging.getLogger("windlass.client")

CALL_FOR = Duration(15 * SECOND)  # until an ordinary call counts as lost
PATIENCE_FOR = Duration(10 * SECOND)  # beyond what a long call waits by itself
NO_WAIT = Duration(0)
TRIES = 12
GIVE_UP_AFTER = Duration(15 * SECOND)
TOLD_AFTER = 3
FIRST_PAUSE, LONGEST_PAUSE = 50 * MILLISECOND, 2 * SECOND

WANTED = "The server wants a token, and none is set: set WINDLASS_TOKEN, or token in windlass.toml."

Ask = Callable[[bool], Any]  # makes the message, told whether the call was made before


class Target(NamedTuple):
    """One server, as gRPC names it."""

    address: str
    credentials: grpc.ChannelCredentials | None  # none: this machine, in plain text


class Channel:
    """Connections to servers that stand side by side. One is used until it does not answer; then the next."""

    def __init__(self, targets: Sequence[Target], *, token: str | None, clock: Clock) -> None:
        self._targets, self._clock = list(targets), clock
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._channels: dict[int, grpc.aio.Channel] = {}
        self._calls: dict[tuple[int, str, str], Any] = {}
        self._current = 0

    async def ask(self, service: str, method: str, message: Ask, *, wait_for: Duration = NO_WAIT) -> Any:
        """The answer; asked again with growing pauses while there is none. Raises what the server raised."""
        pause: int = FIRST_PAUSE
        deadline = self._clock.monotonic() + GIVE_UP_AFTER + wait_for  # what it waits by itself is no failure
        for tried in range(1, TRIES + 1):
            try:
                return await self._once(service, method, message(tried > 1), wait_for)
            except Unavailable as error:
                has_asked_all = tried >= len(self._targets)  # one that hangs may have taken all the time there is
                if tried == TRIES or (has_asked_all and self._clock.monotonic() >= deadline):
                    raise
                if tried == TOLD_AFTER:
                    LOGGER.warning("Asking again: %s", error)
            await self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        raise AssertionError  # the last try answers or raises

    async def close(self) -> None:
        channels, self._channels = self._channels, {}
        await asyncio.gather(*(channel.close(None) for channel in channels.values()))

    async def _once(self, service: str, method: str, message: Any, wait_for: Duration) -> Any:
        used = self._current
        call = self._call(used, service, method)
        seconds = (CALL_FOR if not wait_for else wait_for + PATIENCE_FOR) / SECOND
        try:
            # Made in an empty context: gRPC begins a task for it, and that is no branch of the run that may be asking.
            return await contextvars.Context().run(call, message, timeout=seconds, metadata=self._metadata)
        except grpc.aio.AioRpcError as failed:
            error = from_rpc_error(failed)
            if isinstance(error, NotAuthenticated) and not self._metadata:
                error = NotAuthenticated(WANTED)
            if isinstance(error, Unavailable) and used == self._current:
                self._current = (used + 1) % len(self._targets)
            raise error from None

    def _call(self, number: int, service: str, method: str) -> Any:
        found = self._calls.get((number, service, method))
        if found is None:
            descriptor = SERVICES[service].methods_by_name[method]
            found = self._calls[number, service, method] = self._channel(number).unary_unary(
                f"/windlass.v1.{service}/{method}",
                request_serializer=to_bytes,
                response_deserializer=GetMessageClass(descriptor.output_type).FromString,
            )
        return found

    def _channel(self, number: int) -> grpc.aio.Channel:
        channel = self._channels.get(number)
        if channel is None:
            target = self._targets[number]
            if target.credentials is None:
                channel = grpc.aio.insecure_channel(target.address, options=_OPTIONS)
            else:
                channel = grpc.aio.secure_channel(target.address, target.credentials, options=_OPTIONS)
            self._channels[number] = channel
        return channel


_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", LARGEST_ANSWER),
    ("grpc.max_send_message_length", LARGEST_ANSWER),  # the server says what it takes
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5_000),  # for one attempt; after a refusal the next comes soon
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.keepalive_time_ms", 20_000),  # a server that is gone without a word is noticed
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_retries", 0),  # asked again here, where it is known what may be
    ("grpc.use_local_subchannel_pool", 1),  # another App is another connection
]

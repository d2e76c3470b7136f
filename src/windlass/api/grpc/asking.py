"""One call as the doors see it: a struct goes out, a struct comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.grpc.channel import NO_WAIT, Channel
from windlass.api.grpc.mirror import Mirror, mirror
from windlass.api.grpc.table import SERVICES
from windlass.errors import NotFound, WindlassError
from windlass.model.time import Duration


class Asker:
    """Calls of one service."""

    def __init__(self, channel: Channel, service: str) -> None:
        self.channel, self._service = channel, service
        self._methods = SERVICES[service].methods_by_name

    async def ask(
        self,
        method: str,
        command: Struct,
        answer: type[Any],
        *,
        wait_for: Duration = NO_WAIT,
        again: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Where the command can say that it is asked again, it does so.

        `again` makes the answer to a call that was asked before what the first one would have been: what it found done
        was done by that call, as far as anyone can tell.
        """
        descriptor = self._methods[method]
        request = mirror(type(command), descriptor.input_type)
        was_asked = False

        def asked(is_again: bool) -> None:
            nonlocal was_asked
            was_asked = is_again

        found = await self.send(method, request, command, wait_for=wait_for, asked=asked)
        told = mirror(answer, descriptor.output_type).to_struct(found)
        return again(told) if was_asked and again is not None else told

    async def remove(self, method: str, command: Struct, *, gone: type[WindlassError] = NotFound) -> None:
        """Like `ask`, for what takes something away: asked again, it may be gone already."""
        request = mirror(type(command), self._methods[method].input_type).to_message(command)
        was_asked = False

        def message(is_again: bool) -> Any:
            nonlocal was_asked
            was_asked = is_again
            return request

        try:
            await self.channel.ask(self._service, method, message)
        except gone:
            if not was_asked:
                raise

    async def send(
        self,
        method: str,
        request: Mirror,
        command: Struct,
        *,
        wait_for: Duration = NO_WAIT,
        asked: Callable[[bool], None] = lambda is_again: None,
    ) -> Any:
        has_mark = "is_again" in request.struct.__struct_fields__

        def message(is_again: bool) -> Any:
            asked(is_again)
            return request.to_message(replace(command, is_again=True) if is_again and has_mark else command)

        return await self.channel.ask(self._service, method, message, wait_for=wait_for)


def not_repeated(told: Any) -> Any:
    """Of a call that was asked again: what it repeats is itself."""
    return replace(told, is_repeat=False)

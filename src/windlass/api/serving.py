"""Whether a server takes calls, as its doors learn it: for health checks, long polls and streams."""

from __future__ import annotations

from typing import Protocol


class Serving(Protocol):
    @property
    def is_stopping(self) -> bool:
        """From here on long polls are answered at once and streams end: whoever asks finds another server."""
        ...

    async def until_stopping(self) -> None: ...

    async def is_ready(self) -> bool:
        """The server is not stopping, and its store answers. Cheap, however often it is asked."""
        ...

"""TODO."""

from typing import Any


async def pause_run(parts: Any, command: Any) -> Any:
    raise NotImplementedError

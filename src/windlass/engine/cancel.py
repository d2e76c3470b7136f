"""TODO."""

from typing import Any


async def cancel_run(parts: Any, command: Any) -> Any:
    raise NotImplementedError

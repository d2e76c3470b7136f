"""TODO."""

from typing import Any


async def retry_run(parts: Any, command: Any) -> Any:
    raise NotImplementedError

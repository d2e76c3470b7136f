"""TODO."""

from typing import Any


async def set_gate(parts: Any, command: Any) -> Any:
    raise NotImplementedError


async def list_gates(parts: Any, namespace: str) -> Any:
    raise NotImplementedError

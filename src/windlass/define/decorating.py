"""A decorator that is used bare or with options, and returns the function unchanged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any


def decorate(declare: Callable[..., object], function: Any, options: Mapping[str, Any]) -> Any:
    """Declare now, or answer with a decorator. To be called by the method that users call: the locals of who calls that
    help to read annotations of nested functions."""
    if function is not None:
        declare(function, local=sys._getframe(2).f_locals, **options)
        return function

    def decorator(function: Any) -> Any:
        declare(function, local=sys._getframe(1).f_locals, **options)
        return function

    return decorator

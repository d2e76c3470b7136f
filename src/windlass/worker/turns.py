"""Look at runs in the next turn of the loop: one callback for all of them, however many asked for a look."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable

FEW = 8


class Turns:
    def __init__(self, context: contextvars.Context) -> None:
        self._context = context
        self._asked: list[Callable[[], None]] = []
        self._has_waited = False

    def ask(self, look: Callable[[], None]) -> None:
        if not self._asked:
            asyncio.get_running_loop().call_soon(self._look, context=self._context)
        self._asked.append(look)

    def _look(self) -> None:
        if len(self._asked) > FEW and not self._has_waited:
            # Tasks that were woken in the turn before are still to run in this one, and a run whose task is about to
            # run would be looked at in vain.
            self._has_waited = True
            asyncio.get_running_loop().call_soon(self._look, context=self._context)
            return
        asked, self._asked, self._has_waited = self._asked, [], False
        looked = 0
        try:
            for look in asked:
                looked += 1
                look()
        except BaseException:
            for look in asked[looked:]:  # these asked too
                self.ask(look)
            raise

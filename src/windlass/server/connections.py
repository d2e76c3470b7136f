"""Which connections of HTTP are open: those on which a key was accepted, and strangers.

    connection ─► a stranger ─► a request with a key that is accepted ─► known
                    └ one too many: the stranger that came first is cut off

So nobody without a key keeps anybody out: whoever comes is let in, and who came first without saying anything goes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from windlass.server.limits import Limits


class Connection:
    """One of them. `cut` ends it at once."""

    def __init__(self, connections: Connections, cut: Callable[[], object]) -> None:
        self._connections, self.cut = connections, cut

    def accept(self) -> None:
        """A key was accepted on it."""
        self._connections.accept(self)

    def leave(self) -> None:
        self._connections.leave(self)


CURRENT: ContextVar[Connection | None] = ContextVar("windlass_connection", default=None)  # none: it is not counted here


class Connections:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._strangers: dict[Connection, None] = {}  # the one that came first is the first
        self._known: set[Connection] = set()

    def enter(self, cut: Callable[[], object]) -> Connection:
        """Count one more, and cut off the oldest stranger if there are too many."""
        entered = Connection(self, cut)
        if len(self._strangers) >= self._limits.strangers:
            oldest = next(iter(self._strangers))
            self.leave(oldest)
            oldest.cut()
        self._strangers[entered] = None
        return entered

    def accept(self, connection: Connection) -> None:
        """It is known from now on; one too many stays among the strangers."""
        if connection in self._strangers and len(self._known) < self._limits.known:
            del self._strangers[connection]
            self._known.add(connection)

    def leave(self, connection: Connection) -> None:
        self._strangers.pop(connection, None)
        self._known.discard(connection)


def accept_current() -> None:
    """A key was accepted: on the connection of this request, if it came over one that is counted."""
    current = CURRENT.get()
    if current is not None:
        current.accept()

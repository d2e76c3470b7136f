"""Who does something, for the audit.

A transaction runs in a context of its own, so whoever acts is asked for before it, where the call comes in:

    audit = Audit.of_caller("cancel_run")
    async def cancel(tx): …; await audit.note(tx, namespace, subject=run_id, before="pending", after="cancelled")

The row stands in the transaction of the act, and only where something was changed: a repeat that is recognised, and a
try that comes to nothing, leave none.
"""

from __future__ import annotations

from msgspec import Struct

from windlass.model.access import ACTING, Actor
from windlass.store.base import Tx
from windlass.store.queries.audit import NewAuditEntry

LOCAL = Actor(key="local", request_id="")  # a program or a person with the database itself in hand


class Audit(Struct, frozen=True):
    actor: Actor | None  # none: code in this process, of which the log tells enough
    action: str

    @staticmethod
    def of_caller(action: str) -> Audit:
        """What comes from outside is noted; what code in this process does is not."""
        return Audit(ACTING.get(), action)

    @staticmethod
    def of_anyone(action: str) -> Audit:
        """Who may come in, and where, is noted whoever decides it."""
        return Audit(ACTING.get() or LOCAL, action)

    async def note(
        self, tx: Tx, namespace: str, *, subject: str, before: str | None = None, after: str | None = None
    ) -> None:
        if self.actor is None:
            return
        await tx.audit.append(
            NewAuditEntry(
                namespace=namespace,
                actor=self.actor.key,
                action=self.action,
                subject=subject,
                request_id=self.actor.request_id,
                before=before,
                after=after,
            )
        )

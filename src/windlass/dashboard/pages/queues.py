"""Queues: how full they are, how old the oldest is, who serves them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from windlass.api.checks import check
from windlass.dashboard.asking import Ask, Page, Redirect, View
from windlass.model.commands import SetGate
from windlass.model.gate import GateKind
from windlass.model.queue import QueueView
from windlass.rules.limits import check_queue
from windlass.rules.queues import warning

MOST_ROWS = 200


async def show(ask: Ask) -> Page:
    queues = await ask.desk.list_queues(ask.namespace)
    gates = [gate for gate in await ask.service.control.list_gates(ask.namespace) if gate.kind is not GateKind.QUEUE]
    return Page("queues.html", {"title": "Queues", "place": "queues", "queues": rows(queues), "gates": gates})


def rows(queues: Iterable[QueueView]) -> list[dict[str, Any]]:
    """The fullest first, where there are too many for a page."""
    found = list(queues)
    if len(found) > MOST_ROWS:
        found = sorted(found, key=lambda queue: -queue.due)[:MOST_ROWS]
    return [{**msgspec.structs.asdict(queue), "warning": warning(queue)} for queue in found]


async def pause(ask: Ask) -> Redirect:
    await _set(ask, is_paused=True)
    return Redirect(ask.to("queues"), "queue-paused")


async def resume(ask: Ask) -> Redirect:
    await _set(ask, is_paused=False)
    return Redirect(ask.to("queues"), "queue-resumed")


async def _set(ask: Ask, *, is_paused: bool) -> None:
    command = SetGate(
        namespace=ask.namespace,
        kind=GateKind.QUEUE,
        name=check_queue(ask.path["name"]),
        is_paused=is_paused,
        by=ask.caller.key,
        note=ask.typed("note"),
    )
    await ask.service.control.set_gate(check(command))


VIEWS = (
    View(path="/queues", operation="list_queues", handler=show),
    View(path="/queues/{name}/pause", operation="set_gate", handler=pause, method="POST"),
    View(path="/queues/{name}/resume", operation="set_gate", handler=resume, method="POST"),
)

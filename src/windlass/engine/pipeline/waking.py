"""Who is told that a pipeline has something to do."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.engine.parts import Parts
from windlass.notify.local import pipelines_topic


def wake_all(parts: Parts, places: Iterable[tuple[str, str]]) -> None:
    """Something is due in these queues, each with its namespace. After the commit, and only a hint."""
    for namespace, queue in sorted(set(places)):
        parts.hub.publish(pipelines_topic(namespace, queue))

"""Whether a start key is asked for again, or for something else."""

from __future__ import annotations

Started = tuple[str, str, bytes]  # workflow, version, hash of the input


def difference(*, owned: Started, asked: Started) -> str | None:
    """How the run that owns a key differs from the one asked for now, or None: then it is the answer."""
    for index, what in enumerate(("workflow", "version")):
        if owned[index] != asked[index]:
            return f"of another {what}: {owned[index]!r}, not {asked[index]!r}"
    return None if owned == asked else "with other input"

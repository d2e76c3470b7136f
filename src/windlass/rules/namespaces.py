"""What a namespace may become, and when it may go."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from windlass.errors import WrongState
from windlass.model.gate import Gate
from windlass.model.namespace import Namespace

DEFAULT = "default"  # where no other is named
ENABLED, DISABLED, DELETED = "enabled", "disabled", "deleted"
MOST_COUNTED = 1_000  # of what is still in one
CLOSED_NOTE = "the namespace is disabled"  # of its gate, where nobody had paused it before


def word(*, is_enabled: bool) -> str:
    return ENABLED if is_enabled else DISABLED


def standing(namespace: Namespace) -> str:
    return word(is_enabled=namespace.is_enabled)


def closed(gate: Gate, *, by: str | None) -> Gate:
    """The gate of a namespace that is disabled."""
    return replace(gate, is_paused=True, paused_by=by, note=CLOSED_NOTE)


def check_open(namespace: Namespace | None) -> None:
    """Whether its own gate may be turned by hand. Raises WrongState."""
    if namespace is not None and not namespace.is_enabled:
        name = namespace.name
        hint = f"Enable it first: windlass namespaces enable {name}"
        raise WrongState("Namespace", repr(name), DISABLED, wanted="an enabled one", hint=hint)


def check_removable(namespace: Namespace) -> None:
    """Raises WrongState if it is in use, as far as its row tells."""
    name = namespace.name
    if name == DEFAULT:
        raise WrongState("Namespace", repr(name), "the one that is used where no other is named", wanted="another")
    if namespace.is_enabled:
        hint = f"Disable it first: windlass namespaces disable {name}"
        raise WrongState("Namespace", repr(name), ENABLED, wanted="a disabled one", hint=hint)


def check_empty(name: str, counts: Mapping[str, int]) -> None:
    """Raises WrongState that says what is still in it: how many, by what they are called."""
    left = [_counted(what, count) for what, count in counts.items() if count]
    if left:
        raise WrongState(
            "Namespace",
            repr(name),
            f"not empty: it holds {', '.join(left)}",
            wanted="an empty one",
            hint="Runs go when they are over and no longer kept; delete its schedules and items, cancel its signals, "
            "let its workers stop, and skip what waits in its pipelines.",
        )


def _counted(what: str, count: int) -> str:
    if count >= MOST_COUNTED:
        return f"{count:,} {what}s or more"
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"

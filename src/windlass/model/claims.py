"""What a worker asks about many of its claims at once."""

from __future__ import annotations

from msgspec import Struct

from windlass.model.time import Duration


class Renewal(Struct, frozen=True, kw_only=True):
    """One claim to extend: of a run by its id, of a pipeline by its name."""

    id: str
    token: int
    visibility_for: Duration


class RenewClaims(Struct, frozen=True, kw_only=True):
    """Extend these claims to now + visibility. Each is guarded by its own token."""

    namespace: str
    runs: tuple[Renewal, ...] = ()
    pipelines: tuple[Renewal, ...] = ()


class RenewedClaims(Struct, frozen=True, kw_only=True):
    """The claims that were lost, and not extended. All others were."""

    lost_runs: tuple[str, ...] = ()
    lost_pipelines: tuple[str, ...] = ()

"""The composition root: from a URL to open doors, of a database in this process or of a server.

Which of the two is imported follows the URL: a worker of a server needs no driver of a database.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from windlass.api.service import Service
from windlass.errors import NotAllowed
from windlass.runtime import Clock, Ids, Rng
from windlass.settings import Location, Settings, parse_url
from windlass.telemetry.observer import Observer

if TYPE_CHECKING:
    from windlass.store.base import Hooks


class Opened(Service, Protocol):
    """Open doors, and a way to close them."""

    @property
    def ids(self) -> Ids: ...

    def coordinated(self) -> AbstractAsyncContextManager[None]:
        """Look after the database while the block lasts: schedules, silent workers, what is to be removed."""
        ...

    async def close(self) -> None: ...


async def open_engine(
    url: str,
    settings: Settings,
    *,
    clock: Clock,
    rng: Rng,
    hooks: Hooks | None = None,
    observer: Observer | None = None,
) -> Opened:
    """Connect, migrate, listen. Raises StoreRefused if the database cannot be used."""
    location = parse_url(url)
    if location.kind == "grpc":
        return _open_remote(location, settings, clock=clock, ids=Ids(clock, rng))
    from windlass.embedded import open_embedded

    return await open_embedded(location, settings, clock=clock, rng=rng, hooks=hooks, observer=observer)


async def refuse_to_migrate(url: str, *, creates: bool = True) -> None:
    """Raise StoreRefused if to open this database would migrate it, or, without `creates`, make its tables.

    A server has migrated its own when it started.
    """
    if parse_url(url).kind != "grpc":
        from windlass.embedded import refuse_to_migrate_database

        await refuse_to_migrate_database(url, creates=creates)


def _open_remote(location: Location, settings: Settings, *, clock: Clock, ids: Ids) -> Opened:
    """Connects at the first call."""
    try:
        from windlass.api.grpc.remote import Remote, make_target
    except ImportError as missing:
        text = f"grpc:// needs more than is installed ({missing.name}): pip install 'windlass[grpc]'"
        raise NotAllowed(text) from None
    authority = None if settings.tls_ca is None else Path(settings.tls_ca)
    targets = [make_target(host, port, is_tls=location.is_tls, authority=authority) for host, port in location.hosts]
    return Remote(targets, token=None if settings.token is None else settings.token.reveal(), clock=clock, ids=ids)

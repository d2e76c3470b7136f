"""What a page is made from: who asks for what, and the doors behind which the answer is found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from msgspec import Struct

from windlass.api.admission import Admission, Caller
from windlass.api.operations import OPERATIONS
from windlass.api.page_service import Pages
from windlass.api.service import Service
from windlass.api.serving import Serving
from windlass.dashboard.session import LoginLinks
from windlass.errors import Busy, InvalidInput
from windlass.model.queue import QueueView
from windlass.model.run import RunId
from windlass.model.time import MILLISECOND, Duration, Instant
from windlass.rules.limits import check_run_id
from windlass.runtime import Clock, Ids

ROOT = "/ui"
OUTSIDE = f"{ROOT}/-"  # what belongs to no namespace: none can have this name
LOGIN, LOGOUT = f"{OUTSIDE}/login", f"{OUTSIDE}/logout"
MOST_STREAMS = 100  # pages that one key may hold open
NOTICED = Duration(20 * MILLISECOND)  # what is counted faster is counted again


class Desk:
    """One server's dashboard: what all its requests share."""

    def __init__(
        self,
        service: Service,
        pages: Pages,
        gate: Admission,
        *,
        clock: Clock,
        ids: Ids,
        serving: Serving,
        links: LoginLinks,
    ) -> None:
        self.service, self.pages, self.gate = service, pages, gate
        self.clock, self.ids, self.serving, self.links = clock, ids, serving, links
        self._streams: dict[str, int] = {}
        self._queues: dict[str, _Kept] = {}

    def take_stream(self, caller: Caller) -> None:
        """Raises Busy if the key has too many already."""
        taken = self._streams.get(caller.key, 0)
        if taken >= MOST_STREAMS:
            raise Busy(f"This key has {MOST_STREAMS} pages open already. Close one of them first.")
        self._streams[caller.key] = taken + 1

    def leave_stream(self, caller: Caller) -> None:
        left = self._streams.pop(caller.key) - 1
        if left:
            self._streams[caller.key] = left

    async def list_queues(self, namespace: str) -> tuple[QueueView, ...]:
        """Counting takes the longer the more waits: what took long is shown for ten times as long."""
        kept, now = self._queues.get(namespace), self.clock.monotonic()
        if kept is not None and now < kept.until:
            return kept.queues
        found = await self.service.runs.list_queues(namespace)
        took = self.clock.monotonic() - now
        if took > NOTICED:
            self._queues[namespace] = _Kept(found, self.clock.monotonic() + 10 * took)
        return found

    def forget(self, namespace: str) -> None:
        """Somebody has done something here, and wants to see it."""
        self._queues.pop(namespace, None)


class _Kept(Struct, frozen=True):
    queues: tuple[QueueView, ...]
    until: int


class Ask(Struct, frozen=True, kw_only=True):
    """One request that was let in."""

    desk: Desk
    caller: Caller
    token: str
    url: str  # its path and query, as it was asked for
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    now: Instant

    @property
    def service(self) -> Service:
        return self.desk.service

    @property
    def pages(self) -> Pages:
        return self.desk.pages

    @property
    def namespace(self) -> str:
        """The one the caller was let into, and no other."""
        return self.caller.namespace

    @property
    def run_id(self) -> RunId:
        return RunId(check_run_id(self.path["run_id"]))

    @property
    def home(self) -> str:
        return f"{ROOT}/{quote(self.namespace, safe='')}"

    def to(self, *parts: str, **query: str | None) -> str:
        """The address of another page of the same namespace."""
        return "/".join((self.home, *(quote(part, safe="") for part in parts))) + queried(query)

    def may(self, operation: str) -> bool:
        return not OPERATIONS[operation].roles.isdisjoint(self.caller.roles)

    def typed(self, name: str) -> str | None:
        """A field of the form; nothing where it was left empty."""
        return self.form.get(name, "").strip() or None


def queried(values: Mapping[str, str | None]) -> str:
    given = {name: value for name, value in values.items() if value}
    return f"?{urlencode(given)}" if given else ""


class Page(Struct, frozen=True):
    """What is shown: a template, and what stands in it."""

    template: str
    values: Mapping[str, Any]
    status: int = 200


class Redirect(Struct, frozen=True):
    """To be seen elsewhere; `done` is what was done, by its name in `words.DONE`."""

    url: str
    done: str = ""


class File(Struct, frozen=True):
    """A payload as it is stored."""

    name: str
    content: bytes


Handler: TypeAlias = Callable[[Ask], Awaitable[Page | Redirect | File]]


class View(Struct, frozen=True, kw_only=True):
    """One page, or one thing that can be done. The gate asks for its operation."""

    path: str  # below the namespace
    operation: str
    handler: Handler
    method: str = "GET"


def chosen(query: Mapping[str, str], name: str, options: Mapping[str, Any], *, what: str) -> Any:
    """One of a list in the address. Raises InvalidInput for anything else; nothing where it is not there."""
    value = query.get(name, "")
    if not value:
        return None
    if value not in options:
        raise InvalidInput(
            f"There is no {what} {value[:40]!r}. There are: {', '.join(options)}.", reason="invalid_filter", path=name
        )
    return options[value]

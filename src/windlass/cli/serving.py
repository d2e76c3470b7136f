"""What `windlass server` and `windlass dev` share: their options, and what they say when they have started."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text as Line

from windlass import process
from windlass.assembly import open_engine
from windlass.cli.session import Session
from windlass.cli.terminal import escape
from windlass.embedded import in_process
from windlass.errors import InvalidInput, NotAllowed
from windlass.logs import FORMATS, LEVELS
from windlass.model.time import SECOND
from windlass.runtime import system_rng
from windlass.server.first_key import make_first_key
from windlass.server.server import Served, Server, ServerOptions, check_options
from windlass.settings import Location, Settings
from windlass.telemetry.exposition import make_registry, read
from windlass.telemetry.switch import MetricsRegistry, Telemetry

if TYPE_CHECKING:
    from windlass.dashboard.session import LoginLinks

Command = TypeVar("Command", bound=Callable[..., Any])

NEEDED = ("grpc", "grpc_health.v1", "grpc_reflection.v1alpha", "starlette", "uvicorn", "websockets", "jinja2")
PORT = click.IntRange(1, 65_535)
DIM = "bright_black"


def serving_options(command: Command) -> Command:
    """Add the options of both commands."""
    for option in (
        click.option("--log-level", type=click.Choice(LEVELS), help="From which level on.  [default: log.level]"),
        click.option("--log-format", type=click.Choice(FORMATS), help="How to log.  [default: log.format]"),
        click.option("--http-port", type=PORT, help="For HTTP.  [default: server.http_port, else 7421]"),
        click.option("--grpc-port", type=PORT, help="For gRPC.  [default: server.grpc_port, else 7420]"),
    ):  # fmt: skip
        command = option(command)
    return command


def refuse_uninstalled() -> None:
    """The packages of the server are no part of the plain installation."""
    for module in NEEDED:
        try:
            import_module(module)
        except ImportError:
            text = (
                f"The server is not installed ({module.partition('.')[0]} is missing): pip install 'windlass[server]'"
            )
            raise NotAllowed(text) from None


def refuse_server(location: Location) -> None:
    """A server has a database of its own; it is no client of another."""
    if location.kind == "grpc":
        raise InvalidInput(
            f"{location.shown} is a server itself. Name the database it is to serve: --url postgresql://… or a file.",
            reason="invalid_option",
            path="--url",
        )


def options_from(settings: Settings, **given: Any) -> ServerOptions:
    """What the settings say, and what the command line says instead."""
    options = ServerOptions(
        host=settings.server_host,
        grpc_port=settings.server_grpc_port,
        http_port=settings.server_http_port,
        tls_certificate=settings.server_tls_certificate,
        tls_key=settings.server_tls_key,
        allowed_hosts=settings.server_allowed_hosts,
        allowed_origins=settings.server_allowed_origins,
        grace_for=settings.server_grace_for,
    )
    return replace(options, **{name: value for name, value in given.items() if value not in (None, ())})


class Counting(Struct, frozen=True):
    """Where a server counts, if it can."""

    telemetry: Telemetry
    registry: MetricsRegistry | None

    def reader(self) -> Callable[[], bytes] | None:
        registry = self.registry
        return None if registry is None else lambda: read(registry)


def count_into(settings: Settings) -> Counting:
    registry = make_registry()
    telemetry = Telemetry(
        metrics_port=settings.metrics_port,
        metrics_host=settings.metrics_host,
        traces=settings.traces,
        registry=registry,
    )
    return Counting(telemetry, registry)


@asynccontextmanager
async def serving(
    session: Session,
    opened: Served,
    options: ServerOptions,
    *,
    about: dict[str, Any],
    counting: Counting | None = None,
    has_link: bool = False,
) -> AsyncIterator[None]:
    """Serve while the block lasts, and say so: where, what, and the first key if there was none.

    `has_link`: whoever started it is on this machine, and gets a link that signs them in.
    """
    read_metrics = None if counting is None else counting.reader()
    links = make_links(session, opened)
    async with Server(
        opened,
        options,
        clock=session.clock,
        read_metrics=read_metrics,
        make_dashboard=lambda server: make_dashboard(server, opened, links),
    ) as server:
        token = await make_first_key(opened.access, clock=session.clock, ids=opened.ids)
        about = {**about, "dashboard": dashboard_url(server, links.make() if has_link else None)}
        if session.is_json:
            _tell_events(session, server, token=token, about=about)
        else:
            session.screen.write(session.screen.draw_whole(*_lines(session, server, token=token, about=about)))
        yield


@asynccontextmanager
async def showing(session: Session, opened: Served, options: ServerOptions) -> AsyncIterator[None]:
    """Serve for whoever sits at this terminal, and say no more than where the dashboard is."""
    links = make_links(session, opened)
    async with Server(
        opened, options, clock=session.clock, make_dashboard=lambda server: make_dashboard(server, opened, links)
    ) as server:
        url = dashboard_url(server, links.make())
        if session.is_json:
            session.screen.write_json({"event": "dashboard", "url": url}, is_line=True)
        else:
            lines = [
                Line("\nLook at it:", style="bold"),
                Line(f"  {url}", style="cyan"),
                Line("Ctrl-C ends it.", style=DIM),
            ]
            session.screen.write(session.screen.draw_whole(*lines))
        yield


def make_links(session: Session, opened: Served) -> LoginLinks:
    from windlass.dashboard.session import LoginLinks

    return LoginLinks(opened.access, clock=session.clock, ids=opened.ids)


def make_dashboard(server: Server, opened: Served, links: LoginLinks) -> Any:
    """The pages of a database that is open in this process, behind the server's gate."""
    from windlass.dashboard.app import Dashboard
    from windlass.dashboard.asking import Desk

    pages = in_process(opened).pages
    desk = Desk(opened, pages, server.gate, clock=server.clock, ids=opened.ids, serving=server.health, links=links)
    return Dashboard(desk)


def dashboard_url(server: Server, code: str | None) -> str:
    return f"{server.http_url}/ui" if code is None else f"{server.http_url}/ui/-/login?code={code}"


async def serve_alone(session: Session, options: ServerOptions, *, has_link: bool = False) -> None:
    """Open the database, serve it until a signal, and close it."""
    check_options(options)
    counting = count_into(session.settings)
    with process.stop_on_signal(grace_text(options)) as stopped:
        opened = await open_engine(
            session.url,
            session.settings,
            clock=session.clock,
            rng=system_rng(),
            observer=counting.telemetry.observer(),
        )
        try:
            served = serving(session, opened, options, about={}, counting=counting, has_link=has_link)
            async with counting.telemetry.serving(), served:
                await stopped.wait()
        finally:
            await opened.close()


def _tell_events(session: Session, server: Server, *, token: str | None, about: dict[str, Any]) -> None:
    said = {"database": shown(session.location), "grpc": server.grpc_url, "http": server.http_url, **about}
    session.screen.write_json({"event": "serving", **said}, is_line=True)
    if token is not None:
        session.screen.write_json({"event": "key", "token": token}, is_line=True)


def _lines(session: Session, server: Server, *, token: str | None, about: dict[str, Any]) -> list[Line]:
    """Written to the standard output and never to the log: there may be a token in it."""
    lines = [
        Line(f"Windlass {version('windlass')} serves {escape(shown(session.location))}", style="bold"),
        Line(f"  gRPC  {server.grpc_url}"),
        Line(f"  HTTP  {server.http_url}"),
        Line(f"  Dashboard  {about['dashboard']}", style="bold"),
    ]
    if "code=" in about["dashboard"]:
        lines.append(Line("    signs in whoever opens it first, within 10 minutes", style=DIM))
    if "app" in about:
        lines.append(Line(f"  works on {about['app']}: queues {', '.join(about['queues'])}, {about['slots']} slots"))
    if token is not None:
        command = f"windlass --url {_reachable(server)} keys create --role worker"
        lines += [
            Line("This database had no key for everything yet. Here is one; it is shown this once:"),
            Line(f"  export WINDLASS_TOKEN={token}", style="bold"),
            Line(f"Make narrower ones with it: {command}", style=DIM),
        ]
    else:
        advice = session.advise("Every call needs a token. To make one: windlass keys create --role worker")
        lines.append(Line(escape(advice), style=DIM))
    lines += [
        Line("A worker anywhere needs this URL and a token (WINDLASS_TOKEN), and no database:"),
        Line(f"  windlass --url {_reachable(server)} worker MODULE:APP"),
        Line("Ctrl-C stops the server; calls that run may end.", style=DIM),
    ]
    return lines


def _reachable(server: Server) -> str:
    """The URL as others may write it: "every address" is none."""
    everywhere = ("://0.0.0.0:", "://[::]:")
    url = server.grpc_url
    for text in everywhere:
        url = url.replace(text, f"://{socket.gethostname()}:")
    return url


def shown(location: Location) -> str:
    """The database by its whole path, or by its URL without the password."""
    is_file = location.kind == "sqlite" and location.target != ":memory:"
    return str(Path(location.target).absolute()) if is_file else location.shown


def grace_text(options: ServerOptions) -> str:
    return f"Stopping: calls that run may end, for {options.grace_for / SECOND:g} s at most."

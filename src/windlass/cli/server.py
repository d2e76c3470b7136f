"""`windlass server`: gRPC and HTTP for workers and clients that have no database of their own."""

from __future__ import annotations

from typing import Any

import click

from windlass import process
from windlass.cli.serving import options_from, refuse_server, refuse_uninstalled, serve_alone, serving_options
from windlass.cli.session import Session, Text, shared_options
from windlass.logs import LogFormat, LogLevel, configured
from windlass.server.listening import TRUSTED
from windlass.settings_values import file_path, host, origin

FILE = Text(lambda text: file_path(text, "the path"))


@click.command(short_help="Serve the database to workers and clients elsewhere.")
@click.option(
    "--host", type=Text(lambda text: host(text, "--host")), help="Where.  [default: server.host, else 127.0.0.1]"
)
@serving_options
@click.option(
    "--tls-certificate", metavar="FILE", type=FILE, help="PEM, with the chain.  [default: server.tls_certificate]"
)
@click.option("--tls-key", metavar="FILE", type=FILE, help="PEM, its private key.  [default: server.tls_key]")
@click.option(
    "--allowed-host", "allowed_hosts", metavar="HOST", multiple=True,
    type=Text(lambda text: host(text, "--allowed-host")),
    help="A name by which HTTP may be asked; may be repeated.  [default: server.allowed_hosts]",
)  # fmt: skip
@click.option(
    "--allowed-origin", "allowed_origins", metavar="ORIGIN", multiple=True,
    type=Text(lambda text: origin(text, "--allowed-origin")),
    help="Of pages that may ask; may be repeated.  [default: server.allowed_origins]",
)  # fmt: skip
@click.option(
    TRUSTED, "is_network_trusted", is_flag=True,
    help="Listen on --host without TLS all the same: for a proxy in front that ends TLS.",
)  # fmt: skip
@shared_options
@click.pass_obj
def server(session: Session, /, *, log_format: LogFormat | None, log_level: LogLevel | None, **given: Any) -> None:
    """Serve the database over gRPC and HTTP until Ctrl-C or SIGTERM.

    Every call needs a token. The first start makes one for everything and shows it once. Any number of servers may
    serve one PostgreSQL database.
    """
    settings = session.settings
    with configured(log_format or settings.log_format, log_level or settings.log_level):
        refuse_uninstalled()
        refuse_server(session.location)
        process.run(serve_alone(session, options_from(settings, **given)))
    if session.is_json:
        session.screen.write_json({"event": "stopped"}, is_line=True)

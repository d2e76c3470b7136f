"""`windlass dev [MODULE:APP]`: a server, a worker of that app and an embedded database in one process."""

from __future__ import annotations

import click

from windlass import process
from windlass.app import MAX_SLOTS, SLOTS, App
from windlass.cli.apps import check_target, take_app
from windlass.cli.serving import grace_text, refuse_server, refuse_uninstalled, serve_alone, serving, serving_options
from windlass.cli.session import Session, Text, shared_options
from windlass.logs import LogFormat, LogLevel, configured
from windlass.rules.limits import check_queue
from windlass.server.server import ServerOptions, check_options


@click.command(short_help="A server, a worker and a database in one process.")
@click.argument("target", metavar="[MODULE:APP]", type=Text(check_target), required=False)
@click.option("--queue", "queues", type=Text(check_queue), multiple=True, help="A queue to serve; may be repeated.")
@click.option("--slots", type=click.IntRange(1, MAX_SLOTS), default=SLOTS, show_default=True, help="Runs at a time.")
@serving_options
@shared_options
@click.pass_obj
def dev(
    session: Session,
    /,
    *,
    target: str | None,
    queues: tuple[str, ...],
    slots: int,
    log_format: LogFormat | None,
    log_level: LogLevel | None,
    grpc_port: int | None,
    http_port: int | None,
) -> None:
    """Serve the database on this machine, and execute the runs of an app beside it, until Ctrl-C.

    For trying things out: one command in place of windlass server and windlass worker. Without --queue, every queue
    that the app names is served. Without an app it is a server alone.
    """
    settings = session.settings
    with configured(log_format or settings.log_format, log_level or settings.log_level):
        refuse_uninstalled()
        app = None if target is None else take_app(session, target)
        refuse_server(session.location)
        options = ServerOptions(  # on this machine, whatever the settings say about servers for others
            grpc_port=grpc_port or settings.server_grpc_port,
            http_port=http_port or settings.server_http_port,
            grace_for=settings.server_grace_for,
        )
        if target is None or app is None:
            process.run(serve_alone(session, options, has_link=True))
        else:
            process.run(_work_and_serve(session, target, options, app=app, queues=queues or None, slots=slots))
    if session.is_json:
        session.screen.write_json({"event": "stopped"}, is_line=True)


async def _work_and_serve(
    session: Session, target: str, options: ServerOptions, *, app: App, queues: tuple[str, ...] | None, slots: int
) -> None:
    """The server leaves first, then the worker, and the database is closed last."""
    about = {"app": target, "queues": list(queues or app._registry.queues), "slots": slots, "namespace": app._namespace}
    check_options(options)
    try:
        with process.stop_on_signal(grace_text(options)) as stopped:
            opened = await app._opening.get()
            served = serving(session, opened, options, about=about, has_link=True)
            async with app.worker(queues=queues, slots=slots), served:
                await process.first_of(stopped, app._workers[-1].drain.is_lost)
    finally:
        await app.aclose()

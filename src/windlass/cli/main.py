"""The command `windlass`: which commands there are, and how each of them ends.

0    done, or the reader of a pipe has seen enough
1    an error, said in one line on the standard error
2    the command line itself is wrong, with a hint
130  Ctrl-C
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any

import click

from windlass.cli.migrate import migrate
from windlass.cli.resume import resume
from windlass.cli.runs import runs
from windlass.cli.session import Session, shared_options
from windlass.cli.show import show
from windlass.cli.terminal import escape
from windlass.cli.worker import worker
from windlass.errors import WindlassError

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


class CommandLine(click.Group):
    """The group of all commands; the one place where an error becomes a line and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        extra |= {"standalone_mode": False, "prog_name": "windlass"}
        session = extra.setdefault("obj", Session())
        try:
            code = super().main(*args, **extra)
            sys.stdout.flush()
        except WindlassError as error:
            sys.exit(_complain(session, str(error), code=error.code, exit_code=FAILED))
        except click.exceptions.NoArgsIsHelpError as help:
            click.echo(help.format_message())
            sys.exit(MISUSED)
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx is not None else "windlass"
            message = error.format_message()
            hint = f"{message}{'' if message.endswith(('.', '?')) else '.'} Try: {path} --help"
            sys.exit(_complain(session, hint, code="usage", exit_code=MISUSED))
        except click.ClickException as error:
            sys.exit(_complain(session, error.format_message(), code="failed", exit_code=FAILED))
        except (KeyboardInterrupt, click.Abort):
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            # Whoever read our output has closed it. The interpreter must not try to flush the rest at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        sys.exit(code if isinstance(code, int) else 0)


def _complain(session: Session, message: str, *, code: str, exit_code: int) -> int:
    line = escape(" ".join(message.split()))
    if session.is_json:
        line = json.dumps({"error": {"code": code, "message": " ".join(message.split())}})
    elif not line.startswith("windlass"):
        line = f"windlass: {line}"
    click.echo(line, err=True)
    return exit_code


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"windlass {version('windlass')}")
        ctx.exit()


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Say which this is."
)
@shared_options
def cli() -> None:
    """Windlass: durable runs that go on where they stood.

    The options below may also stand behind the name of a command.
    """


for command in (runs, show, resume, worker, migrate):
    cli.add_command(command)


def main() -> None:
    cli.main()

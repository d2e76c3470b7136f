"""The command `windlass`: which commands there are, and how each of them ends.

0    done, or the reader of a pipe has seen enough (but of the demo)
1    an error, said in one line on the standard error
2    the command line itself is wrong, with a hint
130  Ctrl-C
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from windlass.cli.session import Session, shared_options
from windlass.cli.terminal import escape
from windlass.errors import WindlassError

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what gRPC writes about connections would bypass our log
FAILED, MISUSED, INTERRUPTED = 1, 2, 130
# Where each command is: in that module, under its own name, with _ for -.
PLACES = {
    "dev": "dev",
    "server": "server",
    "worker": "worker",
    "start": "start",
    "runs": "runs",
    "show": "show",
    "explain": "explain",
    "graphs": "graphs",
    "pipelines": "pipelines.listing",
    "topics": "pipelines.topics",
    "inputs": "pipelines.inputs",
    "publish": "pipelines.publish",
    "run-now": "pipelines.steer",
    "schedules": "schedules.group",
    "items": "items.group",
    "signals": "signals.group",
    "firings": "signals.firings",
    "queues": "queues",
    "workers": "workers",
    "send": "send",
    "approve": "decide",
    "reject": "decide",
    "resolve": "pipelines.resolve",
    "skip": "pipelines.skip",
    "cancel": "cancel",
    "retry": "retry",
    "pause": "pause",
    "resume": "resume",
    "namespaces": "namespaces",
    "keys": "keys",
    "audit": "audit",
    "migrate": "migrate",
    "doctor": "doctor",
    "bench": "bench",
    "demo": "demo",
}
TAKING_VALUES = ("start", "send", "create", "publish")  # whose words may be negative numbers
NEGATIVE = re.compile("-[0-9]")


class Commands(Mapping[str, click.Command]):
    """Commands by name, each imported when it is asked for: all of them would take longer than most of them run."""

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = getattr(import_module(f"windlass.cli.{PLACES[name]}"), name.replace("-", "_"))
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


class CommandLine(click.Group):
    """The group of all commands; the one place where an error becomes a line and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        session = extra.setdefault("obj", Session())
        given = extra.get("args", args[0] if args else None)
        typed: list[str] = sys.argv[1:] if given is None else list(given)
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False, "prog_name": "windlass"})
        except click.exceptions.NoArgsIsHelpError as help:
            click.echo(help.format_message())
            code = MISUSED
        except (KeyboardInterrupt, click.Abort):
            code = INTERRUPTED
        except Exception as error:
            if isinstance(error, OSError):
                _forget_output()
            code = _complain(session, error, typed)
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of a run's life, not of the alphabet

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # whoever read our output has seen enough; caught here, before click has its own idea
            _forget_output()
            if ctx.invoked_subcommand == "demo":  # whose exit code says that something was counted
                raise click.ClickException("Nobody reads on: the demo was stopped, and nothing was counted.") from None
            ctx.exit(0)


def _complain(session: Session, error: Exception, typed: Sequence[str]) -> int:
    """Write what went wrong in one line, and say how to exit."""
    if isinstance(error, click.UsageError):  # it may have come up before the option was read
        session.is_json = session.is_json or "--json" in _before_dashes(typed)
    negative = _about_negative_number(error, typed)
    message, code, exit_code = _judge(error) if negative is None else (negative, "usage", MISUSED)
    is_ours = negative is not None or isinstance(error, WindlassError)
    message = " ".join((session.advise(message) if is_ours else message).split())
    if session.is_json:
        line = json.dumps({"error": {"code": code, "message": message}})
    else:
        line = f"windlass: {escape(message)}"
    click.echo(line, err=True)
    return exit_code


def _judge(error: Exception) -> tuple[str, str, int]:
    """The message, its stable code, and the exit code."""
    if isinstance(error, WindlassError):
        return str(error), error.code, FAILED
    if isinstance(error, click.UsageError):
        message = error.format_message()
        path = error.ctx.command_path if error.ctx is not None else "windlass"
        return f"{message}{'' if message.endswith(('.', '?')) else '.'} Try: {path} --help", "usage", MISUSED
    if isinstance(error, click.ClickException):
        return error.format_message(), "failed", FAILED
    if isinstance(error, OSError):
        return (
            f"{error.strerror or type(error).__name__}: {error.filename or 'the output cannot be written'}",
            "system",
            FAILED,
        )
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"{type(error).__name__} at {where}: {error}. This is a bug in Windlass; please report it.", "bug", FAILED


def _before_dashes(typed: Sequence[str]) -> list[str]:
    """The words among which options are looked for."""
    return list(typed[: typed.index("--")] if "--" in typed else typed)


def _about_negative_number(error: Exception, typed: Sequence[str]) -> str | None:
    """How to type a negative number, if it is one that was taken for an option."""
    if not isinstance(error, click.NoSuchOption) or NEGATIVE.match(error.option_name) is None:
        return None
    command = (error.ctx.command.name if error.ctx is not None else None) or ""
    if command not in TAKING_VALUES:
        return None
    words = _before_dashes(typed)
    words = [word for word in words[words.index(command) :] if word != "--json"]
    place = next((place for place, word in enumerate(words) if NEGATIVE.match(word)), len(words))
    front, behind = words[:place], words[place:]
    if any(word.startswith("--") for word in words):  # some may be values of options
        return "Negative numbers go behind a -- of their own, after all options."
    return f"Negative numbers go behind --: windlass {shlex.join(front)} -- {shlex.join(behind)}"


def _forget_output() -> None:
    """Let the interpreter flush what is left to nowhere: at exit it would complain about it once more."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"windlass {version('windlass')}")
        ctx.exit()


@click.group(
    cls=CommandLine,
    commands=Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Say which this is."
)
@shared_options
def cli() -> None:
    """Windlass: durable runs that go on where they stood.

    The options below may also stand behind the name of a command.
    """


def main() -> None:
    cli.main()

"""What every command shares: the options in front of or behind its name, and the way to the engine."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from windlass.api.service import Control, Runs
from windlass.assembly import Opened, open_engine, refuse_to_migrate
from windlass.cli.terminal import Screen, escape
from windlass.client.opening import Opening
from windlass.errors import InvalidInput, NotFound
from windlass.model.access import EVERY_NAMESPACE
from windlass.model.time import Instant
from windlass.rules.limits import check_namespace
from windlass.runtime import Clock, SystemClock, system_rng
from windlass.settings import Location, Settings, load_settings, parse_url, read_settings, resolve_url

T = TypeVar("T")
OpenEngine: TypeAlias = Callable[[], Awaitable[Opened]]
Command = TypeVar("Command", bound=Callable[..., Any])

COMMANDS = (
    "runs|graphs|pipelines|topics|inputs|publish|run-now|schedules|items|signals|firings|queues|show|explain|start|send|approve|reject|"
    "resolve|skip|cancel|retry|pause|resume|worker|workers|migrate|doctor|keys|namespaces|audit|server|dev"
)
ADVICE = re.compile(rf"\bwindlass (?=(?:{COMMANDS})\b)")  # a command in a text


class Session:
    """One invocation of the command line."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.given_url: str | None = None
        self.given_namespace: str | None = None
        self.is_json = False
        self._settings: Settings | None = None
        self._screen: Screen | None = None

    @property
    def namespace(self) -> str:
        if self.given_namespace == EVERY_NAMESPACE:
            raise InvalidInput(
                "This command looks in one namespace: name it with --namespace NAME. '*' is for keys and audit.",
                reason="invalid_name",
                path="namespace",
            )
        return self.given_namespace or "default"

    @property
    def wide_namespace(self) -> str | None:
        """What was given, which may be all of them; nothing if nothing was."""
        return self.given_namespace

    @property
    def screen(self) -> Screen:
        if self._screen is None:
            self._screen = Screen()
        return self._screen

    @property
    def settings(self) -> Settings:
        """Read at the first use: `--help` and `--version` work whatever the configuration holds."""
        if self._settings is None:
            self._settings = load_settings()
        return self._settings

    @property
    def url(self) -> str:
        return resolve_url(self.given_url, self.settings)

    @property
    def location(self) -> Location:
        return parse_url(self.url)

    def now(self) -> Instant:
        return Instant(self.clock.now())

    def read(self, work: Callable[[Opened], Awaitable[T]]) -> T:
        """Open the engine, let it look, and close it. Raises rather than create a database, or migrate it."""
        self.refuse_missing_file()
        return self._use(lambda opening: _with(opening.look, work))

    def change(self, work: Callable[[Opened], Awaitable[T]]) -> T:
        """The same for what changes something: the database is migrated if it has to be."""
        self.refuse_missing_file()
        return self._use(lambda opening: _with(opening.get, work))

    def steer(self, deed: Callable[[Runs, Control], Awaitable[T]]) -> T:
        """Like `change`."""
        return self.change(lambda opened: deed(opened.runs, opened.control))

    def change_later(self, work: Callable[[OpenEngine], Awaitable[T]]) -> T:
        """Like `change`, for work that opens the engine when it has to; a missing file is then created."""
        return self._use(lambda opening: work(opening.get))

    def _use(self, work: Callable[[Opening[Opened]], Awaitable[T]]) -> T:
        async def with_opening() -> T:
            opening = Opening(self._open, lambda opened: opened.close(), check=self._refuse_to_migrate)
            try:
                return await work(opening)
            finally:
                await opening.release()

        return asyncio.run(with_opening())

    async def _open(self) -> Opened:
        return await open_engine(self.url, self.settings, clock=self.clock, rng=system_rng())

    async def _refuse_to_migrate(self) -> None:
        await refuse_to_migrate(self.url, creates=False)

    def adopt(self, *, url: str, namespace: str, settings: Settings) -> None:
        """Work where an app does. What its code says about that is as good as an option, also in what is advised."""
        if url != resolve_url(None, read_settings()[0]):  # what is wrong with it the app has said
            self.given_url = url
        if namespace != self.namespace:
            self.given_namespace = namespace
        self._settings = settings

    def warn(self, text: str) -> None:
        """Say in a line on the standard error what may not have been meant. The command goes on."""
        message = " ".join(self.advise(text).split())
        line = json.dumps({"warning": message}) if self.is_json else f"windlass: {escape(message)}"
        click.echo(line, err=True)

    def advise(self, text: str) -> str:
        """The text with the options given to this command in every command it names: typed, they mean the same."""
        options = ""
        if self.given_url is not None:
            options += f"--url {shlex.quote(_without_password(self.given_url))} "
        if self.given_namespace is not None:
            options += f"--namespace {shlex.quote(self.given_namespace)} "
        return ADVICE.sub(lambda _: f"windlass {options}", text)

    def refuse_missing_file(self) -> None:
        if is_missing(self.location):
            hint = "Name another with --url, or create it: windlass migrate"
            raise NotFound("database", self.location.target, hint=hint)


async def _with(open: OpenEngine, work: Callable[[Opened], Awaitable[T]]) -> T:
    return await work(await open())


def _without_password(url: str) -> str:
    """What may be shown. With a password left out a command fails, and does not touch another database."""
    try:
        location = parse_url(url)
    except InvalidInput:  # which never says what it refuses: there may be a password in it
        return "URL"
    return location.shown if location.kind == "postgresql" else url


def is_missing(location: Location) -> bool:
    """Whether the database is a file that does not exist, and would be created by opening it."""
    return location.kind == "sqlite" and location.target != ":memory:" and not Path(location.target).exists()


class Text(click.ParamType[str]):
    """Any text, literally, as long as it is text: bytes that are not UTF-8 cannot match anything stored."""

    name = "text"

    def __init__(self, check: Callable[[str], str] | None = None) -> None:
        self._check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if any("\ud800" <= character <= "\udfff" for character in text):
            self.fail("it holds bytes that are not UTF-8.", param, ctx)
        if self._check is None:
            return text
        try:
            return self._check(text)
        except InvalidInput as refused:
            self.fail(str(refused), param, ctx)


def _keep(field: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            setattr(ctx.ensure_object(Session), field, value)

    return keep


def _check_where(namespace: str) -> str:
    return namespace if namespace == EVERY_NAMESPACE else check_namespace(namespace)


def shared_options(command: Command) -> Command:
    """Add the options that may stand in front of a command's name as well as behind it."""
    for option in (
        click.option(
            "--json", "is_json", is_flag=True, default=None, callback=_keep("is_json"), expose_value=False,
            help="Answer in JSON, with stable names and times in UTC.",
        ),
        click.option(
            "--namespace", type=Text(_check_where), callback=_keep("given_namespace"), expose_value=False,
            help="The namespace to look in.  [default: default]",
        ),
        click.option(
            "--url", type=Text(), callback=_keep("given_url"), expose_value=False,
            help="The database: file, postgresql://… or grpc://…  [default: WINDLASS_URL, windlass.toml, windlass.db]",
        ),
    ):  # fmt: skip
        command = option(command)
    return command

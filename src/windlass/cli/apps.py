"""The app a command is about: MODULE:APP, imported from the current folder."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path

from windlass.api.service import Control, Graphs, Runs
from windlass.app import App
from windlass.cli.session import OpenEngine, Session
from windlass.client.handle import Door
from windlass.errors import InvalidInput, NotAllowed, NotFound
from windlass.runtime import Ids, system_rng
from windlass.settings import parse_url


def check_target(text: str) -> str:
    """MODULE:APP, both made of Python's identifiers."""
    module, colon, name = text.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise InvalidInput(
            f"{text[:60]!a} is not MODULE:APP, such as shop:app for the app in shop.py.",
            reason="invalid_option",
            path="MODULE:APP",
        )
    return text


def take_app(session: Session, target: str) -> App:
    """Load the app; from here on the session works where the app does."""
    if session.given_url is not None:
        parse_url(session.given_url)
        os.environ["WINDLASS_URL"] = session.given_url  # what App() reads unless it names a database itself
    app = load_app(target)
    _refuse_other(app, session, target=target)
    session.adopt(url=app._url, namespace=app._namespace, settings=app._settings)
    return app


def door_of(app: App, open: OpenEngine, session: Session) -> Door:
    """What the client asks through: the app's declarations and codec, over the engine this session opens."""

    async def runs() -> Runs:
        return (await open()).runs

    async def control() -> Control:
        return (await open()).control

    async def graphs() -> Graphs:
        return (await open()).graphs

    return Door(
        runs=runs,
        control=control,
        to_change=open,
        namespace=app._namespace,
        codec=app._codec,
        registry=app._registry,
        clock=session.clock,
        graphs=graphs,
        new_id=Ids(session.clock, system_rng()).message,
        worker_command=app._worker_command,
    )


def load_app(target: str) -> App:
    """Import the module from the current folder and take the app out of it. Raises what one line can say."""
    module_name, _, name = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        # What a module prints is no answer of ours: `ID=$(windlass start …)` and --json are read by programs.
        with redirect_stdout(sys.stderr):
            found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name + ".").startswith(error.name + "."):
            hint = f"It is looked for in {Path.cwd()} and where Python looks."
            raise NotFound("module", module_name, hint=hint) from None
        raise _import_failed(module_name, error) from None
    except (Exception, SystemExit) as error:
        raise _import_failed(module_name, error) from None
    for part in name.split("."):
        if not hasattr(found, part):
            apps = [key for key, value in vars(found).items() if isinstance(value, App)]
            raise NotFound(f"{part!r} in module", module_name, close=[f"{module_name}:{app}" for app in apps[:3]])
        found = getattr(found, part)
    if not isinstance(found, App):
        raise InvalidInput(
            f"{target} is of type {type(found).__name__}, not a windlass.App.",
            reason="invalid_option",
            path="MODULE:APP",
        )
    return found


def _import_failed(module: str, error: BaseException) -> NotAllowed:
    """Say where it broke: the innermost line of the user's own files, not of the import machinery."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    if isinstance(error, SyntaxError) and error.filename is not None:
        where = f"{Path(error.filename).name}:{error.lineno}"
    else:
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else module
    return NotAllowed(f"Module {module!r} cannot be imported ({where}): {type(error).__name__}: {error}")


def _refuse_other(app: App, session: Session, *, target: str) -> None:
    """Options that the app's own code overrules are refused: a command must not quietly use another database."""
    if session.given_url is not None and app._url != session.given_url:
        chosen = parse_url(app._url).shown
        raise InvalidInput(
            f"{target} names its database itself ({chosen}); leave --url out, or write App() without one.",
            reason="invalid_option",
            path="--url",
        )
    if session.given_namespace is not None and app._namespace != session.given_namespace:
        raise InvalidInput(
            f"{target} works in namespace {app._namespace!r}; --namespace cannot change that.",
            reason="invalid_option",
            path="--namespace",
        )

"""Does a command that the command line advises do what was meant, typed as it stands?"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.integration.cli.scene import Scene, declare_order
from tests.integration.cli.test_show import claim_of
from windlass.cli.main import cli
from windlass.cli.session import Session
from windlass.cli.terminal import wrapped
from windlass.model.commands import HoldRun
from windlass.model.failure import Failure, FailureKind
from windlass.testing.harness import Harness

COMMAND = re.compile(r"^ *(?:.*: )?windlass (--url .*)$", re.MULTILINE)


def advised(text: str) -> list[str]:
    """The command a text advises, as a shell would split it, without the name of the program."""
    found = COMMAND.search(text)
    assert found is not None, text
    return shlex.split(found[1])


def test_what_creates_a_missing_database_creates_that_one(folder: Path) -> None:
    (folder / "some where").mkdir()
    there = Scene("some where/it's here.db")
    for command in (["doctor"], ["runs"]):
        refused = there.run(*command)
        assert refused.exit_code == 1
        words = advised(refused.stdout + refused.stderr)
        assert words == ["--url", there.url, "migrate"]

    assert Scene("another.db").run(*words).exit_code == 0  # the last --url counts
    assert [path.name for path in folder.iterdir()] == ["some where"]
    assert Path(there.url).exists()


@pytest.mark.parametrize("command", ["explain", "show"])
def test_what_lets_a_paused_run_go_on_finds_it(folder: Path, command: str) -> None:
    there = Scene("e.db")

    async def hold(harness: Harness) -> str:
        handle = await harness.start(declare_order(harness), "7")
        (claimed,) = await harness.opened.work.claim_runs(claim_of(harness))
        reason = Failure(kind=FailureKind.DRIFT, type="ReplayMismatch", message="The code changed under it.")
        await harness.opened.work.hold_run(
            HoldRun(namespace="default", run_id=claimed.run_id, token=claimed.token, reason=reason)
        )
        return handle.id

    run_id = there.play(hold, has_worker=False)

    shown = there.shown(command, run_id, "--namespace", "default")
    words = advised(shown)

    assert words == ["--url", "e.db", "--namespace", "default", "resume", run_id]
    assert Scene("another.db").run(*words).exit_code == 0
    assert there.json("show", run_id)["status"] == "pending"


def test_without_options_there_is_nothing_to_insert() -> None:
    assert Session().advise("Then: windlass resume run_1") == "Then: windlass resume run_1"


def test_other_words_are_left_alone_and_so_are_passwords() -> None:
    session = Session()
    session.given_url = "postgresql://shop:secret@host/db"

    advice = session.advise('"windlass resume run_1", windlass worker MODULE:APP, windlass.db')

    assert "secret" not in advice
    assert advice.endswith("worker MODULE:APP, windlass.db")
    session.given_url = "postgres//shop:secret@host/db"
    assert session.advise("windlass migrate") == "windlass --url URL migrate"


def test_every_command_that_takes_a_database_is_advised_with_it() -> None:
    session = Session()
    session.given_url = "e.db"
    known = [name for name in cli.commands if name not in ("bench", "demo")]  # which make their own

    assert {name: session.advise(f"windlass {name} x") for name in known} == {
        name: f"windlass --url e.db {name} x" for name in known
    }


def test_what_resumes_a_queue_opens_that_gate(folder: Path) -> None:
    there = Scene("e.db")
    there.shown("migrate")

    words = advised(there.shown("pause", "--queue", "billing", "--namespace", "blue"))

    assert words == ["--url", "e.db", "--namespace", "blue", "resume", "--queue", "billing"]
    assert Scene("another.db").shown(*words) == "Queue 'billing' goes on.\n"


def test_a_command_with_an_option_in_place_of_a_run_stays_whole() -> None:
    *_, last = wrapped("It is paused, and then: windlass resume --queue billing", width=30)

    assert last == "windlass resume --queue billing"


def test_an_inserted_option_keeps_the_command_whole() -> None:
    session = Session()
    session.given_url, session.given_namespace = "some where/it's.db", "blue"

    *_, last = wrapped(session.advise("Let it go on, please: windlass resume run_1"), width=30)

    assert last == f"windlass --url {shlex.quote(session.given_url)} --namespace blue resume run_1"

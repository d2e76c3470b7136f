"""Does `windlass send` put into the inbox what was typed, once, and say so when it may not have been meant?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.integration.cli.scene import Scene, a_sale, a_sale_to_approve, going_on
from windlass.cli.main import cli
from windlass.codec import Codec

SHOP = """
import windlass

app = windlass.App()
app.event("paid", int)
app.event("packed", str)
"""


SEALING = """
import windlass
from tests.integration.cli.test_send import Backwards
from windlass.codec import Codec

app = windlass.App(codec=Codec(hook=Backwards()))
app.event("paid", int)
"""


class Backwards:
    """A codec's hook that only its own program can undo."""

    def seal(self, data: bytes, /) -> bytes:
        return b"\xff" + data[::-1]

    def open(self, data: bytes, /) -> bytes:
        return data[1:][::-1]


@pytest.fixture
def shop(module: Path) -> str:
    module.write_text(SHOP)
    return "shop:app"


def test_an_event_is_kept_received_and_wakes_the_run(either: Scene) -> None:
    run_id = either.play(a_sale)

    assert either.shown("send", run_id[:-1], "paid", "12") == f"paid sent to {run_id} (sell).\n"

    (message,) = either.json("show", run_id)["messages"]
    assert (message["kind"], message["name"], message["payload"], message["received_by"]) == ("event", "paid", 12, None)
    assert either.json("show", run_id)["status"] == "pending"
    either.play(going_on)
    (message,) = either.json("show", run_id)["messages"]
    assert message["received_by"] == "receive/paid"


def test_the_same_id_again_is_the_same_event(either: Scene) -> None:
    run_id = either.play(a_sale)

    either.shown("send", run_id, "paid", "12", "--id", "bank-1")
    again = either.shown("send", run_id, "paid", "12", "--id", "bank-1")

    assert again == f"paid was sent before to {run_id} (sell).\n"
    assert either.json("send", run_id, "paid", "12", "--id", "bank-1") == {
        "id": run_id,
        "workflow": "sell",
        "event": "paid",
        "message": "bank-1",
        "is_repeat": True,
    }
    assert "'bank-1' was used for another message" in either.refused("send", run_id, "paid", "13", "--id", "bank-1")
    assert len(either.json("show", run_id)["messages"]) == 1


def test_with_a_key_there_is_no_run_in_front(scene: Scene) -> None:
    run_id = scene.play(a_sale)

    scene.shown("send", "--key", "sale-7", "paid", "12")
    scene.shown("send", "--key", "sale-7", "noted", "null")

    assert [message["payload"] for message in scene.json("show", run_id)["messages"]] == [12, None]


def test_a_payload_is_json_and_a_word_that_is_not_is_text(scene: Scene) -> None:
    run_id = scene.play(a_sale)

    for text in ('{"a": [1]}', "word", '"12"', "12"):
        scene.shown("send", run_id, "paid", text)

    assert [message["payload"] for message in scene.json("show", run_id)["messages"]] == [{"a": [1]}, "word", "12", 12]


def test_an_event_the_run_does_not_wait_for_is_kept_with_a_warning(scene: Scene) -> None:
    run_id = scene.play(a_sale)

    result = scene.run("send", run_id, "piad", "12")

    assert (result.exit_code, result.stdout) == (0, f"piad sent to {run_id} (sell).\n")
    assert result.stderr == f"windlass: Run {run_id} does not wait for 'piad' now. Did you mean 'paid'?\n"
    assert scene.run("send", run_id, "paid", "12").stderr == ""


def test_a_run_that_waits_for_no_event_gets_any_without_a_warning(scene: Scene) -> None:
    run_id = scene.play(a_sale_to_approve)

    assert scene.run("send", run_id, "packed", "box").stderr == ""


def test_with_an_app_name_and_payload_are_checked_before_anything_is_sent(scene: Scene, shop: str) -> None:
    run_id = scene.play(a_sale)

    unknown = scene.refused("send", run_id, "piad", "12", "--app", shop)
    wrong = scene.refused("send", run_id, "paid", "twelve", "--app", shop)

    assert unknown.startswith("Event 'piad' does not exist. Did you mean 'paid'")
    assert wrong == "Event 'paid': Expected int, got str at $.payload."
    assert scene.json("show", run_id)["messages"] == []
    scene.shown("send", run_id, "paid", "12", "--app", shop)
    scene.shown("send", run_id, "packed", "12", "--app", shop)  # which is declared as text
    assert [message["payload"] for message in scene.json("show", run_id)["messages"]] == [12, "12"]


def test_with_an_app_the_payload_is_sealed_by_its_codec(scene: Scene, module: Path) -> None:
    module.write_text(SEALING)
    codec = Codec(hook=Backwards())
    run_id = scene.play(a_sale, codec=codec)

    scene.shown("send", run_id, "paid", "12", "--app", "shop:app")
    scene.play(going_on, codec=codec)

    steps = {step["key"]: step["status"] for step in scene.json("show", run_id)["steps"]}
    assert steps == {"receive/paid": "completed", "approval": "waiting"}


def test_an_event_for_a_run_that_is_over_is_refused(scene: Scene) -> None:
    run_id = scene.play(a_sale)
    scene.shown("cancel", run_id)

    refused = scene.refused("send", run_id, "paid", "12")

    assert "is cancelled; one that can still receive an event was expected." in refused


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["run_0"],
        ["run_0", "paid"],
        ["run_0", "paid", "PAYLOAD"],
        ["run_0", "paid", "1", "2"],
        ["--key", "sale-7"],
        ["--key", "sale-7", "paid"],
        ["--key", "sale-7", "paid", "1", "2"],
        ["--key", "sale-7", "run_0", "paid"],
        ["run 0", "paid", "1"],
        ["run_0", "", "1"],
        ["run_0", "a b", "1"],
        ["run_0", "paid", '{"half'],
        ["run_0", "paid", "1e999"],
        ["run_0", "paid", "bad\udcff"],
        ["run_0", "paid", "1", "--id", ""],
        ["run_0", "paid", "1", "--id", "x" * 256],
        ["run_0", "paid", "1", "--app", "shop"],
    ],
)
def test_words_that_cannot_be_meant_are_refused(scene: Scene, args: list[str]) -> None:
    scene.shown("migrate")

    assert scene.refused("send", *args, exit_code=2).endswith("Try: windlass send --help")


def test_a_run_that_is_not_there_is_one_line(scene: Scene) -> None:
    scene.shown("migrate")

    assert scene.refused("send", "run_ZZZZ", "paid", "12") == "run 'run_ZZZZ' does not exist."
    assert "does not exist" in scene.refused("send", "--key", "nobody", "paid", "12")


def test_nothing_is_sent_unless_it_was_said_also_not_by_typing_what_is_advised(scene: Scene) -> None:
    run_id = scene.play(a_sale)
    (advice,) = re.findall(r"windlass .*? (send \S+ paid PAYLOAD)", " ".join(scene.shown("explain", run_id).split()))

    verbatim = scene.refused(*advice.split(), exit_code=2)
    without = scene.refused("send", run_id, "paid", exit_code=2)

    assert verbatim.startswith("PAYLOAD stands for what the event brings, in JSON: 12, or null if that is nothing.")
    assert without.startswith("Name a run, an event and its payload, null if it has none: RUN EVENT PAYLOAD")
    assert scene.json("show", run_id)["messages"] == []
    scene.shown(*advice.replace("PAYLOAD", "12").split())
    assert [message["payload"] for message in scene.json("show", run_id)["messages"]] == [12]


def test_an_id_that_cannot_be_meant_is_named(scene: Scene) -> None:
    assert "--id" in scene.refused("send", "run_0", "paid", "1", "--id", "", exit_code=2)
    assert "key" not in scene.refused("send", "run_0", "paid", "1", "--id", "", exit_code=2)


def test_a_negative_payload_goes_behind_dashes(scene: Scene) -> None:
    run_id = scene.play(a_sale)

    refused = scene.refused("send", run_id, "paid", "-5", exit_code=2)

    assert refused == f"Negative numbers go behind --: windlass --url {scene.url} send {run_id} paid -- -5"
    scene.shown("send", run_id, "paid", "--", "-5")
    assert [message["payload"] for message in scene.json("show", run_id)["messages"]] == [-5]


def test_an_app_that_names_its_database_is_followed_also_in_what_is_advised(module: Path, folder: Path) -> None:
    module.write_text("import windlass\napp = windlass.App('its own.db', namespace='blue')\napp.event('paid', int)\n")

    result = CliRunner().invoke(cli, ["send", "run_0", "paid", "12", "--app", "shop:app", "--json"])

    error = json.loads(result.stderr)["error"]
    assert error["message"].endswith("create it: windlass --url 'its own.db' --namespace blue migrate")
    assert not (folder / "its own.db").exists()

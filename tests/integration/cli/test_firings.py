"""Does `windlass firings` say what has fired because of what, and what became of it?"""

from __future__ import annotations

import pytest

from tests.integration.cli.scene import Scene, a_sale
from tests.integration.cli.signal_samples import fire, make_item, make_signal, move
from tests.integration.cli.test_schedules import on_a_terminal


def test_a_firing_is_queued_and_then_done(either: Scene) -> None:
    either.shown("migrate")
    item = make_item(either)
    signal = make_signal(either, "--item", item, "--enters", "ready", "--task", "Begin")
    assert either.shown("firings") == "Nothing has fired yet.\n"
    move(either, item, "ready")

    (queued,) = either.json("firings")["firings"]
    fire(either, after="3s")
    (done,) = either.json("firings", signal[:20], "--status", "done")["firings"]

    assert (queued["status"], queued["attempt"], queued["task"]) == ("queued", 0, None)
    assert queued["id"] == done["id"]
    assert (done["signal"], done["subject"], done["from"], done["to"]) == (signal, item, "backlog", "ready")
    assert done["task"] == either.json("items", "show", item)["tasks"][0]["id"]
    header, line = either.shown("firings").splitlines()
    assert header.split() == ["id", "signal", "subject", "change", "status", "attempt", "outcome", "age"]
    assert line.split() == [
        done["id"], signal, item, "backlog", "→", "ready", "done", "1", done["task"], "3", "s",
    ]  # fmt: skip
    assert either.shown("firings", "--status", "failed") == "No firings match.\n"


def test_one_that_fails_says_why_and_pauses_its_signal(either: Scene) -> None:
    run = either.play(a_sale)
    item = make_item(either)
    signal = make_signal(either, "--item", item, "--enters", "ready", "--send", f"{run}:paid", "--payload", "12")
    either.shown("cancel", run)
    move(either, item, "ready")
    fire(either)

    (failed,) = either.json("firings", "--status", "failed")["firings"]

    assert failed["error"].startswith(f"Run {run} is cancelled")
    assert either.json("signals", "show", signal)["status"] == "paused"
    listed = either.shown("signals", COLUMNS="200").splitlines()
    assert listed[1].endswith("1 failed")
    assert listed[2].startswith(f"{signal}: paused: Run {run} is cancelled")


def test_an_event_arrives_with_what_was_typed(scene: Scene) -> None:
    run = scene.play(a_sale)
    item = make_item(scene)
    make_signal(scene, "--item", item, "--enters", "ready", "--send", f"{run}:paid", "--payload", "12")
    move(scene, item, "ready")

    fire(scene)

    (message,) = scene.json("show", run)["messages"]
    assert (message["name"], message["payload"]) == ("paid", 12)


def test_a_time_comes_again_and_again(scene: Scene) -> None:
    scene.shown("migrate")
    make_signal(scene, "--every", "1h")

    fire(scene, after="1h")
    fire(scene, after="1h")

    assert scene.json("signals")["signals"][0]["fired"] == 2
    assert scene.shown("firings").count("the time came") == 2


def test_a_narrow_screen_has_lines_for_each(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.shown("migrate")
    item = make_item(scene)
    signal = make_signal(scene, "--item", item, "--enters", "ready", "--task", "Begin")
    move(scene, item, "ready")
    fire(scene, after="3s")
    task = scene.json("items", "show", item)["tasks"][0]["id"]

    assert on_a_terminal(scene, monkeypatch, "firings", columns=80) == [
        f"done  {item} · backlog → ready · 3 s ago",
        f"      {signal}: led to {task}",
    ]
    header, line = on_a_terminal(scene, monkeypatch, "firings", columns=120)
    assert header.startswith("signal          subject         change")
    assert line.startswith(f"{signal[:14]}  {item[:14]}  backlog → ready  done")


def test_pages_follow_one_another(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.shown("migrate")
    make_signal(scene, "--item", "any", "--enters", "ready")
    for number in range(3):
        scene.clock.advance("1s")
        move(scene, make_item(scene, f"Number {number}"), "ready")

    first = scene.json("firings", "--limit", "2")
    second = scene.json("firings", "--limit", "2", "--before", first["next"])

    assert [len(page["firings"]) for page in (first, second)] == [2, 1]
    assert second["next"] is None
    older = on_a_terminal(scene, monkeypatch, "firings", "--limit", "2", columns=80)[-1]
    assert older == f"older: windlass --url shop.db firings --before {first['next']}"
    assert "is not `next` of a page" in scene.refused("firings", "--before", "nonsense", exit_code=2)


def test_a_signal_that_is_not_there_is_refused(scene: Scene) -> None:
    scene.shown("migrate")

    assert scene.refused("firings", "sig_7Z") == "signal 'sig_7Z' does not exist."
    assert "'order' is no signal id" in scene.refused("firings", "order", exit_code=2)

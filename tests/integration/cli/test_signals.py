"""Does `windlass signals` say what each watches and does, and can it be made, changed and called off by hand?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.scene import Scene
from tests.integration.cli.signal_samples import a_shop, an_alarm, another_order, fire, make_item, make_signal, move
from tests.integration.cli.test_schedules import on_a_terminal

SHOP = """
import windlass

app = windlass.App()


@app.workflow(queue="slow", version="2")
async def report(ctx: windlass.Context, region: str, count: int = 1) -> str: ...


@app.workflow
async def clean(ctx: windlass.Context) -> None: ...


@app.workflow
async def page(ctx: windlass.Context, firing: windlass.Firing) -> None: ...
"""


def test_a_signal_is_made_fires_and_is_shown(either: Scene) -> None:
    either.play(a_shop)
    told = either.shown("signals", "create", "--workflow", "order", "--enters", "failed", "--start", "page_on_call")
    signal = told.split()[0]
    assert told == (
        f"{signal} is armed: when a run of 'order' enters failed, start 'page_on_call', once for each run.\n"
    )
    run = either.play(another_order)
    fire(either)

    (listed,) = either.json("signals")["signals"]
    shown = either.shown("signals", "show", signal, COLUMNS="120")

    assert (listed["status"], listed["fired"], listed["queued"]) == ("armed", 1, 0)
    started = either.json("firings", signal)["firings"][0]["run"]
    assert shown.startswith(f"armed  {signal}\n  When a run of 'order' enters failed, start 'page_on_call'")
    assert "Fired once\n" in shown
    assert f"fired: {run} running → failed, {started}" in shown
    assert either.shown("show", signal, COLUMNS="120") == shown


@pytest.mark.parametrize(
    ("options", "watches", "does"),
    [
        ("--item any --enters done,failed --only-say", "when any item enters done or failed", "only say so"),
        ("--item any --enters blocked", "when any item enters blocked", "add the task 'Follow up:"),
        ("--item any --enters done --enters failed --task Look", "enters done or failed", "add the task 'Look'"),
        ("--at 2026-12-01T09:00:00Z --only-say", "at 2026-12-01 09:00 UTC", "only say so"),
        ("--every 1h --start page_on_call", "every 1 h", "start 'page_on_call'"),
        ("--every 1h --start page_on_call --queue ops", "every 1 h", "start 'page_on_call' in queue 'ops'"),
    ],
)
def test_what_is_typed_is_said_back_in_words(scene: Scene, options: str, watches: str, does: str) -> None:
    scene.play(a_shop)

    made = scene.json("signals", "create", *options.split(" "))

    assert watches in made["watches"]
    assert made["does"].startswith(does)
    assert (made["status"], made["is_new"], made["already"]) == ("armed", True, False)


def test_every_repeats_and_arguments_stand_in_place_of_the_firing(scene: Scene) -> None:
    scene.play(a_shop)

    hourly = scene.json("signals", "create", "--every", "1h", "--start", "page_on_call")
    given = scene.json("signals", "create", "--every", "1h", "--start", "page_on_call", "7", "ann")
    nothing = scene.json("signals", "create", "--every", "1h", "--start", "page_on_call", "--no-arguments")

    assert (hourly["repeats"], hourly["action"]["input"]) == (True, None)
    assert "ann" in str(given["action"]["input"])
    assert nothing["action"]["input"] is not None


def test_with_an_app_what_is_started_is_as_the_code_says(scene: Scene, module: Path) -> None:
    module.write_text(SHOP)
    scene.shown("migrate")
    watch = ["signals", "create", "--item", "any", "--enters", "done", "--app", "shop:app", "--start"]

    cleaned, paged = scene.json(*watch, "clean"), scene.json(*watch, "page", "--payload", '{"who": "ann"}')
    reported = scene.json(*watch, "report", "7", "3", "--queue", "quick")

    assert cleaned["action"]["input"] is not None  # it takes no firing
    assert paged["action"]["input"] is None
    assert reported["action"]["input"] == {"$tuple": ["7", 3]}  # text where the code declares text
    assert [(made["action"]["queue"], made["action"]["version"]) for made in (cleaned, reported)] == [
        ("default", None),
        ("quick", "2"),
    ]
    assert "a signal hands over the firing" in scene.refused(*watch, "report")
    assert "Expected int, got str at $.count" in scene.refused(*watch, "report", "7", "many")
    assert "Did you mean 'report'?" in scene.refused(*watch, "reprot")


def test_a_signal_in_code_says_where(scene: Scene) -> None:
    scene.play(an_alarm)

    (signal,) = scene.json("signals")["signals"]

    assert (signal["is_declared"], signal["does"]) == (True, "start 'alarm'")
    assert "declared in" in scene.shown("signals", "show", signal["id"])
    deleted = scene.run("signals", "delete", signal["id"], "--yes")
    assert "the next worker of that code makes it anew" in deleted.stderr


def test_no_event_is_promised_to_a_run_that_is_over(scene: Scene) -> None:
    scene.play(a_shop)
    item, run = make_item(scene), scene.json("runs")["runs"][0]["id"]

    told = scene.refused("signals", "create", "--item", item, "--enters", "ready", "--send", f"{run}:paid")

    assert told.startswith(f"Run {run} is failed")


def test_what_is_in_the_state_already_is_said(scene: Scene) -> None:
    item = _an_item(scene)
    move(scene, item, "ready")
    watch = ["signals", "create", "--item", item, "--enters", "ready", "--only-say"]

    told = scene.shown(*watch, "--repeat")

    assert told.splitlines()[1] == "  It is ready already; that did not count. --since-beginning counts it."
    assert scene.json(*watch)["already"] is True
    assert len(scene.shown(*watch, "--since-beginning").splitlines()) == 1
    fire(scene)
    assert scene.json("signals", "--status", "fired")["signals"][0]["fired"] == 1


def test_what_can_never_happen_is_said(scene: Scene) -> None:
    run = scene.play(a_shop)

    lines = scene.shown("signals", "create", "--run", run, "--enters", "completed").splitlines()

    assert " is resolved, and will never fire: " in lines[0]
    assert "was failed already" in lines[1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", "Say what to watch: --item ITEM"),
        ("--item any --workflow order --enters failed", "one of them only"),
        ("--item any", "Say when, with --enters: it is empty; states are backlog,"),
        ("--item any --enters blockd", "Did you mean 'blocked'?"),
        ("--workflow order --enters blocked", "states are waiting, pending"),
        ("--every 1h --enters failed", "A time enters no state"),
        ("--every 0s", "is not a duration"),
        ("--at tomorrow", "is not a time with its zone"),
        ("--at 2026-12-01T09:00:00Z --repeat", "A point in time comes once"),
        ("--workflow order --enters failed --task Look", "watch one with --item"),
        ("--item any --enters done --task Look --only-say", "Say one thing to do"),
        ("--item any --enters done 7", "is an argument of a workflow, and none is started"),
        ("--item any --enters done --queue ops", "--queue is of runs that are started"),
        ("--item any --enters done --no-arguments", "--no-arguments is of runs that are started"),
        ("--item any --enters done --start page 7 --no-arguments", "not both"),
        ("--item any --enters done --start page 7 --payload 1", "--payload is handed over with the firing"),
        ("--at 2099-12-01T09:00:00Z", "is more than 10 years ahead"),
        ("--item any --enters done --send paid", "'paid' is not RUN:EVENT"),
        ("--item itm_x --enters done", "'itm_x' is no item id"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_line(scene: Scene, options: str, told: str) -> None:
    scene.shown("migrate")

    assert told in scene.refused("signals", "create", *options.split(), exit_code=2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--item itm_7Z --enters done", "item 'itm_7Z' does not exist."),
        ("--run run_7Z --enters failed", "run 'run_7Z' does not exist."),
        ("--pipeline payments --enters attention", "pipeline 'payments' does not exist."),
        ("--workflow ordr --enters failed", "Workflow 'ordr' does not exist."),
        ("--item any --enters done --start pag", "Workflow 'pag' does not exist."),
    ],
)
def test_what_is_not_there_cannot_be_watched_or_started(scene: Scene, options: str, told: str) -> None:
    scene.play(a_shop)

    assert scene.refused("signals", "create", *options.split()).startswith(told)


def test_the_same_key_is_the_same_signal(scene: Scene) -> None:
    scene.shown("migrate")
    watch = ["signals", "create", "--item", "any", "--only-say", "--key", "watcher"]
    first = scene.json(*watch, "--enters", "done")

    again = scene.shown(*watch, "--enters", "done")

    assert again.startswith(f"{first['id']} was made before, and is armed: ")
    assert first["id"] in scene.refused(*watch, "--enters", "failed")


def test_a_table_into_a_pipe_and_lines_on_a_narrow_screen(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    item = _an_item(scene)
    signal = make_signal(scene, "--item", item, "--enters", "blocked", "--task", "Unblock it")

    assert scene.shown("signals").splitlines() == [
        "id                              status  watches"
        + " " * 50
        + "does                       how often  fired  last fired",
        f"{signal}  armed   when item {item} enters blocked  add the task 'Unblock it'  once           0",
    ]
    assert on_a_terminal(scene, monkeypatch, "signals", columns=80) == [
        f"{signal[:14]}  armed  when item {item[:14]}… enters blocked, add the task",
        "                       'Unblock it', once · not fired yet",
    ]
    assert on_a_terminal(scene, monkeypatch, "signals", columns=130)[0].startswith("id")


def test_a_list_is_of_what_is_watched(scene: Scene) -> None:
    scene.play(a_shop)
    item = make_item(scene)
    on_item = make_signal(scene, "--item", item, "--enters", "blocked")
    on_any = make_signal(scene, "--item", "any", "--enters", "blocked")
    on_workflow = make_signal(scene, "--workflow", "order", "--enters", "failed")
    on_time = make_signal(scene, "--every", "1h")

    def listed(*options: str) -> list[str]:
        return [signal["id"] for signal in scene.json("signals", *options)["signals"]]

    assert listed("--subject", item[:20]) == [on_item]
    assert listed("--subject", "any") == [on_any]
    assert listed("--subject", "order") == [on_workflow]
    assert listed("--subject", "order", "--kind", "pipeline") == []
    assert listed("--kind", "time") == [on_time]
    assert set(listed("--kind", "item")) == {on_item, on_any}
    assert len(listed("--limit", "3")) == 3
    assert scene.shown("signals", "--status", "cancelled") == "No signals match.\n"
    assert "A time has no subject" in scene.refused("signals", "--kind", "time", "--subject", "x", exit_code=2)


def test_a_paused_signal_keeps_what_happens(either: Scene) -> None:
    either.shown("migrate")
    item = make_item(either)
    signal = make_signal(either, "--item", item, "--enters", "ready", "--task", "Begin")

    told = either.shown("pause", signal[:20], "--by", "ann", "--note", "not yet")
    move(either, item, "ready")
    fire(either)

    assert told.startswith(f"{signal} is paused: what happens from now on waits until it is resumed. Then: windlass ")
    assert either.shown("signals", "pause", signal).startswith(f"{signal} was paused before: not yet.")
    listed = either.shown("signals").splitlines()
    assert listed[1].endswith("1 waits")
    assert listed[2] == f"{signal}: paused by ann: not yet"
    assert "by ann: not yet" in either.shown("explain", signal, COLUMNS="200")
    assert either.shown("resume", signal).endswith("once. 1 firing that waited is worked now.\n")
    fire(either)
    assert either.json("items", "show", item)["tasks"][0]["title"] == "Begin"
    again = either.shown("resume", signal)
    assert f"{signal} is armed again, for what happens from now on" in again
    assert either.shown("resume", signal).startswith(f"{signal} was not paused: ")


def test_a_cancelled_signal_is_over_for_good(scene: Scene) -> None:
    scene.shown("migrate")
    signal = make_signal(scene, "--item", "any", "--enters", "done")

    assert scene.shown("cancel", signal) == f"{signal} is cancelled, for good.\n"
    assert scene.shown("signals", "cancel", signal) == f"{signal} was cancelled before.\n"
    assert "That is for good" in scene.refused("resume", signal)
    assert scene.json("explain", signal)["status"] == "cancelled"
    assert "'sig_x' is no signal id" in scene.refused("cancel", "sig_x", exit_code=2)


def test_what_is_changed_is_said(scene: Scene) -> None:
    scene.shown("migrate")
    signal = make_signal(scene, "--item", "any", "--enters", "done", "--only-say")

    changed = scene.shown("signals", "update", signal, "--enters", "failed,cancelled", "--repeat")

    assert changed == f"{signal} is changed: when any item enters cancelled or failed, only say so, each time.\n"
    again = scene.json("signals", "update", signal, "--enters", "failed,cancelled")
    assert again["has_changed"] is False
    assert scene.json("signals", "update", signal, "--payload", '{"who": "ann"}')["payload"] == {"who": "ann"}
    assert "Say what to change" in scene.refused("signals", "update", signal, exit_code=2)
    assert "states are backlog" in scene.refused("signals", "update", signal, "--enters", "gone", exit_code=2)
    assert "states are backlog" in scene.refused("signals", "update", signal, "--enters", ",", exit_code=2)


def test_a_deleted_signal_is_gone(scene: Scene) -> None:
    scene.shown("migrate")
    signal = make_signal(scene, "--item", "any", "--enters", "done")

    assert "say --yes" in scene.refused("signals", "delete", signal, exit_code=2)
    assert scene.shown("signals", "delete", signal, "--yes") == f"{signal} is deleted; what it did stays.\n"
    assert "does not exist" in scene.refused("signals", "show", signal)
    assert "does not exist" in scene.refused("explain", signal)
    assert scene.shown("signals").startswith("No signals yet.")


def test_an_explanation_says_what_it_waits_for(scene: Scene) -> None:
    item = _an_item(scene)
    signal = make_signal(scene, "--item", item, "--enters", "blocked", "--task", "Unblock it")

    told = scene.json("explain", signal)
    shown = scene.shown("explain", signal)

    assert (told["signal"], told["status"], told["code"]) == (signal, "armed", "armed")
    assert f"Item {item} is backlog, and has not entered blocked since." in told["text"]
    assert shown.startswith(f"armed  {signal}\n  When item")


def test_titles_cannot_move_the_cursor(scene: Scene) -> None:
    scene.shown("migrate")
    signal = make_signal(scene, "--item", "any", "--enters", "done", "--task", "Red \x1b[31malert")

    for args in (["signals"], ["show", signal], ["explain", signal], ["pause", signal], ["resume", signal]):
        assert "\x1b" not in scene.shown(*args)


def _an_item(scene: Scene) -> str:
    scene.shown("migrate")
    return make_item(scene)

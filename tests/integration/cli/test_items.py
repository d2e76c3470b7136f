"""Does `windlass items` make work items, move them, say what is refused, and show what became of them?"""

from __future__ import annotations

import pytest

from tests.integration.cli.scene import Scene
from tests.integration.cli.signal_samples import make_item, make_signal, move
from tests.integration.cli.test_schedules import on_a_terminal


@pytest.fixture(autouse=True)
def database(request: pytest.FixtureRequest) -> None:
    """Commands refuse a file that is not there."""
    scene: Scene = request.getfixturevalue("either" if "either" in request.fixturenames else "scene")
    scene.shown("migrate")


def test_an_item_is_made_moved_and_shown(either: Scene) -> None:
    item = make_item(either, "Move the archive", "--priority", "3", "--data", '{"rack": 4}', "--key", "archive")
    either.clock.advance("2m")

    assert either.shown("items", "move", item, "ready", "--by", "ann", "--note", "rack is free") == (
        f"{item} ('Move the archive') backlog → ready.\n"
    )
    assert either.shown("items").splitlines() == [
        "id                              status  priority  title               age",
        f"{item}  ready          3  Move the archive  2 min",
    ]
    shown = either.shown("items", "show", item, COLUMNS="120").splitlines()
    assert shown[:4] == [
        "ready  Move the archive",
        f"  {item} · priority 3 · made 2 min ago · ready for 0 s · key archive",
        "  {'rack': 4}",
        "  It may go to doing, cancelled.",
    ]
    assert [line[27:] for line in shown[-2:]][-1] == "backlog → ready by ann: rack is free"
    assert either.json("items", "show", item)["log"][-1]["note"] == "rack is free"


def test_a_move_that_is_not_allowed_names_those_that_are(scene: Scene) -> None:
    item = make_item(scene)

    told = scene.refused("items", "move", item, "done")

    assert told.endswith("It may become ready.")
    assert "'gone' is not one of 'backlog', 'ready'" in scene.refused("items", "move", item, "gone", exit_code=2)
    move(scene, item, "ready", "cancelled")
    assert scene.refused("items", "move", item, "ready").endswith("That is for good: cancelled items do not move.")


def test_the_same_key_is_the_same_item(scene: Scene) -> None:
    first = make_item(scene, "Move the archive", "--key", "archive")

    assert make_item(scene, "Move the archive", "--key", "archive") == first
    assert first in scene.refused("items", "create", "Burn it", "--key", "archive")
    move(scene, first, "ready")
    again = scene.shown("items", "create", "Move the archive", "--key", "archive")
    assert again == f"{first} ('Move the archive') was made before; it is ready.\n"


def test_tasks_are_noted_and_ended(scene: Scene) -> None:
    item = make_item(scene)

    task = scene.json("items", "task", item, "Call the hauler", "--data", "5")

    assert (task["item"], task["status"], task["data"]) == (item, "queued", 5)
    assert "open tasks" in scene.shown("items")
    ended = scene.shown("items", "end-task", task["id"], "completed", "--by", "ann", "--note", "was easy")
    assert ended == f"{task['id']} ('Call the hauler') is completed.\n"
    assert scene.shown("items", "end-task", task["id"], "completed") == ended
    assert "is completed" in scene.refused("items", "end-task", task["id"], "failed")
    assert "Invalid task id 'tsk_1'" in scene.refused("items", "end-task", "tsk_1", "failed", exit_code=2)
    shown = scene.shown("items", "show", item, COLUMNS="120")
    assert f"  completed  {task['id']}  Call the hauler · by ann: was easy" in shown
    assert "Tasks: 0 open, 1 over" in shown


def test_the_end_of_an_item_cancels_its_open_tasks(scene: Scene) -> None:
    item = make_item(scene)
    scene.shown("items", "task", item, "Call the hauler")
    move(scene, item, "ready", "doing")

    told = scene.shown("items", "move", item, "done")

    assert told == f"{item} ('Move the archive') doing → done. Its open task is cancelled.\n"
    assert scene.json("items", "show", item)["tasks"][0]["status"] == "cancelled"
    assert "is done" in scene.refused("items", "task", item, "Once more")


def test_deleting_an_item_resolves_what_watches_it(either: Scene) -> None:
    item = make_item(either)
    signal = make_signal(either, "--item", item, "--enters", "blocked")

    assert "say --yes" in either.refused("items", "delete", item, exit_code=2)
    told = either.shown("items", "delete", item, "--yes")

    assert told == f"{item} ('Move the archive') is deleted. 1 signal that watched it is resolved.\n"
    assert either.json("signals", "show", signal)["status"] == "resolved"
    assert "does not exist" in either.refused("items", "show", item)


def test_the_page_of_an_item_has_the_signals_that_watch_it(scene: Scene) -> None:
    item = make_item(scene)
    own = make_signal(scene, "--item", item, "--enters", "blocked", "--task", "Unblock it")
    general = make_signal(scene, "--item", "any", "--enters", "done", "--only-say")

    lines = scene.shown("show", item).splitlines()

    place = lines.index("Signals")
    assert lines[place + 1 : place + 5] == [
        f"  armed  {own}",
        "         when it enters blocked, add the task 'Unblock it', once",
        f"  armed  {general}",
        "         when any item enters done, only say so, once for each item",
    ]


def test_an_id_may_be_cut_short(scene: Scene) -> None:
    first = make_item(scene, "One")
    scene.clock.advance("1d")
    second = make_item(scene, "Two")

    assert scene.json("items", "show", second[:14])["title"] == "Two"
    assert scene.json("items", "show", second.removeprefix("itm_"))["title"] == "Two"
    told = scene.refused("items", "show", "itm_0")
    assert told == f"Several items begin with 'itm_0': {second}, {first}. Write more of the id."
    assert scene.refused("items", "show", "itm_7Z") == "item 'itm_7Z' does not exist."
    assert "'run_1' is no item id" in scene.refused("items", "show", "run_1", exit_code=2)


def test_titles_cannot_move_the_cursor(scene: Scene) -> None:
    item = make_item(scene, "Red \x1b[31malert")

    for args in (["items"], ["items", "show", item], ["items", "move", item, "ready"]):
        shown = scene.shown(*args)
        assert "\x1b" not in shown
        assert "Red \\x1b[31malert" in shown


def test_long_titles_are_cut_on_a_terminal_and_whole_in_a_pipe(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    title = "Move the archive to the new building " * 5
    item = make_item(scene, title.strip())

    header, line = on_a_terminal(scene, monkeypatch, "items", columns=80)

    assert len(line) <= 80
    assert line.startswith(f"{item[:14]}  backlog")
    assert "…" in line
    assert title.strip() in scene.shown("items")
    assert header.split() == ["id", "status", "priority", "title", "age"]


def test_a_list_has_filters_and_pages(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for number in range(3):
        scene.clock.advance("1s")
        made.append(make_item(scene, f"Number {number}"))
    move(scene, made[1], "ready")

    assert [item["id"] for item in scene.json("items", "--status", "ready")["items"]] == [made[1]]
    page = scene.json("items", "--limit", "2")
    assert [item["id"] for item in page["items"]] == [made[2], made[1]]
    assert [item["id"] for item in scene.json("items", "--before", page["next"])["items"]] == [made[0]]
    older = on_a_terminal(scene, monkeypatch, "items", "--limit", "2", columns=80)[-1]
    assert older == f"older: windlass --url shop.db items --before {made[1]}"
    assert scene.shown("items", "--status", "failed") == "No items match.\n"


def test_without_items_it_says_how_to_make_one(scene: Scene) -> None:
    assert "windlass --url shop.db items create" in scene.shown("items")
    assert "windlass items show itm_0" in scene.refused("items", "itm_0", exit_code=2)
    assert "To list them: windlass items" in scene.refused("items", "ls", exit_code=2)

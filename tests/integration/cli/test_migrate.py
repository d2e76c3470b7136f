"""Does `windlass migrate` say from where to where, touch nothing when it only looks, and refuse what is not ours?"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.integration.cli.scene import Scene
from windlass.store.version import newest

KNOWN = newest("sqlite")


def test_a_new_database_is_created_once(scene: Scene, folder: Path) -> None:
    first, second = scene.shown("migrate"), scene.shown("migrate")

    assert first == f"shop.db is created, now schema {KNOWN}.\n"
    assert second == f"shop.db is up to date: schema {KNOWN}.\n"
    assert (folder / "shop.db").exists()


def test_check_only_looks(scene: Scene, folder: Path) -> None:
    behind = scene.run("migrate", "--check")
    (folder / "empty.db").touch()
    empty = scene.run("migrate", "--check", "--url", "empty.db")

    assert (behind.exit_code, behind.stdout) == (
        1,
        f"shop.db does not exist; windlass --url shop.db migrate creates it with schema {KNOWN}.\n",
    )
    assert (empty.exit_code, empty.stdout) == (
        1,
        f"empty.db has no schema yet; windlass --url empty.db migrate brings it to {KNOWN}.\n",
    )
    assert [path.name for path in folder.iterdir()] == ["empty.db"]
    assert (folder / "empty.db").stat().st_size == 0


def test_check_of_a_current_database_succeeds(scene: Scene) -> None:
    scene.shown("migrate")

    assert scene.json("migrate", "--check") == {"database": "shop.db", "from": KNOWN, "to": KNOWN, "is_current": True}


def test_an_older_schema_is_named_with_its_version(scene: Scene, folder: Path) -> None:
    scene.shown("migrate")
    set_version(folder / "shop.db", "0")

    result = scene.run("migrate", "--check", "--json")

    assert result.exit_code == 1
    assert '"from": 0' in result.stdout
    assert '"is_current": false' in result.stdout


@pytest.mark.spec("security:101")
@pytest.mark.parametrize("command", [["migrate"], ["migrate", "--check"], ["runs"], ["show", "run_0"]])
def test_a_newer_schema_is_refused_in_one_line(scene: Scene, folder: Path, command: list[str]) -> None:
    scene.shown("migrate")
    set_version(folder / "shop.db", "99")

    result = scene.run(*command)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"windlass: The database shop.db has schema 99, this Windlass knows {KNOWN}; upgrade Windlass to open it.\n"
    )


@pytest.mark.spec("security:101")
@pytest.mark.parametrize("command", [["migrate"], ["migrate", "--check"], ["runs"]])
def test_what_is_not_our_database_is_refused_and_left_alone(scene: Scene, folder: Path, command: list[str]) -> None:
    with sqlite3.connect(folder / "other.db") as other:
        other.execute("create table theirs (x)")
    other.close()
    (folder / "text.db").write_text("this is not a database, whatever its name says\n" * 100)
    (folder / "folder.db").mkdir()
    before = {path: path.read_bytes() for path in (folder / "other.db", folder / "text.db")}

    for name in ("other.db", "text.db", "folder.db"):
        result = scene.run(*command, "--url", name)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1), name
        assert name in result.stderr

    assert {path: path.read_bytes() for path in before} == before


def test_postgresql_is_migrated_and_listed(scene: Scene, postgres_url: str) -> None:
    behind = scene.run("migrate", "--check", "--url", postgres_url)
    created = scene.run("migrate", "--url", postgres_url)
    current = scene.run("migrate", "--check", "--url", postgres_url)

    assert (behind.exit_code, created.exit_code, current.exit_code) == (1, 0, 0), behind.output + created.output
    assert "has no schema yet" in behind.stdout
    assert f"is created, now schema {KNOWN}." in created.stdout
    assert scene.shown("runs", "--url", postgres_url) == "No runs yet.\n"


def set_version(path: Path, version: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute("update meta set value = ? where key = 'schema_version'", (version,))
    database.close()

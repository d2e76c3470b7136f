"""Does `windlass keys` show a token once and never again, and say who may come in?"""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from tests.integration.cli.scene import Scene
from windlass.model.access import EVERY_NAMESPACE, ListAudit
from windlass.model.time import DAY, HOUR, SECOND
from windlass.rules.access import hash_secret, matches, parse_token
from windlass.testing.harness import Harness


async def nothing(harness: Harness) -> None: ...


def test_a_token_is_printed_once_and_opens_what_its_key_says(either: Scene) -> None:
    either.play(nothing)

    result = either.run("keys", "create", "--role", "worker", "--queue", "mail", "--expires", "90d", "--by", "ann")

    assert result.exit_code == 0
    parsed = parse_token(result.stdout.rstrip("\n"))  # the token, and nothing else
    assert parsed is not None
    key_id, secret = parsed
    assert result.stderr.splitlines() == [
        f"Key {key_id}: worker of mail in default. It expires in 90 d. This is its token, shown only now:",
        "Give it to whoever is to use it, as WINDLASS_TOKEN in their environment.",
    ]
    assert result.stdout.strip() not in result.stderr

    async def find(harness: Harness) -> bool:
        found = await harness.opened.access.find_key(key_id)
        return found is not None and matches(found, secret)

    assert either.play(find)


def test_keys_are_a_table_and_plain_data(either: Scene) -> None:
    either.play(nothing)
    assert "windlass --url" in either.shown("keys").splitlines()[1]  # how to make one, here
    either.run("namespaces", "create", "acme")
    made = either.json(
        "keys", "create", "--role", "worker", "--role", "client", "--namespace", "acme", "--note", "a\nb"
    )
    either.clock.advance(2 * HOUR)
    admin = either.json("--namespace", "*", "keys", "create", "--role", "admin", "--expires", "90d")
    either.clock.advance(HOUR)

    lines = either.shown("keys").splitlines()

    assert [line.split() for line in lines] == [
        ["id", "status", "roles", "namespace", "made", "left", "note"],
        [admin["id"], "live", "admin", "all", "1", "h", "89", "d"],
        [made["id"], "live", "client,", "worker", "acme", "3", "h", "a", "b"],
    ]
    listed = either.json("keys", "list")["keys"]
    assert [item["id"] for item in listed] == [admin["id"], made["id"]]
    assert listed[1] == {name: value for name, value in made.items() if name != "token"}
    assert (listed[0]["is_for_all"], listed[1]["roles"]) == (True, ["client", "worker"])
    assert [item["id"] for item in either.json("keys", "--namespace", "acme")["keys"]] == [made["id"]]
    assert "No key is made for namespace 'zzz' alone" in either.shown("keys", "--namespace", "zzz")


def test_a_key_is_revoked_by_the_beginning_of_its_id_and_only_once(either: Scene) -> None:
    either.play(nothing)
    ids = []
    for _ in range(2):
        ids.append(either.json("keys", "create", "--role", "viewer")["id"])
        either.clock.advance(SECOND)

    assert "Several keys begin with" in either.refused("keys", "revoke", ids[0][4:8])
    assert f"{ids[0]} (viewer in default) is revoked" in either.shown("keys", "revoke", ids[0])
    either.clock.advance(HOUR)
    assert "was revoked 1 h ago" in either.shown("keys", "revoke", ids[0])
    assert "does not exist" in either.refused("keys", "revoke", "key_" + "0" * 26)
    assert [item["status"] for item in either.json("keys")["keys"]] == ["live", "revoked"]
    either.json("keys", "create", "--role", "viewer", "--expires", "1d")
    either.clock.advance(DAY)
    assert either.json("keys")["keys"][0]["status"] == "expired"


@pytest.mark.spec("security:S-28")
def test_a_token_that_is_typed_for_an_id_is_not_repeated(scene: Scene) -> None:
    scene.play(nothing)
    token = scene.json("keys", "create", "--role", "viewer")["token"]

    refused = scene.refused("keys", "revoke", token, exit_code=2)

    assert "no id of a key" in refused
    assert token[30:] not in refused


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "--role"),
        (("--role", "king"), "king"),
        (("--role", "client", "--queue", "mail"), "only a key for workers"),
        (("--role", "worker", "--queue", "a b"), "allowed characters"),
        (("--role", "client", "--expires", "soon"), "not a duration"),
        (("--role", "client", "--expires", "0s"), "more than 0"),
        (("--role", "client", "--namespace", "nowhere"), "'nowhere' does not exist"),
    ],
)
def test_what_can_be_no_key_is_refused_in_a_line(scene: Scene, options: tuple[str, ...], told: str) -> None:
    scene.play(nothing)

    result = scene.run("keys", "create", *options)

    assert result.exit_code in (1, 2)
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)
    assert told in result.stderr
    assert scene.json("keys") == {"keys": []}


def test_all_namespaces_are_meant_only_where_that_means_something(scene: Scene) -> None:
    scene.play(nothing)

    for command in ("runs", "queues", "workers", "schedules"):
        assert "looks in one namespace" in scene.refused(command, "--namespace", "*")


@pytest.mark.spec("security:S-06")
def test_a_dump_of_the_database_holds_nothing_with_which_one_gets_in(either: Scene, folder: Path) -> None:
    either.play(nothing)
    token = either.json("keys", "create", "--role", "admin", "--namespace", "*")["token"]
    parsed = parse_token(token)
    assert parsed is not None
    secret = parsed[1]

    dump = dump_of(either.url, folder)

    assert hash_secret(secret).hex() in dump  # so it is one
    for form in (secret, secret.hex().encode(), token.encode(), token[30:].encode()):
        assert form.hex() not in dump
        assert form.decode("latin-1") not in dump


def dump_of(url: str, folder: Path) -> str:
    """Every byte of the file and its journal in hexadecimal digits; or every row of every table as text."""
    if not url.startswith("postgresql"):
        return b"".join(path.read_bytes() for path in sorted(folder.glob(f"{url}*"))).hex()

    async def read() -> str:
        session = await asyncpg.connect(url)
        tables = await session.fetch("select tablename from pg_tables where schemaname = 'windlass'")
        rows = [row for (name,) in tables for row in await session.fetch(f"select t::text from windlass.{name} t")]
        await session.close()
        return "\n".join(row[0] for row in rows)

    return asyncio.run(read())


def test_what_was_done_to_keys_stands_in_the_audit(scene: Scene) -> None:
    scene.play(nothing)
    made = scene.json("keys", "create", "--role", "viewer")
    scene.run("keys", "revoke", made["id"], "--by", "ann")

    async def read(harness: Harness) -> list[tuple[str, str, str | None]]:
        page = await harness.opened.access.list_audit(ListAudit(namespace=EVERY_NAMESPACE))
        return [(entry.action, entry.subject, entry.after) for entry in page.entries]

    assert scene.play(read) == [
        ("revoke_key", made["id"], "revoked by ann"),
        ("create_key", made["id"], "viewer in default"),
    ]

"""Do `windlass namespaces` and `windlass audit` show who shares the database, and what was done in it?"""

from __future__ import annotations

from typing import Any

from tests.conformance.test_access import key_id
from tests.integration.cli.scene import Scene
from tests.programs import echo
from windlass.model.access import ACTING, Actor
from windlass.model.commands import CancelRun
from windlass.model.time import HOUR
from windlass.testing.harness import Harness


def declare(harness: Harness) -> Any:
    return harness.app.workflow(name="invoice")(echo)


async def nothing(harness: Harness) -> None: ...


def test_namespaces_are_a_table_and_plain_data(either: Scene) -> None:
    either.play(nothing)
    assert "is there. A key for its workers: windlass keys create" in either.shown(
        "namespaces", "create", "acme", "--note", "Acme\nLtd"
    )
    either.clock.advance(HOUR)
    either.run("namespaces", "disable", "acme")
    either.clock.advance(2 * HOUR)

    assert [line.split() for line in either.shown("namespaces").splitlines()] == [
        ["namespace", "status", "made", "disabled", "note"],
        ["acme", "disabled", "3", "h", "2", "h", "Acme", "Ltd"],
        ["default", "enabled"],
    ]
    acme, default = either.json("namespaces", "list")["namespaces"]
    assert (acme["name"], acme["is_enabled"], acme["note"]) == ("acme", False, "Acme\nLtd")
    assert (default["created_at"], default["disabled_at"]) == (None, None)


def test_a_namespace_is_stopped_goes_on_and_is_removed(either: Scene) -> None:
    async def start(harness: Harness) -> str:
        handle = await harness.app.start(declare(harness), 1)
        return handle.id

    either.play(nothing)
    assert "Then: windlass --url" in either.shown("namespaces", "disable", "default")
    run_id = either.play(start)

    told = either.shown("explain", run_id)
    assert "the namespace is disabled" in told
    assert "namespaces enable default" in told
    assert "disabled" in either.refused("resume", "--all")
    assert either.json("namespaces", "enable", "default")["is_enabled"]
    either.run("namespaces", "create", "acme")
    assert "Disable it first" in either.refused("namespaces", "delete", "acme", "--yes")
    either.run("namespaces", "disable", "acme")
    assert "say --yes" in either.refused("namespaces", "delete", "acme", exit_code=2)
    assert either.json("namespaces", "delete", "acme", "--yes") == {"name": "acme", "is_deleted": True}
    assert "does not exist" in either.refused("namespaces", "enable", "acme")
    either.run("namespaces", "disable", "default")
    assert "where no other is named" in either.refused("namespaces", "delete", "default", "--yes")


def test_a_name_that_none_can_have_is_refused_in_a_line(scene: Scene) -> None:
    scene.play(nothing)

    for command in ("create", "enable", "disable", "delete"):
        assert "allowed characters" in scene.refused("namespaces", command, "a b", exit_code=2)
    scene.run("namespaces", "create", "acme", "--note", "x")
    assert "another note" in scene.refused("namespaces", "create", "acme")


def test_the_audit_shows_who_did_what_and_who_was_turned_away(either: Scene) -> None:
    async def story(harness: Harness) -> str:
        invoice = declare(harness)
        handle = await harness.app.start(invoice, 1, delay="1h")
        token = ACTING.set(Actor(key=key_id(1), request_id="req_7"))
        await harness.opened.control.cancel_run(CancelRun(namespace="default", run_id=handle.id))
        ACTING.reset(token)
        await harness.opened.access.note_refusal(
            "acme", actor="", action="get_run", reason="unknown\x1b[31m key", request_id="req_8"
        )
        return handle.id

    either.play(nothing)
    assert "Nothing yet" in either.shown("audit")
    run_id = either.play(story)

    lines = either.shown("audit").splitlines()

    assert lines[0].split() == ["when", "by", "did", "namespace", "to", "change"]
    assert lines[1].split()[2:] == ["get_run", "acme", "refused:", "unknown?[31m", "key"]
    assert lines[2].split()[2:] == [key_id(1), "cancel_run", "default", run_id, "pending", "→", "cancelled"]
    first = either.json("audit", "--limit", "1")
    assert [entry["request_id"] for entry in first["entries"]] == ["req_8"]
    second = either.json("audit", "--limit", "1", "--before", str(first["next"]))
    assert (second["entries"][0]["before"], second["entries"][0]["actor"]) == ("pending", key_id(1))
    assert second["next"] is None
    assert len(either.json("audit", "--namespace", "default")["entries"]) == 1

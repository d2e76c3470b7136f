"""Does `windlass doctor` find what is wrong with a database, say it in lines, and leave the database as it was?"""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from tests.integration.cli.scene import Scene, declare_order
from tests.invariants.test_inconsistencies import BROKEN, tell
from windlass.engine.checkup import EngineAdmin
from windlass.model.checkup import Grade
from windlass.model.commands import RegisterWorker
from windlass.model.run import WorkerId
from windlass.model.worker import Served
from windlass.store.postgres.store import PostgresStore
from windlass.store.version import newest
from windlass.testing.clock import FakeClock
from windlass.testing.harness import Harness

KNOWN = newest("sqlite")
OF_TABLES = ["tables", "consistency", "workers", "schedules", "pipelines", "signals"]
OF_TABLES += ["time-outs", "retention", "feed", "clock"]
NAMES = ["settings", "schema", "version", "durability", "files", *OF_TABLES]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a run that has ended and one that sleeps."""
    path = tmp_path_factory.mktemp("doctor") / "sound.db"
    asyncio.run(tell(str(path)))
    return path


@pytest.fixture
def patient(sound: Path, folder: Path) -> Path:
    return Path(shutil.copy(sound, folder / "shop.db"))


def graded(scene: Scene, *args: str, exit_code: int) -> Mapping[str, str]:
    """The grade of each check."""
    return {name: check["grade"] for name, check in examined(scene, *args, exit_code=exit_code).items()}


def examined(scene: Scene, *args: str, exit_code: int) -> Mapping[str, Any]:
    result = scene.run("doctor", "--json", *args)
    assert result.exit_code == exit_code, result.output
    record = json.loads(result.stdout)
    assert record["is_sound"] == (exit_code == 0)
    return {check["name"]: check for check in record["checks"]}


@pytest.mark.spec("invariants:I-65")
def test_a_sound_database_passes_every_check(scene: Scene, patient: Path) -> None:
    assert graded(scene, exit_code=0) == dict.fromkeys(NAMES, "good")


@pytest.mark.spec("invariants:I-65")
def test_the_answer_is_a_line_per_check(scene: Scene, patient: Path) -> None:
    shown = scene.shown("doctor")

    assert shown == (
        "shop.db\n"
        " ✓ settings     all are defaults: no windlass.toml here, no WINDLASS_ variable\n"
        f" ✓ schema       version {KNOWN}, which is the newest this Windlass knows\n"
        f" ✓ version      SQLite {apsw.sqlite_lib_version()}\n"
        " ✓ durability   journal_mode = wal, synchronous = full\n"
        " ✓ files        SQLite finds no damage (integrity_check, foreign_key_check)\n"
        " ✓ tables       all are there, and nothing acts on them but Windlass\n"
        " ✓ consistency  every row agrees with every other\n"
        " ✓ workers      none is alive\n"
        " ✓ schedules    there are none\n"
        " ✓ pipelines    5 declared\n"
        " ✓ signals      nothing is watched\n"
        " ✓ time-outs    no run is past its own\n"
        " ✓ retention    4 ended runs are kept for ever\n"
        " ✓ feed         whoever follows the log is told at once\n"
        " ✓ clock        the database and this machine agree\n"
        "The database is in order.\n"
    )


@pytest.mark.spec("invariants:I-65")
@pytest.mark.parametrize("rule", BROKEN)
def test_each_broken_rule_is_reported_with_what_breaks_it(scene: Scene, patient: Path, rule: str) -> None:
    database = apsw.Connection(str(patient))
    database.execute("pragma ignore_check_constraints = on")
    database.execute(BROKEN[rule])
    database.close()

    checks = examined(scene, exit_code=1)

    assert checks["consistency"]["grade"] == "failed"
    (detail,) = [line for line in checks["consistency"]["details"] if line.startswith(f"{rule}: ")]
    assert "1 time: " in detail or " times: " in detail


@pytest.mark.spec("invariants:I-65")
def test_only_a_run_taken_from_the_dead_counts_recoveries_while_it_waits(scene: Scene, folder: Path) -> None:
    async def start(harness: Harness) -> None:
        await harness.start(declare_order(harness), "7")

    def broken_by(statement: str) -> list[str]:
        with sqlite3.connect(folder / "shop.db") as database:
            database.execute(statement)
        database.close()
        record = json.loads(scene.run("doctor", "--json").stdout)
        (check,) = [check for check in record["checks"] if check["name"] == "consistency"]
        return [line.partition(":")[0] for line in check["details"]]

    scene.play(start, has_worker=False)
    log = "insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)"
    waiting = broken_by("update runs set attempts = 1, token = 1, started_at = 1, recoveries = 1")
    broken_by(f"{log} select namespace, 'run', id, 'pending', 'running', 'claim', 1 from runs")
    dead = broken_by(f"{log} select namespace, 'run', id, 'running', 'pending', 'death', 1 from runs")
    too_many = broken_by("update runs set recoveries = 2")

    assert waiting == ["a run that was given back still counts recoveries"]
    assert dead == []
    assert too_many == ["recoveries without claims"]


@pytest.mark.spec("invariants:I-65")
def test_a_broken_rule_reads_well_at_eighty_columns(scene: Scene, patient: Path) -> None:
    with sqlite3.connect(patient) as database:
        database.execute(BROKEN["the log has a gap"])
        run_id = database.execute("select id from runs where status = 'completed'").fetchone()[0]
    database.close()

    result = scene.run("doctor")

    assert result.exit_code == 1
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert " ✗ consistency  1 rule is broken, which no crash can do:" in result.stdout
    assert f"· the log has a gap: 1 time: {run_id}\n" in result.stdout
    assert result.stdout.endswith("1 check failed.\n")


@pytest.mark.spec("invariants:I-65", "invariants:I-62")
def test_a_damaged_page_is_reported_wherever_it_is(scene: Scene, sound: Path, folder: Path) -> None:
    size = 4_096
    database = apsw.Connection(str(sound))
    pages = [number - 1 for (number,) in database.execute("select pageno from dbstat")]  # those that hold anything
    database.close()
    assert len(pages) > 10
    for page in pages:
        patient = folder / "shop.db"
        spoilt = bytearray(sound.read_bytes())
        spoilt[page * size : (page + 1) * size] = b"\xa5" * size
        patient.write_bytes(spoilt)

        result = scene.run("doctor")

        assert result.exit_code == 1, (page, result.output)
        assert " ✗ " in result.stdout, page
        assert result.stderr == "", page
        assert patient.read_bytes() == bytes(spoilt), page


@pytest.mark.spec("invariants:I-65", "invariants:I-62")
def test_a_file_cut_short_is_reported(scene: Scene, patient: Path) -> None:
    whole = patient.read_bytes()
    patient.write_bytes(whole[: len(whole) // 2])

    result = scene.run("doctor")

    assert (result.exit_code, result.stderr) == (1, "")
    assert " ✗ " in result.stdout


def test_a_row_that_cannot_be_read_is_a_finding(scene: Scene, patient: Path) -> None:
    with sqlite3.connect(patient) as database:
        database.execute("update workers set served = x'ff'")
    database.close()

    checks = examined(scene, exit_code=1)

    assert checks["workers"]["grade"] == "failed"
    assert "cannot be read" in checks["workers"]["text"]


def test_nothing_is_changed(scene: Scene, patient: Path, folder: Path) -> None:
    before = contents(folder)

    scene.shown("doctor")

    assert contents(folder) == before == {"shop.db": patient.read_bytes()}


def test_what_a_crash_left_in_the_journal_is_read_and_left_there(scene: Scene, folder: Path) -> None:
    async def die(harness: Harness) -> None:
        await harness.start(declare_order(harness), "7")
        spoil = apsw.Connection(str(folder / "shop.db"))
        spoil.execute("update runs set recoveries = 5")
        for name in ("shop.db", "shop.db-wal"):  # as the disk is when the power goes
            shutil.copy(folder / name, folder / f"copy-{name}")
        spoil.close()

    scene.play(die, has_worker=False)
    before = contents(folder, "copy-shop.db", "copy-shop.db-wal")
    assert len(before["copy-shop.db-wal"]) > 0

    checks = examined(scene, "--url", "copy-shop.db", exit_code=1)

    assert checks["consistency"]["grade"] == "failed"  # which stands in the journal only
    assert contents(folder, "copy-shop.db", "copy-shop.db-wal") == before


def test_a_database_that_does_not_exist_is_not_created(scene: Scene, folder: Path) -> None:
    result = scene.run("doctor")

    assert result.exit_code == 1
    assert "✗ schema    shop.db does not exist" in result.stdout
    assert list(folder.iterdir()) == []


@pytest.mark.spec("invariants:I-62")
def test_a_schema_that_is_behind_is_reported_and_not_migrated(scene: Scene, patient: Path) -> None:
    set_version(patient, "1" if KNOWN > 1 else "0")
    before = patient.read_bytes()

    grades = graded(scene, exit_code=1)

    assert grades == {
        **dict.fromkeys(["settings", "version", "durability", "files"], "good"),
        **dict.fromkeys(OF_TABLES, "skipped"),
        "schema": "failed",
    }
    assert patient.read_bytes() == before


@pytest.mark.spec("invariants:I-62")
def test_what_is_newer_or_not_ours_is_reported_and_left_alone(scene: Scene, patient: Path, folder: Path) -> None:
    set_version(patient, "99")
    with sqlite3.connect(folder / "other.db") as other:
        other.execute("create table theirs (x)")
    other.close()
    (folder / "text.db").write_text("this is not a database, whatever its name says\n" * 100)
    files = [patient, folder / "other.db", folder / "text.db"]
    before = [path.read_bytes() for path in files]

    told = [examined(scene, "--url", path.name, exit_code=1)["schema"]["text"] for path in files]

    assert "has schema 99, this Windlass knows" in told[0]
    assert "belongs to another application" in told[1]
    assert "is not a database" in told[2]
    assert [path.read_bytes() for path in files] == before


def test_a_warning_does_not_fail(scene: Scene, patient: Path) -> None:
    with sqlite3.connect(patient) as database:
        database.execute("pragma journal_mode = delete")
    database.close()

    shown = scene.shown("doctor")

    assert " ! durability   journal_mode = delete, synchronous = full: wal and full are\n" in shown
    assert shown.endswith("The database is in order; 1 warning does not count against it.\n")


FOREIGN = {
    "create trigger eager after update on runs begin delete from log; end": "foreign: trigger eager on runs",
    "create view latest as select id from runs": "foreign: view latest",
    "drop index runs_claim": "missing: index runs_claim",
    "drop table cursors": "missing: table cursors",
}


@pytest.mark.spec("invariants:I-65")
@pytest.mark.parametrize("statement", FOREIGN)
def test_tables_that_are_not_as_they_were_made_fail(scene: Scene, patient: Path, statement: str) -> None:
    database = apsw.Connection(str(patient))
    database.execute(statement)
    database.close()

    assert examined(scene, exit_code=1)["tables"]["details"] == [FOREIGN[statement]]


def test_what_does_nothing_by_itself_may_stand_beside_our_tables(scene: Scene, patient: Path) -> None:
    database = apsw.Connection(str(patient))
    database.execute("create table notes (text); create index by_age on runs (created_at); analyze")
    database.close()

    assert examined(scene, exit_code=0)["tables"]["grade"] == "good"


@pytest.mark.spec("invariants:I-65")
def test_a_trigger_a_rule_and_a_missing_index_are_found_on_postgresql(scene: Scene, postgres_url: str) -> None:
    asyncio.run(tell(postgres_url))
    spoil = [
        "create function eager() returns trigger language plpgsql as 'begin return null; end'",
        "create trigger eager before update on runs for each row execute function eager()",
        "create rule nothing as on delete to log do instead nothing",
        "create view latest as select id from runs",
        "drop index runs_claim",
    ]
    asyncio.run(execute(postgres_url, *spoil))

    assert examined(scene, "--url", postgres_url, exit_code=1)["tables"]["details"] == [
        "missing: index runs_claim",
        "foreign: rule nothing on log",
        "foreign: trigger eager on runs",
        "foreign: view latest",
    ]


def test_a_silent_worker_is_named(scene: Scene) -> None:
    async def leave(harness: Harness) -> None:
        for number, host in enumerate(("alpha", "be\x1bta")):
            command = RegisterWorker(
                namespace="default",
                id=WorkerId(f"wrk_{number:026}"),
                host=host,
                pid=71,
                served=(Served("default", "order"),),
                slots=2,
            )
            await harness.opened.work.register_worker(command)
            harness.clock.advance("25s")

    scene.play(leave, has_worker=False)

    shown = scene.shown("doctor")
    scene.clock.advance("15s")

    assert " ! workers      1 is alive, 1 silent: dead, stuck or cut off\n" in shown
    assert f"· wrk_{0:026} on alpha (pid 71), for 50 s\n" in shown
    assert f"· wrk_{1:026} on be\\x1bta (pid 71), for 40 s\n" in scene.shown("doctor")


@pytest.mark.spec("invariants:I-65")
def test_postgresql_is_examined_too(scene: Scene, postgres_url: str) -> None:
    behind = graded(scene, "--url", postgres_url, exit_code=1)
    asyncio.run(tell(postgres_url))

    good = graded(scene, "--url", postgres_url, exit_code=0)
    asyncio.run(execute(postgres_url, BROKEN["the log has a gap"], BROKEN["a sleep has no end"]))
    broken = examined(scene, "--url", postgres_url, exit_code=1)

    assert behind == {"settings": "good", "schema": "failed", "database": "skipped"}
    assert set(good) == set(NAMES)
    assert {name for name, grade in good.items() if grade != "good"} <= {"durability"}  # the test's server is fast
    assert [line.partition(":")[0] for line in broken["consistency"]["details"]] == [
        "a sleep has no end",
        "the log has a gap",
    ]


def test_a_commit_that_postgresql_may_lose_is_warned_about(scene: Scene, postgres_url: str) -> None:
    asyncio.run(tell(postgres_url))
    name = postgres_url.rpartition("/")[2].partition("?")[0]
    asyncio.run(execute(postgres_url, f'alter database "{name}" set synchronous_commit = off'))

    check = examined(scene, "--url", postgres_url, exit_code=0)["durability"]

    assert check["grade"] == "warning"
    assert "synchronous_commit = off" in check["text"]


def test_postgresql_that_cannot_be_reached_is_reported(scene: Scene) -> None:
    result = scene.run("doctor", "--url", "postgresql://nobody:secret@127.0.0.1:1/none")

    assert (result.exit_code, result.stderr) == (1, "")
    assert " ✗ schema" in result.stdout
    assert "secret" not in result.stdout


async def test_a_clock_that_differs_from_the_databases_is_warned_about(postgres_url: str) -> None:
    ahead, here = FakeClock(), FakeClock()
    ahead.advance("1m")
    store = PostgresStore(postgres_url, clock=ahead)
    await store.open()

    checks = (await EngineAdmin(store, clock=here).check_up()).checks
    await store.close()

    (clock,) = [check for check in checks if check.name == "clock"]
    assert clock.grade is Grade.WARNING
    assert "1 min ahead of this machine's" in clock.text


async def test_an_open_engine_answers_the_same(patient: Path) -> None:
    async with Harness(str(patient), has_worker=False) as harness:
        checkup = await harness.opened.admin.check_up()

    assert checkup.is_sound
    assert [check.name for check in checkup.checks] == NAMES[2:]


def contents(folder: Path, *names: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not names or path.name in names}


def set_version(path: Path, version: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute("update meta set value = ? where key = 'schema_version'", (version,))
        database.commit()
        database.execute("pragma wal_checkpoint(truncate)")
    database.close()


async def execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url, ssl=False, server_settings={"search_path": "windlass"})
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()

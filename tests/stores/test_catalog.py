"""Does the catalogue read what is written, refuse what contradicts itself, and hold only queries that can run?"""

from __future__ import annotations

from pathlib import Path

import apsw
import asyncpg
import pytest

from windlass.store.catalog import DATABASE_CLOCK, Dialect, load
from windlass.store.migrate import migrate_sqlite
from windlass.store.postgres.sessions import SESSION
from windlass.store.postgres.store import PostgresStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("sqlite", "postgres"):
        (tmp_path / name).mkdir()
    return tmp_path


def text_of(folder: Path, body: str, *, dialect: Dialect = "sqlite") -> str:
    (folder / "runs.sql").write_text(f"-- name: load_run\n-- Why.\n{body}")
    return load(dialect, folder=folder)["load_run"].statements[0].text


def test_names_become_numbers_and_casts_stay(folder: Path) -> None:
    body = "select a::bigint from runs where id = :id and name = :name and :id <> ''"

    on_postgres = text_of(folder, body, dialect="postgres")
    on_sqlite = text_of(folder, body)

    assert on_postgres == "select a::bigint from runs where id = $1 and name = $2 and $1 <> ''"
    assert on_sqlite == "select a::bigint from runs where id = ?1 and name = ?2 and ?1 <> ''"
    assert load("sqlite", folder=folder)["load_run"].statements[0].parameters == ("id", "name")


def test_the_time_is_the_last_parameter_wherever_it_stands(folder: Path) -> None:
    assert text_of(folder, "select {now} where :id = {now}") == "select ?2 where ?1 = ?2"

    statement = load("sqlite", folder=folder)["load_run"].statements[0]

    assert (statement.parameters, statement.takes_now) == (("id",), True)


def test_the_time_is_the_databases_own_unless_a_clock_is_injected(folder: Path) -> None:
    assert text_of(folder, "select {now}", dialect="postgres") == "select $1::bigint"

    statement = load("postgres", has_injected_clock=False, folder=folder)["load_run"].statements[0]

    assert (statement.text, statement.takes_now) == (f"select {DATABASE_CLOCK}", False)


@pytest.mark.parametrize(
    ("fragment", "on_sqlite", "on_postgres"),
    [
        ("{for_update}", "", "for no key update of r"),
        ("{skip_locked}", "", "for no key update of r skip locked"),
        ("{greatest}(a, b)", "max(a, b)", "greatest(a, b)"),
        (
            "from {rows:runs.id:ids}",
            "from json_each(?1) as i cross join runs as r on r.namespace = ?2 and r.id = i.value",
            "from unnest($1::text[]) as i (value)"
            " cross join lateral (select * from runs where namespace = $2 and id = i.value offset 0) as r",
        ),
        (
            "from causes c {probe:events e:topic = c.topic, id = :id}",
            "from causes c cross join events as e on e.topic = c.topic and e.id = ?1",
            "from causes c cross join lateral (select * from events where topic = c.topic and id = $1 offset 0) as e",
        ),
        ("from {texts:w.causes}", "from json_each(w.causes)", "from json_array_elements_text(w.causes::json)"),
        ("from {elements:x}", "from json_each(?1)", "from json_array_elements($1::json)"),
    ],
)
def test_fragments_are_the_one_word_differences(folder: Path, fragment: str, on_sqlite: str, on_postgres: str) -> None:
    assert text_of(folder, f"select 1 {fragment}") == f"select 1 {on_sqlite}".strip()
    assert text_of(folder, f"select 1 {fragment}", dialect="postgres") == f"select 1 {on_postgres}"


def test_an_overlay_replaces_the_query_on_its_database_only(folder: Path) -> None:
    (folder / "postgres" / "runs.sql").write_text("-- name: load_run\n-- Differs.\n-- key: id\nselect 2 where :id = ''")

    assert text_of(folder, "select 1 where :id = ''") == "select 1 where ?1 = ''"
    assert text_of(folder, "select 1 where :id = ''", dialect="postgres") == "select 2 where $1 = ''"
    assert load("postgres", folder=folder)["load_run"].key == ("id",)


def test_statements_of_a_batch_are_numbered_each_on_its_own(folder: Path) -> None:
    text_of(folder, "update runs set a = :a where id = :id;\ninsert into log values (:id);")

    first, second = load("sqlite", folder=folder)["load_run"].statements

    assert (first.parameters, second.parameters, second.text) == (("a", "id"), ("id",), "insert into log values (?1)")
    assert first.is_write
    with pytest.raises(ValueError, match="one statement"):
        load("postgres", folder=folder)


def test_columns_of_the_first_answer_are_no_parameters(folder: Path) -> None:
    text_of(
        folder,
        "-- each: id, was\nselect id, was from runs limit :limit;\n"
        "-- together: id, was\nupdate runs set a = :was where id in (select value from json_each(:id));",
    )

    query = load("sqlite", folder=folder)["load_run"]

    assert query.parameters == {"limit"}
    assert query.each == ("id", "was")


def test_a_statement_may_be_for_all_rows_of_a_batch_at_once(folder: Path) -> None:
    text_of(
        folder,
        "update runs set a = 1 where id = :id;\n"
        "-- together: id, status\ninsert into log select :status, value from json_each(:id);",
    )

    first, second = load("sqlite", folder=folder)["load_run"].statements

    assert (first.together, second.together) == ((), ("id", "status"))
    assert second.text == "insert into log select ?1, value from json_each(?2)"


def test_the_rows_of_a_batch_are_arrays_of_which_all_but_the_first_may_be_one_value(folder: Path) -> None:
    (folder / "postgres" / "runs.sql").write_text(
        "-- name: load_run\n-- Differs.\n-- key: id, token\n"
        "with held as (select i.*, 1 as at from {given: id text, token bigint} as i) {passed: held}"
    )

    text = text_of(folder, "select :id, :token", dialect="postgres")

    assert text == (
        "with held as (select i.*, 1 as at from (select u.id, case when cardinality($1::bigint[]) = 1"
        ' then ($1::bigint[])[1] else u."token" end as "token" from unnest($2::text[], $1::bigint[])'
        ' as u ("id", "token")) as i) select max(at) as at, null, null from held'
        " having count(*) = cardinality($2::text[])"
        " union all select at, id, token from held where (select count(*) from held) < cardinality($2::text[])"
    )
    query = load("postgres", folder=folder)["load_run"]
    assert query.statements[0].shared == {"token"}
    assert query.one is not None
    assert query.one.text == (
        'with held as (select i.*, 1 as at from (select $1::text as "id", $2::bigint as "token") as i)'
        " select at, id, token from held"
    )


@pytest.mark.parametrize(
    ("overlay", "complaint"),
    [
        ("-- name: load_runs\nselect 1", "unknown"),
        ("-- name: load_run\nselect :other", "takes"),
        ("-- name: load_run\nselect :id\n-- name: load_run\nselect :id", "twice"),
        ("-- name: load_run\nselect :id {nonsense}", "no fragment"),
        ("-- name: load_run\n-- Nothing else.", "empty"),
    ],
)
def test_a_catalogue_that_contradicts_itself_is_refused(folder: Path, overlay: str, complaint: str) -> None:
    (folder / "sqlite" / "runs.sql").write_text(overlay)

    with pytest.raises(ValueError, match=complaint):
        text_of(folder, "select :id")


def test_a_name_is_given_once(folder: Path) -> None:
    (folder / "steps.sql").write_text("-- name: load_run\nselect 1")

    with pytest.raises(ValueError, match="twice"):
        text_of(folder, "select 1")


@pytest.mark.parametrize(
    ("text", "is_write"),
    [
        ("select 1 from runs r for update", False),
        ("insert into runs values (1)", True),
        ("update runs set a = 1", True),
        ("update runs r\n   set a = 1", True),
        ("delete from runs", True),
        ("with x as (insert into runs values (1)) select 1", True),
    ],
)
def test_what_writes_is_known(folder: Path, text: str, is_write: bool) -> None:
    text_of(folder, text)

    assert load("sqlite", folder=folder)["load_run"].is_write is is_write


def test_every_query_can_be_prepared_on_sqlite() -> None:
    connection = apsw.Connection(":memory:")
    migrate_sqlite(connection, where="a test")

    for query in load("sqlite").values():
        for statement in query.statements:
            count = len(statement.parameters) + statement.takes_now
            connection.execute(f"explain {statement.text}", (None,) * count)

    connection.close()


@pytest.mark.parametrize("has_injected_clock", [True, False])
async def test_every_query_can_be_prepared_on_postgres(postgres_url: str, has_injected_clock: bool) -> None:
    store = PostgresStore(postgres_url)
    await store.open()
    await store.close()
    connection = await asyncpg.connect(postgres_url, server_settings=SESSION)

    for query in load("postgres", has_injected_clock=has_injected_clock).values():
        (statement,) = query.statements
        prepared = await connection.prepare(statement.text)
        assert len(prepared.get_parameters()) == len(statement.parameters) + statement.takes_now, query.name

    await connection.close()

-- name: damage
-- Differs: SQLite can be asked, and answers with a row per finding.
select c.integrity_check as message from pragma_integrity_check as c where c.integrity_check <> 'ok'
union all
select 'a row of ' || f."table" || ' refers to nothing in ' || f.parent from pragma_foreign_key_check as f;

-- name: schema_objects
-- Differs: SQLite keeps them in a table of its own.
select s.type as kind, case s.type when 'trigger' then s.name || ' on ' || s.tbl_name else s.name end as name
  from sqlite_schema s
 where s.name not like 'sqlite\_%' escape '\'
 order by 1, 2;

-- name: store_settings
-- Differs: SQLite has pragmas.
select 'sqlite_version' as name, sqlite_version() as value
union all
select 'journal_mode', j.journal_mode from pragma_journal_mode as j
union all
select 'synchronous', cast(s.synchronous as text) from pragma_synchronous as s;

-- name: feed_state
-- Differs: here there is one writer, and its commits are in the order of their numbers.
select null as held_since, 0 as ahead;

-- name: feed_holders
-- Differs: the same.
select 0 as pid, '' as application, '' as person, '' as place, '' as state, 0 as open_for where false;

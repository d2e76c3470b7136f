"""A migrated PostgreSQL database for the next test: rows deleted, tables kept.

A new database would take ten times as long, and truncating makes a new file for every table and every index.
"""

from __future__ import annotations

from windlass.store.migrate import SCHEMA

EMPTY_EVERY_TABLE = f"""
do $$
declare name text;
begin
    for name in select tablename from pg_tables where schemaname = '{SCHEMA}' and tablename <> 'meta' loop
        execute format('delete from {SCHEMA}.%I', name);
    end loop;
    delete from {SCHEMA}.meta where key = 'counted_until';
end $$
"""

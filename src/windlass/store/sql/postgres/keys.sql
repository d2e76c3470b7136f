-- name: take_keys
-- Differs: arrays in, one statement.
-- key: namespace, key
with taken as (
    insert into keys (namespace, key, name, version, input_hash, run_id, created_at, expires_at)
    select i.namespace, i.key, i.name, i.version, i.input_hash, i.run_id, t.now, t.now + i.expires_for
      from (select {now} as now) as t
     cross join {given: key text, namespace text, name text, version text, input_hash bytea, run_id text,
                        expires_for bigint} as i
    on conflict (namespace, key) do update
       set name = excluded.name, version = excluded.version, input_hash = excluded.input_hash,
           run_id = excluded.run_id, created_at = excluded.created_at, expires_at = excluded.expires_at
     where keys.expires_at <= excluded.created_at
    returning namespace, key, created_at as at
)
{passed: taken};

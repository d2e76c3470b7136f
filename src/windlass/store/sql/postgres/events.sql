-- name: insert_events
-- Differs: arrays in, one statement.
-- key: namespace, pipeline, topic, id
with given as materialized (
    select i.*, t.now
      from (select {now} as now) as t
     cross join {given: id text, namespace text, pipeline text, topic text, seq bigint, payload bytea, created_by text,
                        causes text} as i
),
created as (
    insert into events (namespace, pipeline, topic, id, seq, version, payload, status, created_by, causes, created_at,
                        updated_at)
    select namespace, pipeline, topic, id, seq, seq, payload, 'pending', created_by, causes, now, now from given
),
passed as (
    select namespace, pipeline, topic, id, now as at from given
)
{passed: passed};

-- name: create_slot_runs
-- Differs: arrays in, one statement, as in create_runs.
-- key: namespace, id
with given as materialized (
    select i.*, t.now
      from (select {now} as now) as t
     cross join {given: id text, namespace text, name text, version text, queue text, at bigint, timeout_for bigint,
                        unmet bigint, schedule text, slot bigint, scheduled_at bigint, input bytea, cause text,
                        data bytea} as i
),
created as (
    insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, expires_at,
                      starts_at, unmet, schedule, slot, scheduled_at)
    select namespace, id, name, version, queue, 0,
           case when unmet > 0 then 'waiting' else 'pending' end, case when unmet > 0 then null else at end,
           now, at + timeout_for, case when at > now then at end, unmet, schedule, slot, scheduled_at
      from given
    on conflict do nothing
    returning namespace, id, name, status, created_at as at
),
stored as (
    insert into payloads (namespace, run_id, input)
    select g.namespace, g.id, g.input from given g where g.id in (select c.id from created c)
    on conflict (namespace, run_id) do nothing
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)
    select c.namespace, 'run', c.id, null, c.status, g.cause, c.at, g.data
      from created c
      join given g on g.namespace = c.namespace and g.id = c.id
    {returned}
),
{fired_new:noted, created}
{passed: created};

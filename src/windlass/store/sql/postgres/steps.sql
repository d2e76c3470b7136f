-- Why these differ from the base, and why they look as they do: see the head of runs.sql beside this file.

-- name: begin_steps
-- Differs: arrays in, one statement, with the run locked while its token is checked.
-- key: namespace, run_id, key, attempt, token
with held as materialized (
    select i.*
      from {given: run_id text, namespace text, key text, attempt bigint, kind text, token bigint, failures bigint,
                   input_hash bytea} as i
     cross join lateral (
           select 1 from runs r
            where r.namespace = i.namespace and r.id = i.run_id and r.token = i.token and r.status = 'running'
           {for_update}) x
),
t as materialized (
    select {now} as now, count(*) from held
),
written as (
    insert into steps (namespace, run_id, step_key, attempt, kind, status, token, failures, input_hash, started_at)
    select h.namespace, h.run_id, h.key, h.attempt, h.kind, 'running', h.token, h.failures, h.input_hash,
           (select now from t)
      from held h
    on conflict (namespace, run_id, step_key, attempt) do update
       set token = excluded.token
     where steps.status = 'running'
    returning namespace, run_id, step_key as key, attempt, token, (select now from t) as at
)
{passed: written};

-- name: complete_steps
-- Differs: arrays in, one statement, with the run locked while its token is checked.
-- key: namespace, run_id, key, attempt, token
with held as materialized (
    select i.*
      from {given: run_id text, namespace text, key text, attempt bigint, kind text, order bigint, token bigint,
                   failures bigint, input_hash bytea, output bytea, ran_for bigint} as i
     cross join lateral (
           select 1 from runs r
            where r.namespace = i.namespace and r.id = i.run_id and r.token = i.token and r.status = 'running'
           {for_update}) x
),
t as materialized (
    select {now} as now, count(*) from held
),
written as (
    insert into steps (namespace, run_id, step_key, attempt, kind, status, step_order, token, failures, input_hash,
                       output, started_at, finished_at)
    select h.namespace, h.run_id, h.key, h.attempt, h.kind, 'completed', h."order", h.token, h.failures, h.input_hash,
           h.output, (select now from t) - h.ran_for, (select now from t)
      from held h
    on conflict (namespace, run_id, step_key, attempt) do update
       set status = 'completed', step_order = excluded.step_order, token = excluded.token,
           failures = excluded.failures, input_hash = excluded.input_hash, output = excluded.output, failure = null,
           started_at = case when steps.status = 'running' then excluded.started_at else steps.started_at end,
           finished_at = excluded.finished_at
     where steps.status in ('running', 'waiting')
    returning namespace, run_id, step_key as key, attempt, token, finished_at as at
)
{passed: written};

-- name: awaited_children
-- Differs: an array in, and a lateral that stays one probe per element whatever the statistics say.
select x.awaits
  from unnest(:ids::text[]) as i (value)
 cross join lateral (
       select s.awaits from steps s
        where s.namespace = :namespace and s.run_id = :run_id and s.kind = 'child' and s.awaits = i.value
          and s.status = 'waiting' and s.dropped = 0
       offset 0) x;

-- name: renew_pipelines
-- Differs: arrays in, one statement, with the pipelines locked in the order of names while their tokens are checked.
-- key: pipeline, namespace, token
with held as materialized (
    select i.*
      from {given: pipeline text, namespace text, token bigint, renew_for bigint} as i
     cross join lateral (
           select 1 from pipelines p
            where p.namespace = i.namespace and p.name = i.pipeline and p.token = i.token and p.status = 'running'
           {lock_pipeline}) x
),
t as materialized (
    select {now} as now, count(*) from held
),
written as (
    update pipelines p
       set available_at = greatest(p.available_at, (select now from t) + h.renew_for)
      from held h
     where p.namespace = h.namespace and p.name = h.pipeline
    returning h.pipeline, h.namespace, h.token, (select now from t) as at
)
{passed: written};

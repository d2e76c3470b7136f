-- Every overlay here differs for the same reasons: one statement for the whole batch costs one round trip and one
-- commit; a lateral with a row lock cannot be flattened, so it stays one probe of the primary key per row whatever the
-- statistics say; and a row that this statement has locked is changed by an upsert that never inserts (hence its empty
-- columns), because `update … from` may be planned as a scan of the table.

-- name: create_runs
-- Differs: arrays in, one statement. A repeat finds its payload written, so payloads need no join with what was created.
-- key: namespace, id
with given as materialized (
    select i.*, t.now
      from (select {now} as now) as t
     cross join {given: id text, namespace text, name text, version text, queue text, priority bigint, at bigint,
                        delay_for bigint, start_key text, input bytea, timeout_for bigint, parent text,
                        parent_step text, follows_parent bigint} as i
),
{watched:given},
created as (
    insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, expires_at,
                      starts_at, parent, parent_step, follows_parent)
    select namespace, id, name, version, queue, priority, 'pending', coalesce(at, now + coalesce(delay_for, 0)), now,
           coalesce(at, now + coalesce(delay_for, 0)) + timeout_for, coalesce(at, now + delay_for),
           parent, parent_step, follows_parent
      from given
    on conflict do nothing
    returning namespace, id, name, created_at as at
),
stored as (
    insert into payloads (namespace, run_id, start_key, input)
    select namespace, id, start_key, input from given
     where parent is null or id in (select c.id from created c)
    on conflict (namespace, run_id) do nothing
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select namespace, 'run', id, null, 'pending', 'start', at from created
     where (namespace, name) not in (select namespace, name from watched)
),
heard as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select namespace, 'run', id, null, 'pending', 'start', at from created
     where (namespace, name) in (select namespace, name from watched)
    {returned}
),
{fired_new:heard, created}
{passed: created};

-- name: dispatch_runs
-- Differs: arrays in, one statement, which goes by the gates itself; they stay as they are until this is committed. Behind
-- a closed one a run is created as any other, and answered like what did not pass.
-- key: namespace, id
with given as materialized (
    select i.*
      from {given: id text, namespace text, name text, version text, queue text, priority bigint, worker text,
                   poll bigint, claim_for bigint, start_key text, input bytea, timeout_for bigint} as i
),
{watched:given},
shared as materialized (
    select x.*
      from (select distinct i.namespace, n.name
              from given i cross join lateral (values (i.namespace), (i.queue), (i.name)) as n (name)
             order by i.namespace, n.name) as b
     cross join lateral (
           select g.namespace, g.kind, g.name, g.is_paused from gates g
            where g.namespace = b.namespace and g.name = b.name
           {for_share}) x
),
t as materialized (
    select {now} as now, count(*) from shared
),
judged as materialized (
    select i.*, (select now from t) as now,
           not exists (select 1 from shared g
                        where g.is_paused = 1 and g.namespace = i.namespace
                          and (g.kind = 'namespace' or (g.kind = 'queue' and g.name = i.queue)
                               or (g.kind = 'workflow' and g.name = i.name))) as is_open
      from given i
),
created as (
    insert into runs (namespace, id, name, version, queue, priority, status, available_at, token, worker, poll,
                      attempts, created_at, started_at, expires_at)
    select namespace, id, name, version, queue, priority,
           case when is_open then 'running' else 'pending' end,
           case when is_open then now + least(claim_for, timeout_for) else now end,
           case when is_open then 1 else 0 end, case when is_open then worker end, case when is_open then poll else 0 end,
           case when is_open then 1 else 0 end, now, case when is_open then now end, now + timeout_for
      from judged
    on conflict do nothing
    returning namespace, id, name, status, created_at as at
),
stored as (
    insert into payloads (namespace, run_id, start_key, input)
    select namespace, id, start_key, input from judged
    on conflict (namespace, run_id) do nothing
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select namespace, 'run', id, null, status, case when status = 'running' then 'dispatch' else 'start' end, at
      from created
     where (namespace, name) not in (select namespace, name from watched)
),
heard as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select namespace, 'run', id, null, status, case when status = 'running' then 'dispatch' else 'start' end, at
      from created
     where (namespace, name) in (select namespace, name from watched)
    {returned}
),
{fired_new:heard, created},
begun as (
    select c.namespace, c.id, c.at from created c where c.status = 'running'
)
{passed: begun};

-- name: claim_runs
-- Differs: reads the lanes without locks, twice as many rows as asked for, then locks by key in order of urgency, skips
-- what others hold, and checks again. `coalesce` keeps that check away from the claim index: with bad statistics a walk
-- along it looks as cheap as the primary key. The time is a scalar subselect: as a join it would be no index bound.
-- The gates are locked first, and stay as they are until this is committed. A run that somebody began to watch since this
-- statement began is left for the next one, which sees them.
with recursive t as materialized (
    select {now} as now
),
shared as materialized (
    select x.*
      from (select :namespace::text as name
            union select s.value ->> 0 from {elements:served} as s
            union select s.value ->> 1 from {elements:served} as s) as n
     cross join lateral (
           select g.kind, g.name, g.is_paused from gates g where g.namespace = :namespace and g.name = n.name
           {for_share}) x
),
closed as materialized (
    select g.kind, g.name from shared g where g.is_paused = 1
),
{lanes},
due as materialized (
    select x.id, l.claim_for
      from lanes l
     cross join lateral (
           select r.id, r.priority, r.available_at from runs r
            where r.namespace = :namespace and r.queue = l.queue and r.name = l.name and r.version = l.version
              and r.priority = l.priority and r.available_at <= (select now from t)
            order by r.available_at, r.id limit 2 * :limit::bigint) x
     where l.priority is not null
     order by x.priority desc, x.available_at, x.id
     limit 2 * :limit::bigint
),
picked as materialized (
    select x.*, d.claim_for
      from due d
     cross join lateral (
           select {run}, r.armed from runs r
            where r.namespace = :namespace and r.id = d.id
              and coalesce(r.available_at <= (select now from t), false)
           {skip_locked}) x
     where {is_fresh:x, x.namespace, x.id}
     limit :limit::bigint
),
{watched:(select :namespace::text as namespace)},
claimed as materialized (
    select r.namespace, r.id, r.name, r.version, r.queue, r.priority, 'running' as status,
           least((select now from t) + r.claim_for, greatest(r.expires_at, (select now from t)
                 + case when r.expires_at is null then r.claim_for else 0 end)) as available_at, r.token + 1 as token,
           :worker::text as worker, :poll::bigint as poll, r.attempts + 1 as attempts,
           r.recoveries + case when r.status = 'running' then 1 else 0 end as recoveries,
           r.created_at, coalesce(r.started_at, (select now from t)) as started_at, r.finished_at,
           r.expires_at, r.held, r.parent, r.parent_step, 0::bigint as unmet, r.starts_at, r.retry_of,
           r.origin, r.begun_at, r.schedule, r.slot, r.scheduled_at, r.kind, r.ready_at,
           r.status as was, r.available_at as due_at, r.worker as holder
      from picked r
),
written as (
    insert into runs (namespace, id, name, version, queue, priority, status, available_at, token, worker, poll,
                      attempts, recoveries, created_at, started_at)
    select c.namespace, c.id, '', '', '', 0, c.status, c.available_at, c.token, c.worker, c.poll,
           c.attempts, c.recoveries, 0, c.started_at
      from claimed c
    on conflict (namespace, id) do update
       set status = excluded.status, available_at = excluded.available_at, token = excluded.token,
           worker = excluded.worker, poll = excluded.poll, attempts = excluded.attempts,
           recoveries = excluded.recoveries, started_at = excluded.started_at, unmet = 0
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select p.namespace, 'run', p.id, p.status, 'running',
           case when p.status = 'running' then 'recover' else 'claim' end, (select now from t)
      from picked p
     where not {is_watched:p}
),
heard as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select p.namespace, 'run', p.id, p.status, 'running',
           case when p.status = 'running' then 'recover' else 'claim' end, (select now from t)
      from picked p
     where {is_watched:p}
    {returned}
),
{fired_heard:heard}
select c.*, y.input, y.start_key, (select now from t) as at
  from claimed c
  left join lateral (
       select p.input, p.start_key from payloads p where p.namespace = c.namespace and p.run_id = c.id limit 1) y on true;

-- name: renew_claims
-- Differs: arrays in, one statement, with the runs locked in the order of ids while their tokens are checked.
-- key: run_id, namespace, token
with held as materialized (
    select i.*, x.available_at, x.expires_at
      from {given: run_id text, namespace text, token bigint, renew_for bigint} as i
     cross join lateral (
           select r.available_at, r.expires_at from runs r
            where r.namespace = i.namespace and r.id = i.run_id and r.token = i.token and r.status = 'running'
           {for_update}) x
),
t as materialized (
    select {now} as now, count(*) from held
),
written as (
    insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, token)
    select h.namespace, h.run_id, '', '', '', 0, 'running',
           greatest(h.available_at, least((select now from t) + h.renew_for, h.expires_at)), 0, h.token
      from held h
    on conflict (namespace, id) do update set available_at = excluded.available_at
    returning id as run_id, namespace, token, (select now from t) as at
)
{passed: written};

-- name: finish_runs
-- Differs: arrays in, one statement; the time is read once all of them are locked. A run that somebody began to watch
-- since this statement began does not pass: the next one sees them.
-- key: namespace, run_id, token
with held as materialized (
    select i.*, x.armed, x.name
      from {given: run_id text, namespace text, token bigint, status text, result_hash bytea, output bytea,
                   failure bytea} as i
     cross join lateral (
           select r.armed, r.name from runs r
            where r.namespace = i.namespace and r.id = i.run_id and r.token = i.token and r.status = 'running'
           {for_update}) x
     where {is_fresh:x, i.namespace, i.run_id}
),
t as materialized (
    select {now} as now, count(*) from held
),
{watched:held},
written as (
    insert into runs (namespace, id, name, version, queue, priority, status, created_at, finished_at, result_hash)
    select h.namespace, h.run_id, '', '', '', 0, h.status, 0, (select now from t), h.result_hash from held h
    on conflict (namespace, id) do update
       set status = excluded.status, available_at = null, worker = null, finished_at = excluded.finished_at,
           result_hash = excluded.result_hash, held = 0, unmet = 0
),
stored as (
    insert into payloads (namespace, run_id, input, output, failure)
    select h.namespace, h.run_id, ''::bytea, h.output, h.failure from held h
    on conflict (namespace, run_id) do update set output = excluded.output, failure = excluded.failure
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select h.namespace, 'run', h.run_id, 'running', h.status, 'finish', (select now from t) from held h
     where not {is_watched:h}
),
heard as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select h.namespace, 'run', h.run_id, 'running', h.status, 'finish', (select now from t) from held h
     where {is_watched:h}
    {returned}
),
{fired_heard:heard},
ended as (
    select h.namespace, h.run_id, h.token, (select now from t) as at from held h
)
{passed: ended};

-- name: standings_of_runs
-- Differs: scalar subselects instead of `exists`, which would be planned as a hash of the whole namespace.
select r.id, r.status, r.token, r.held, x.is_here is not null
  from {rows:runs.id:ids}
  left join lateral (
       select true as is_here from steps s
        where s.namespace = r.namespace and s.run_id = r.id and s.status = 'waiting' and s.awaits is not null
          and s.dropped = 0
          and case when s.kind = 'child'
                   then (select c.finished_at is not null and c.parent = s.run_id from runs c
                          where c.namespace = s.namespace and c.id = s.awaits offset 0)
                   else (select true from inbox b
                          where b.namespace = s.namespace and b.run_id = s.run_id and b.kind = s.kind
                            and b.name = case when s.kind = 'event' then s.awaits else s.step_key end
                            and b.taken_by is null limit 1) end
        limit 1) x on true;

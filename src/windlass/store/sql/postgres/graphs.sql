-- Every overlay here differs for the same reasons as those of runs: one statement for a whole batch, and probes in
-- laterals that cannot be planned as a scan of the table.

-- name: create_jobs
-- Differs: arrays in, one statement.
-- key: namespace, id
with given as materialized (
    select i.*, t.now
      from (select {now} as now) as t
     cross join {given: id text, namespace text, graph text, name text, workflow text, version text, queue text,
                        priority bigint, status text, unmet bigint, kind text, input bytea, output bytea,
                        position bigint, is_group bigint, is_cleanup bigint, group_name text, matrix text,
                        max_parallel bigint, fail_fast bigint, is_held bigint, timeout_for bigint, retry_of text,
                        origin text, begun_at bigint, cause text} as i
),
created as (
    insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, finished_at,
                      expires_at, parent, parent_step, follows_parent, unmet, kind, ready_at, retry_of, origin, begun_at)
    select namespace, id, workflow, version, queue, priority, status, case when status = 'pending' then now end, now,
           case when status in ('completed', 'failed', 'cancelled', 'skipped') then now end,
           case when status in ('pending', 'paused') then now + timeout_for end, graph, name, 1 - is_cleanup, unmet, kind,
           case when unmet = 0 then now end, retry_of, origin, begun_at
      from given
),
stored as (
    insert into payloads (namespace, run_id, input, output) select namespace, id, input, output from given
),
known as (
    insert into jobs (namespace, graph, name, run_id, position, is_group, is_cleanup, group_name, matrix, max_parallel,
                      fail_fast, is_held, timeout_for)
    select namespace, graph, name, id, position, is_group, is_cleanup, group_name, matrix, max_parallel, fail_fast,
           is_held, timeout_for
      from given
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select namespace, 'run', id, null, status, cause, now from given
    {returned}
),
made as (
    select namespace, id, workflow as name from given
),
{fired_new:noted, made},
passed as (
    select namespace, id, now as at from given
)
{passed: passed};

-- name: create_edges
-- Differs: arrays in, one statement.
-- key: namespace, graph, job, upstream
with given as materialized (
    select i.* from {given: job text, namespace text, graph text, upstream text, accepts text, is_group bigint,
                            is_resolved bigint} as i
),
created as (
    insert into edges (namespace, graph, job, upstream, accepts, is_group, is_resolved)
    select namespace, graph, job, upstream, accepts, is_group, is_resolved from given
    on conflict do nothing
),
passed as (
    select namespace, graph, job, upstream, 0::bigint as at from given
)
{passed: passed};

-- name: jobs_below
-- Differs: each step of the way is a probe, and what keeps the first from the primary key is said inside of it. A graph has
-- one namespace, by which nothing is found here.
select {edge}, p.input, {job}, {run}
  from unnest(:names::text[]) as i (value)
 cross join lateral (
       select * from edges x
        where x.namespace || '' = :namespace and x.graph = :graph and x.upstream = i.value and x.is_resolved = 0
       offset 0) e
 cross join lateral (
       select * from jobs x where x.namespace = :namespace and x.graph = :graph and x.name = e.job offset 0) j
 cross join lateral (select * from runs x where x.namespace = :namespace and x.id = j.run_id offset 0) r
 cross join lateral (select * from payloads x where x.namespace = :namespace and x.run_id = j.run_id offset 0) p
 order by r.id || '' {for_update};

-- name: edges_below_skipped
-- Differs: a list is an array, and each step of the walk is a probe.
with recursive skipped (name) as (
    select i.value collate "C" from unnest(:names::text[]) as i (value)
    union
    select x.job from skipped s
     cross join lateral (
           select e.job from edges e
            where e.namespace || '' = :namespace and e.graph = :graph and e.upstream = s.name
              and e.is_resolved = 0 and e.accepts not like '%skipped%' offset 0) x
)
select {edge} from skipped s
 cross join lateral (
       select * from edges x
        where x.namespace || '' = :namespace and x.graph = :graph and x.upstream = s.name and x.is_resolved = 0
       offset 0) e;

-- name: lock_jobs
-- Differs: each run is a probe of the primary key.
select {job}, {run}
  from {rows:jobs.name:names:graph}
 cross join lateral (select * from runs x where x.namespace = :namespace and x.id = j.run_id offset 0) r
 order by r.id || '' {for_update};

-- name: held_jobs
-- Differs: that the job is held is said inside of the probe, because the index holds no others.
select j.matrix, j.name from unnest(:names::text[]) as i (value)
 cross join lateral (
       select * from jobs x
        where x.namespace = :namespace and x.graph = :graph and x.matrix = i.value and x.is_held = 1 offset 0) j
 order by j.position;

-- name: lock_open_jobs
-- Differs: the jobs of the graph are a range of their index, and each run a probe.
select {job}, {run}
  from (select * from runs x where x.namespace = :namespace and x.parent = :graph and x.finished_at is null offset 0) r
 cross join lateral (
       select * from jobs y where y.namespace = :namespace and y.graph = :graph and y.name = r.parent_step offset 0) j
 order by r.id || '' {for_update};

-- name: ends_of_jobs
-- Differs: each run is a probe of the primary key.
select r.parent_step, r.status
  from (select * from jobs x where x.namespace = :namespace and x.graph = :graph offset 0) j
 cross join lateral (select * from runs x where x.namespace = :namespace and x.id = j.run_id offset 0) r;

-- name: skip_jobs
-- Differs: arrays in, one statement.
-- key: namespace, id
with held as materialized (
    select i.* from {given: id text, namespace text, graph text, name text, was text, because text, data bytea} as i
     cross join lateral (
           select 1 from runs r
            where r.namespace = i.namespace and r.id = i.id and r.status = i.was and r.attempts = 0
           {for_update}) x
),
t as materialized (
    select {now} as now, count(*) from held
),
written as (
    insert into runs (namespace, id, name, version, queue, priority, status, created_at, finished_at)
    select h.namespace, h.id, '', '', '', 0, 'skipped', 0, (select now from t) from held h
    on conflict (namespace, id) do update
       set status = excluded.status, available_at = null, finished_at = excluded.finished_at, unmet = 0, held = 0
),
decided as (
    insert into jobs (namespace, graph, name, run_id, position, is_group, is_cleanup, fail_fast, is_held, decided_by)
    select h.namespace, h.graph, h.name, '', 0, 0, 0, 0, 0, h.because from held h
    on conflict (namespace, graph, name) do update set decided_by = excluded.decided_by, is_held = 0
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)
    select h.namespace, 'run', h.id, h.was, 'skipped', 'skip', (select now from t), h.data from held h
    {returned}
),
{fired:noted},
passed as (
    select h.namespace, h.id, (select now from t) as at from held h
)
{passed: passed};

-- name: release_jobs
-- Differs: arrays in, one statement.
-- key: namespace, id
with held as materialized (
    select i.* from {given: id text, namespace text, status text, was text, timeout_for bigint, cause text} as i
     cross join lateral (
           select 1 from runs r
            where r.namespace = i.namespace and r.id = i.id and r.status = i.was and r.attempts = 0
           {for_update}) x
),
t as materialized (
    select {now} as now, count(*) from held
),
written as (
    insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, ready_at, expires_at)
    select h.namespace, h.id, '', '', '', 0, h.status, case when h.status = 'pending' then (select now from t) end, 0,
           (select now from t), (select now from t) + h.timeout_for
      from held h
    on conflict (namespace, id) do update
       set unmet = 0, status = excluded.status, available_at = excluded.available_at,
           ready_at = coalesce(runs.ready_at, excluded.ready_at), expires_at = excluded.expires_at
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select h.namespace, 'run', h.id, h.was, h.status, h.cause, (select now from t) from held h where h.was <> h.status
    {returned}
),
{fired:noted},
passed as (
    select h.namespace, h.id, (select now from t) as at from held h
)
{passed: passed};

-- name: dispatch_jobs
-- Differs: arrays in, one statement, which goes by the gates itself; they stay as they are until this is committed. What
-- stands behind a closed one does not pass.
-- key: namespace, id
with given as materialized (
    select i.* from {given: id text, namespace text, queue text, workflow text, was text, worker text, poll bigint,
                            claim_for bigint, timeout_for bigint} as i
),
shared as materialized (
    select x.*
      from (select distinct i.namespace, n.name
              from given i cross join lateral (values (i.namespace), (i.queue), (i.workflow)) as n (name)
             order by i.namespace, n.name) as b
     cross join lateral (
           select g.namespace, g.kind, g.name, g.is_paused from gates g
            where g.namespace = b.namespace and g.name = b.name
           {for_share}) x
),
held as materialized (
    select i.*, x.token, x.attempts
      from given i
     cross join lateral (
           select r.token, r.attempts from runs r
            where r.namespace = i.namespace and r.id = i.id and r.status = i.was and r.attempts = 0
           {for_update}) x
     where not exists (select 1 from shared g
                        where g.is_paused = 1 and g.namespace = i.namespace
                          and (g.kind = 'namespace' or (g.kind = 'queue' and g.name = i.queue)
                               or (g.kind = 'workflow' and g.name = i.workflow)))
),
t as materialized (
    select {now} as now, count(*) from held
),
written as (
    insert into runs (namespace, id, name, version, queue, priority, status, available_at, token, worker, poll, attempts,
                      created_at, started_at, ready_at, expires_at)
    select h.namespace, h.id, '', '', '', 0, 'running', (select now from t) + least(h.claim_for, h.timeout_for),
           h.token + 1, h.worker, h.poll, h.attempts + 1, 0, (select now from t), (select now from t),
           (select now from t) + h.timeout_for
      from held h
    on conflict (namespace, id) do update
       set unmet = 0, status = excluded.status, available_at = excluded.available_at, token = excluded.token,
           worker = excluded.worker, poll = excluded.poll, attempts = excluded.attempts,
           started_at = excluded.started_at, ready_at = coalesce(runs.ready_at, excluded.ready_at),
           expires_at = excluded.expires_at
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
    select h.namespace, 'run', h.id, h.was, 'running', 'dispatch', (select now from t) from held h
    {returned}
),
{fired:noted},
passed as (
    select h.namespace, h.id, (select now from t) as at from held h
)
{passed: passed};

-- name: steer_jobs
-- Differs: one statement.
with changed as (
    update runs
       set status = :status, available_at = :available_at, held = :held, worker = :worker, recoveries = :recoveries,
           unmet = :unmet
     where namespace = :namespace and id = :id and token = :token and status = :was
    returning namespace, id
),
noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)
    select c.namespace, 'run', c.id, :was, :status, :cause, {now}, :data from changed c
    {returned}
)
{fire_noted:noted};

-- name: needs_of_claims
-- Differs: every step of the way is a probe of a primary key.
with held as materialized (
    select r.id, r.token, r.parent, r.parent_step, row_number() over (partition by r.parent order by r.id) as place
      from {rows:runs.id:ids}
     where r.status = 'running' and r.kind in ('job', 'group')
)
select h.id, h.token, h.parent, h.parent_step, p.input, null as name, g.name as workflow, g.version, null as status,
       null::bigint as is_group, null as group_name, null as matrix, null::bytea as output, null::bytea as failure,
       -1::bigint as position
  from held h
  left join lateral (
       select x.input from payloads x where x.namespace = :namespace and x.run_id = h.parent and h.place = 1 offset 0) p
    on true
 cross join lateral (select * from runs x where x.namespace = :namespace and x.id = h.parent offset 0) g
union all
select h.id, h.token, h.parent, h.parent_step, null, j.name, r.name, r.version, r.status, e.is_group, j.group_name,
       j.matrix, p.output, p.failure, j.position
  from held h
 cross join lateral (
       select * from edges x
        where x.namespace = :namespace and x.graph = h.parent and x.job = h.parent_step offset 0) e
 cross join lateral (
       select * from jobs x where x.namespace = :namespace and x.graph = h.parent and x.name = e.upstream offset 0) j
 cross join lateral (select * from runs x where x.namespace = :namespace and x.id = j.run_id offset 0) r
 cross join lateral (select * from payloads x where x.namespace = :namespace and x.run_id = j.run_id offset 0) p
 order by 1, 15;

-- name: page_of_jobs
-- Differs: each run is a probe of the primary key.
select {job}, {run}, (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id)
  from (select * from jobs x
         where x.namespace = :namespace and x.graph = :graph and x.position > :after and x.position >= 0
         order by x.position limit :limit) j
 cross join lateral (select * from runs x where x.namespace = :namespace and x.id = j.run_id offset 0) r
 order by j.position;

-- name: some_jobs
-- Differs: each run is a probe of the primary key.
select {job}, {run}, (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id)
  from {rows:jobs.name:names:graph}
 cross join lateral (select * from runs x where x.namespace = :namespace and x.id = j.run_id offset 0) r
 order by j.position;

-- name: page_of_graphs
-- Differs: the page is a range of the primary key, and each run a probe.
select {graph}, {run}, (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id)
  from (select * from graphs x
         where x.namespace = :namespace and x.id < :before
           and (cast(:name as text) is null or x.name = :name)
           and (cast(:is_open as bigint) is null or (x.open > 0) = (:is_open::bigint = 1))
         order by x.id desc limit :limit) g
 cross join lateral (select * from runs x where x.namespace = :namespace and x.id = g.id offset 0) r
 order by g.id desc;

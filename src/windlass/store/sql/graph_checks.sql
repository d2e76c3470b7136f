-- Read-only: what graphs must look like whatever happened to them, for doctor and for tests.

-- name: inconsistencies_of_graphs
-- What cannot be in a graph, whatever crashed: a row for each rule that is broken, with the subject that breaks it.
-- Only what holds at every commit. Jobs of a graph that is over may be removed before it is.
with work as not materialized (
    select r.namespace, r.parent as graph, r.parent_step as name, r.id, r.status, r.unmet, r.attempts, r.ready_at,
           case when r.finished_at is null then 1 else 0 end as is_open
      from runs r
     where r.kind in ('job', 'group')
),
needed as not materialized (
    select e.namespace, e.graph, e.job, case when u.finished_at is null then 1 else 0 end as is_open,
           case when u.finished_at is null or ',' || e.accepts || ',' like '%,' || u.status || ',%' then 0
                when e.is_group = 1 and u.status = 'completed' then 0
                else 1 end as is_refused
      from edges e
      join jobs j on j.namespace = e.namespace and j.graph = e.graph and j.name = e.upstream
      join runs u on u.namespace = j.namespace and u.id = j.run_id
     where e.is_resolved = 0
),
opened as materialized ( -- in one pass: without statistics a join would be one loop in another
    select n.namespace, n.graph, n.job, sum(n.is_open) as open, sum(n.is_refused) as refused, max(n.id) as id,
           max(n.unmet) as unmet, max(n.attempts) as attempts, max(n.held) as held, max(n.waits) as waits,
           max(n.ready_at) as ready_at
      from (select d.namespace, d.graph, d.job, d.is_open, d.is_refused, null as id, 0 as unmet, 0 as attempts, 0 as held,
                   0 as waits, cast(null as bigint) as ready_at
              from needed d
             union all
            select j.namespace, j.graph, j.name, 0, 0, r.id, r.unmet, r.attempts, j.is_held,
                   case when r.finished_at is null then 1 else 0 end, r.ready_at
              from jobs j join runs r on r.namespace = j.namespace and r.id = j.run_id) as n
     group by n.namespace, n.graph, n.job
),
counted as (
    select w.namespace, w.graph, count(*) as jobs, sum(w.is_open) as open,
           sum(case when w.status = 'completed' then 1 else 0 end) as completed,
           sum(case when w.status = 'failed' then 1 else 0 end) as failed,
           sum(case when w.status = 'cancelled' then 1 else 0 end) as cancelled,
           sum(case when w.status = 'skipped' then 1 else 0 end) as skipped,
           sum(j.is_held * w.is_open) as held
      from work w
      join jobs j on j.namespace = w.namespace and j.graph = w.graph and j.name = w.name
     group by w.namespace, w.graph
),
windows as (
    select j.namespace, j.graph, j.matrix, min(j.max_parallel) as most, sum(j.is_held * w.is_open) as held,
           sum((1 - j.is_held) * w.is_open) as going
      from jobs j
      join work w on w.namespace = j.namespace and w.graph = j.graph and w.name = j.name
     where j.max_parallel is not null
     group by j.namespace, j.graph, j.matrix
)
select 'a graph has no run' as rule, g.namespace, g.id as subject from graphs g
 where not exists (select 1 from runs r where r.namespace = g.namespace and r.id = g.id and r.kind = 'graph')
union all
select 'a graph has no counts', r.namespace, r.id from runs r
 where r.kind = 'graph' and not exists (select 1 from graphs g where g.namespace = r.namespace and g.id = r.id)
union all
select 'a graph counts other jobs than it has', g.namespace, g.id
  from graphs g
  join runs r on r.namespace = g.namespace and r.id = g.id and r.finished_at is null
  left join counted c on c.namespace = g.namespace and c.graph = g.id
 where c.jobs is distinct from g.jobs or c.open <> g.open or c.completed <> g.completed or c.failed <> g.failed
    or c.cancelled <> g.cancelled or c.skipped <> g.skipped or c.held <> g.held
union all
select 'the counts of a graph do not add up', g.namespace, g.id from graphs g
 where g.jobs <> g.open + g.completed + g.failed + g.cancelled + g.skipped or g.held < 0 or g.held > g.open
union all
select 'a graph is over and its jobs are not, or the other way round', g.namespace, g.id
  from graphs g join runs r on r.namespace = g.namespace and r.id = g.id
 where (g.open = 0) <> (r.finished_at is not null)
union all
select 'a graph is held by a worker', g.namespace, g.id
  from graphs g join runs r on r.namespace = g.namespace and r.id = g.id
 where r.status in ('pending', 'running', 'sleeping')
union all
select 'a job is not over and its graph is', w.namespace, w.id
  from work w join runs g on g.namespace = w.namespace and g.id = w.graph
 where w.is_open = 1 and g.finished_at is not null
union all
select 'a job has no place in its graph', w.namespace, w.id from work w
 where exists (select 1 from graphs g where g.namespace = w.namespace and g.id = w.graph)
   and not exists (select 1 from jobs j where j.namespace = w.namespace and j.graph = w.graph and j.run_id = w.id
                                          and j.name = w.name)
union all
select 'a job has no run', j.namespace, j.graph || ' ' || j.name from jobs j
 where not exists (select 1 from work w where w.namespace = j.namespace and w.graph = j.graph and w.id = j.run_id)
   and exists (select 1 from runs g where g.namespace = j.namespace and g.id = j.graph and g.finished_at is null)
union all
select 'an edge names a job that does not exist', e.namespace, e.graph || ' ' || e.job || ' ' || e.upstream from edges e
 where not exists (select 1 from jobs j where j.namespace = e.namespace and j.graph = e.graph and j.name = e.job)
    or not exists (select 1 from jobs j where j.namespace = e.namespace and j.graph = e.graph and j.name = e.upstream)
union all
select 'an edge to a group leads to another job', e.namespace, e.graph || ' ' || e.job || ' ' || e.upstream
  from edges e join jobs j on j.namespace = e.namespace and j.graph = e.graph and j.name = e.upstream
 where e.is_group = 1 and j.is_group = 0 or e.is_group = 0 and e.is_resolved = 1
union all
select 'a group is resolved and its generator has not completed', e.namespace, e.graph || ' ' || e.job || ' ' || e.upstream
  from edges e
  join jobs j on j.namespace = e.namespace and j.graph = e.graph and j.name = e.upstream
  join runs u on u.namespace = j.namespace and u.id = j.run_id
 where e.is_group = 1 and e.is_resolved = 1 and u.status <> 'completed'
union all
select 'a job needs a group and not each of its members', e.namespace, e.graph || ' ' || e.job || ' ' || e.upstream
  from edges e join jobs m on m.namespace = e.namespace and m.graph = e.graph and m.group_name = e.upstream
 where e.is_group = 1
   and (e.is_resolved = 0
        or not exists (select 1 from edges n where n.namespace = e.namespace and n.graph = e.graph and n.job = e.job
                                               and n.upstream = m.name))
union all
select 'a job counts other needs than are open', n.namespace, n.id from opened n
 where n.waits = 1 and n.attempts = 0 and n.unmet <> n.open + n.held
union all
select 'a job has begun before what it needs was over, and accepted', n.namespace, n.id from opened n
 where n.ready_at is not null and (n.open > 0 or n.refused > 0)
union all
select 'a job still waits although it can never begin', n.namespace, n.id from opened n
 where n.waits = 1 and n.ready_at is null and n.refused > 0
union all
select 'a job is ready and waits for what it needs, or the other way round', w.namespace, w.id from work w
 where w.is_open = 1 and (w.ready_at is null) <> (w.unmet > 0 and w.attempts = 0)
union all
select 'a job is skipped because of nobody', j.namespace, j.graph || ' ' || j.name
  from jobs j
  join work w on w.namespace = j.namespace and w.graph = j.graph and w.name = j.name
  left join work d on d.namespace = j.namespace and d.graph = j.graph and d.name = j.decided_by
 where (w.status = 'skipped') <> (j.decided_by is not null)
    or d.is_open = 1
union all
select 'more of a matrix are at work than may be', v.namespace, v.graph || ' ' || v.matrix from windows v
 where v.going > v.most
union all
select 'a job waits for its turn although there is room', v.namespace, v.graph || ' ' || v.matrix from windows v
 where v.held > 0 and v.going < v.most
 order by 1, 2, 3;

-- name: every_graph
-- All graphs, by id.
select {graph} from graphs g order by g.namespace, g.id;

-- name: every_job
-- All jobs with their runs, in the order they were written.
select j.graph, {job}, {run}
  from jobs j join runs r on r.namespace = j.namespace and r.id = j.run_id
 order by j.namespace, j.graph, j.position;

-- name: every_edge
-- Who needs whom, in all graphs.
select e.graph, {edge} from edges e order by e.namespace, e.graph, e.job, e.upstream;

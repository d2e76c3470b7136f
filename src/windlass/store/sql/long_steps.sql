-- For those who look after bodies that are at work for long. Every statement looks at a bounded number of rows.

-- name: long_running_steps
-- Bodies that have been at work for longer than a span, of runs that workers hold, the longest first.
select {run}, p.start_key, s.step_key, s.started_at
  from (select r.id, r.token from runs r where r.namespace = :namespace and r.worker > '' limit :looked) as k
       {probe:steps s:namespace = :namespace, run_id = k.id, status = 'running'}
       {probe:runs r:namespace = :namespace, id = k.id}
       {probe:payloads p:namespace = :namespace, run_id = k.id}
 where s.token = k.token and r.status = 'running' and s.started_at <= {now} - :span
 order by s.started_at, s.run_id, s.step_key
 limit :limit;

-- name: durations_in_run
-- How long these steps of one run took.
select s.finished_at - s.started_at from {rows:steps.step_key:keys:run_id}
 where s.status = 'completed' and s.started_at is not null;

-- name: durations_in_ended_runs
-- How long a step took in the runs of a workflow that ended lately, the latest first.
select s.finished_at - s.started_at
  from (select r.namespace, r.id, r.name, r.finished_at from runs r
         where r.status in ('completed', 'failed', 'cancelled', 'skipped') and r.finished_at >= 0
         order by r.finished_at desc
         limit :looked) as k
       {probe:steps s:namespace = k.namespace, run_id = k.id, step_key = :key}
 where k.namespace = :namespace and k.name = :name and s.status = 'completed' and s.started_at is not null
 order by k.finished_at desc
 limit :limit;

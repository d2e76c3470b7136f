-- For people: how full the queues are. Nothing here reads runs that are over, but the last that ended.

-- name: count_due_runs
-- Runs that have a due time, by lane and by how they stand. Read in the order of the claim index, which holds no others:
-- asked for all of them in no order, a planner would rather walk through every run of the namespace.
select q.queue, q.name, q.version, q.status, case when q.available_at <= {now} then 1 else 0 end as is_due,
       count(*) as runs, min(q.available_at) as earliest
  from (select r.queue, r.name, r.version, r.status, r.available_at
          from runs r
         where r.namespace = :namespace and r.available_at is not null
         order by r.queue, r.name, r.version, r.priority, r.available_at, r.id
         limit :most) as q
 group by q.queue, q.name, q.version, q.status, case when q.available_at <= {now} then 1 else 0 end;

-- name: count_parked_runs
-- Runs that are not over and have no due time: they wait for somebody. The index holds no others.
select r.queue, r.status, count(*) as runs
  from runs r
 where r.namespace = :namespace and r.available_at is null and r.finished_at is null
 group by r.queue, r.status;

-- name: count_ended_runs
-- The last runs that ended in a span until now, by queue; without a queue: those of other namespaces.
select case when e.namespace = :namespace then e.queue end as queue, count(*) as runs, min(e.finished_at) as earliest
  from (select r.namespace, r.queue, r.finished_at from runs r
         where r.status in ('completed', 'failed', 'cancelled', 'skipped') and r.finished_at > (select {now} - :span)
         order by r.finished_at desc
         limit :most) as e
 group by 1;

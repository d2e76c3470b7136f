-- name: late_runs
-- Runs that are not over although their time is, and that nobody holds: the latest first, of every namespace. One that
-- waits for another run of its schedule has not begun, and is not late; a graph that ends already is left to its cleanup.
select r.namespace, r.id, r.parent, r.schedule, r.kind from runs r
 where r.expires_at <= (select {now} - :late_for) and r.finished_at is null
   and (r.status <> 'running' or r.available_at <= (select {now}))
   and not (r.schedule is not null and r.attempts = 0 and r.unmet > 0)
   and not (r.kind = 'graph'
            and exists (select 1 from graphs g where g.namespace = r.namespace and g.id = r.id and g.ending is not null))
 order by r.expires_at
 limit :limit;

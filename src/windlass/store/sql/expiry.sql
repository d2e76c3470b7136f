-- name: late_runs
-- Runs that are not over although their time is, and that nobody holds: the latest first, of every namespace. One that
-- waits for another run of its schedule has not begun, and is not late.
select r.namespace, r.id, r.parent, r.schedule from runs r
 where r.expires_at <= (select {now} - :late_for) and r.finished_at is null
   and (r.status <> 'running' or r.available_at <= (select {now}))
   and not (r.schedule is not null and r.attempts = 0 and r.unmet > 0)
 order by r.expires_at
 limit :limit;

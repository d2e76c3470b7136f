-- For pages: every statement looks at a bounded number of rows, whatever the history is.

-- name: search_runs
-- Runs that fit, the newest first, among the next few thousand: whoever wants more asks again from where this ended.
select {run}, (select p.start_key from payloads p where p.namespace = r.namespace and p.run_id = r.id) as start_key,
       case when r.status in ('failed', 'paused')
            then (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id) end as failure
  from (select r.id from runs r
         where r.namespace = :namespace and r.id < :before
         order by r.id desc
         limit :looked) as k
       {probe:runs r:namespace = :namespace, id = k.id}
 where (cast(:status as text) is null or r.status = :status)
   and (cast(:name as text) is null or r.name = :name)
   and (cast(:queue as text) is null or r.queue = :queue)
   and (cast(:created_after as bigint) is null or r.created_at >= :created_after)
   and (cast(:text as text) is null or lower(r.id) like :text escape '!' or lower(r.name) like :text escape '!'
        or exists (select 1 from payloads p
                    where p.namespace = r.namespace and p.run_id = r.id and lower(p.start_key) like :text escape '!'))
 order by k.id desc
 limit :limit;

-- name: search_failed_runs
-- The same of runs that failed: they have an index of their own, so the newest is found however far back it is.
select {run}, p.start_key, p.failure
  from (select r.id from runs r
         where r.namespace = :namespace and r.status = 'failed' and r.id < :before
         order by r.id desc
         limit :looked) as k
       {probe:runs r:namespace = :namespace, id = k.id}
       {probe:payloads p:namespace = :namespace, run_id = k.id}
 where (cast(:name as text) is null or r.name = :name)
   and (cast(:queue as text) is null or r.queue = :queue)
   and (cast(:created_after as bigint) is null or r.created_at >= :created_after)
   and (cast(:text as text) is null or lower(r.id) like :text escape '!' or lower(r.name) like :text escape '!'
        or lower(p.start_key) like :text escape '!')
 order by k.id desc
 limit :limit;

-- name: search_paused_runs
-- The same of runs that are paused.
select {run}, p.start_key, p.failure
  from (select r.id from runs r
         where r.namespace = :namespace and r.status = 'paused' and r.id < :before
         order by r.id desc
         limit :looked) as k
       {probe:runs r:namespace = :namespace, id = k.id}
       {probe:payloads p:namespace = :namespace, run_id = k.id}
 where (cast(:name as text) is null or r.name = :name)
   and (cast(:queue as text) is null or r.queue = :queue)
   and (cast(:created_after as bigint) is null or r.created_at >= :created_after)
   and (cast(:text as text) is null or lower(r.id) like :text escape '!' or lower(r.name) like :text escape '!'
        or lower(p.start_key) like :text escape '!')
 order by k.id desc
 limit :limit;

-- name: last_looked_at
-- How far a search has looked back: the last of the runs it went through, if there are that many.
select r.id, r.created_at from runs r
 where r.namespace = :namespace and r.id < :before
 order by r.id desc
 limit 1 offset :skipped;

-- name: last_failed_looked_at
-- The same of runs that failed.
select r.id, r.created_at from runs r
 where r.namespace = :namespace and r.status = 'failed' and r.id < :before
 order by r.id desc
 limit 1 offset :skipped;

-- name: last_paused_looked_at
-- The same of runs that are paused.
select r.id, r.created_at from runs r
 where r.namespace = :namespace and r.status = 'paused' and r.id < :before
 order by r.id desc
 limit 1 offset :skipped;

-- name: unattended_failures
-- Runs of their own that failed lately and that nobody has tried again, the newest first.
select {run}, p.start_key, p.failure
  from (select r.id from runs r
         where r.namespace = :namespace and r.status = 'failed'
         order by r.id desc
         limit :looked) as k
       {probe:runs r:namespace = :namespace, id = k.id}
       {probe:payloads p:namespace = :namespace, run_id = k.id}
 where r.parent is null and r.finished_at > {now} - :span
   and (select count(*) from runs n where n.namespace = r.namespace and n.retry_of = r.id) = 0
 order by k.id desc
 limit :limit;

-- name: open_approvals
-- What people are asked, of the newest runs first. One whose run is over stays as it was, and is asked no more.
select {run}, s.step_key, s.awaits, s.started_at as asked_at, s.due_at
  from (select s.namespace, s.run_id, s.step_key, s.attempt from steps s
         where s.namespace = :namespace and s.kind = 'approval' and s.status = 'waiting'
         order by s.run_id desc, s.step_key desc
         limit :looked) as k
       {probe:steps s:namespace = k.namespace, run_id = k.run_id, step_key = k.step_key, attempt = k.attempt}
       {probe:runs r:namespace = k.namespace, id = k.run_id}
 where s.dropped = 0 and r.finished_at is null
 order by k.run_id desc, k.step_key desc
 limit :limit;

-- name: preview_run
-- One run with the beginnings of its payloads.
select {run}, p.start_key, substr(p.input, 1, :most), length(p.input), substr(p.output, 1, :most),
       coalesce(length(p.output), 0), p.failure
  from runs r
  join payloads p on p.namespace = r.namespace and p.run_id = r.id
 where r.namespace = :namespace and r.id = :id;

-- name: preview_steps
-- The first attempts of a run in the order they began, with the beginnings of their outputs.
select s.namespace, s.run_id, s.step_key, s.attempt, s.kind, s.status, s.step_order, s.token, s.failures, s.input_hash,
       substr(s.output, 1, :most) as output, s.failure, s.due_at, s.started_at, s.finished_at, s.awaits,
       substr(s.detail, 1, :most) as detail, s.dropped, coalesce(length(s.output), 0) as output_size
  from steps s
 where s.namespace = :namespace and s.run_id = :run_id
 order by coalesce(s.started_at, 0), coalesce(s.step_order, 0), s.step_key, s.attempt
 limit :limit;

-- name: last_entries
-- The last of the log about something, the newest first.
select g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at,
       substr(g.data, 1, :most) as data
  from log g
 where g.namespace = :namespace and g.subject_kind = :kind and g.subject_id = :id
 order by g.seq desc
 limit :limit;

-- name: list_minutes
-- What ended, by minute and queue.
select m.minute, m.queue, m.completed, m.failed, m.cancelled, m.took_sum, m.took_max from minutes m
 where m.namespace = :namespace and m.minute >= :since
 order by m.minute, m.queue
 limit :limit;

-- name: counted_until
-- Up to when ends of runs are counted; nothing: they never were.
select t.value from meta t where t.key = 'counted_until';

-- name: first_ended
-- When the first run behind a time ended, if that is before another time.
select r.finished_at from runs r
 where r.status in ('completed', 'failed', 'cancelled', 'skipped')
   and r.finished_at >= :since and r.finished_at < :until
 order by r.finished_at
 limit 1;

-- name: move_counted
-- Say that ends are counted up to here, unless somebody else has moved it meanwhile.
insert into meta (key, value) values ('counted_until', :until)
on conflict (key) do update set value = excluded.value where meta.value = :seen
returning key;

-- name: count_minutes
-- Count what ended between two times, by namespace, minute and queue.
insert into minutes (namespace, minute, queue, completed, failed, cancelled, took_sum, took_max)
select r.namespace, r.finished_at / 60000000 * 60000000 as minute, r.queue,
       sum(case when r.status in ('completed', 'skipped') then 1 else 0 end),
       sum(case when r.status = 'failed' then 1 else 0 end),
       sum(case when r.status = 'cancelled' then 1 else 0 end),
       sum(coalesce(r.finished_at - r.started_at, 0)), max(coalesce(r.finished_at - r.started_at, 0))
  from runs r
 where r.status in ('completed', 'failed', 'cancelled', 'skipped')
   and r.finished_at >= :since and r.finished_at < :until
 group by r.namespace, r.finished_at / 60000000 * 60000000, r.queue
on conflict (namespace, minute, queue) do nothing;

-- name: forget_minutes
-- What nobody looks at any more.
delete from minutes where minute < :before;

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
   and {wanted}
   and (cast(:text as text) is null or lower(r.id) like :text escape '!' or lower(r.name) like :text escape '!'
        or exists (select 1 from payloads p
                    where p.namespace = r.namespace and p.run_id = r.id and lower(p.start_key) like :text escape '!'))
 order by k.id desc
 limit :limit;

-- name: count_live_runs
-- How many runs are not over, up to a limit.
select (select count(*) from (select 1 from runs r where r.namespace = :namespace and r.available_at is not null
                               limit :most) as x)
     + (select count(*) from (select 1 from runs r
                               where r.namespace = :namespace and r.available_at is null and r.finished_at is null
                               limit :most) as y);

-- name: search_live_runs
-- The same of runs that are not over: the indexes of those hold no others, so an old one is found as soon as a new one.
select {run}, p.start_key, p.failure
  from (select a.id from (select r.id from runs r where r.namespace = :namespace and r.available_at is not null
                           limit :looked) as a
        union all
        select b.id from (select r.id from runs r
                           where r.namespace = :namespace and r.available_at is null and r.finished_at is null
                           limit :looked) as b) as k
       {probe:runs r:namespace = :namespace, id = k.id}
       {probe:payloads p:namespace = :namespace, run_id = k.id}
 where r.status = :status and r.id < :before
   and {with_text}
 order by r.id desc
 limit :limit;

-- name: find_runs
-- The run with this id, and the one that was started with this key.
select {run}, p.start_key, p.failure
  from (select cast(:id as text) as id
        union
        select k.run_id from keys k where k.namespace = :namespace and k.key = :key) as i
       {probe:runs r:namespace = :namespace, id = i.id}
       {probe:payloads p:namespace = :namespace, run_id = i.id}
 where (cast(:status as text) is null or r.status = :status)
   and {wanted}
 order by r.id desc;

-- name: search_failed_runs
-- The same of runs that failed: they have an index of their own, so the newest is found however far back it is.
select {run}, p.start_key, p.failure
  from (select r.id from runs r
         where r.namespace = :namespace and r.status = 'failed' and r.id < :before
         order by r.id desc
         limit :looked) as k
       {probe:runs r:namespace = :namespace, id = k.id}
       {probe:payloads p:namespace = :namespace, run_id = k.id}
 where {with_text}
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
 where {with_text}
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
         where r.namespace = :namespace and r.status = 'failed' and r.parent is null
         order by r.id desc
         limit :looked) as k
       {probe:runs r:namespace = :namespace, id = k.id}
       {probe:payloads p:namespace = :namespace, run_id = k.id}
 where r.finished_at > {now} - :span
   and (select count(*) from runs n where n.namespace = r.namespace and n.retry_of = r.id) = 0
 order by k.id desc
 limit :limit;

-- name: last_unattended_looked_at
-- How far the look for these goes back, if there are that many.
select r.created_at from runs r
 where r.namespace = :namespace and r.status = 'failed' and r.parent is null
 order by r.id desc
 limit 1 offset :skipped;

-- name: open_approvals
-- What people are asked, of the newest runs first, and whether it still is: one whose run is over stays as it was.
select {run}, s.step_key, s.awaits, s.started_at as asked_at, s.due_at,
       case when s.dropped = 0 and r.finished_at is null then 1 else 0 end as is_open
  from (select s.namespace, s.run_id, s.step_key, s.attempt from steps s
         where s.namespace = :namespace and s.kind = 'approval' and s.status = 'waiting'
           and (s.run_id, s.step_key) < (:before_run, :before_key)
         order by s.run_id desc, s.step_key desc
         limit :looked) as k
       {probe:steps s:namespace = k.namespace, run_id = k.run_id, step_key = k.step_key, attempt = k.attempt}
       {probe:runs r:namespace = k.namespace, id = k.run_id}
 order by k.run_id desc, k.step_key desc;

-- name: asked_in_run
-- What somebody is asked in one run.
select s.namespace, s.run_id, s.step_key, s.attempt, s.kind, s.status, s.step_order, s.token, s.failures, s.input_hash,
       s.output, s.failure, s.due_at, s.started_at, s.finished_at, s.awaits, s.detail, s.dropped
  from steps s
 where s.namespace = :namespace and s.kind = 'approval' and s.status = 'waiting' and s.run_id = :run_id and s.dropped = 0
 order by s.step_key
 limit 1;

-- name: stopped_signals
-- Signals that are paused because what they fired could not be done, the newest first.
select {signal} from signals s
 where s.namespace = :namespace and s.status = 'paused'
   and (select count(*) from (select 1 from firings f
                               where f.namespace = s.namespace and f.signal_id = s.id and f.status = 'failed'
                               limit 1) as a) = 1
 order by s.id desc
 limit :limit;

-- name: preview_run
-- One run with the beginnings of its payloads.
select {run}, p.start_key, substr(p.input, 1, :most), length(p.input), substr(p.output, 1, :most),
       coalesce(length(p.output), 0), p.failure
  from runs r
  join payloads p on p.namespace = r.namespace and p.run_id = r.id
 where r.namespace = :namespace and r.id = :id;

-- name: preview_steps
-- The last attempts of a run, the latest first, with the beginnings of their outputs.
select s.namespace, s.run_id, s.step_key, s.attempt, s.kind, s.status, s.step_order, s.token, s.failures, s.input_hash,
       substr(s.output, 1, :most) as output, s.failure, s.due_at, s.started_at, s.finished_at, s.awaits,
       substr(s.detail, 1, :most) as detail, s.dropped, coalesce(length(s.output), 0) as output_size
  from (select s.step_key, s.attempt from steps s
         where s.namespace = :namespace and s.run_id = :run_id
         order by coalesce(s.started_at, 0) desc, coalesce(s.step_order, 0) desc, s.step_key desc, s.attempt desc
         limit :limit offset :skipped) as k
       {probe:steps s:namespace = :namespace, run_id = :run_id, step_key = k.step_key, attempt = k.attempt}
 order by coalesce(s.started_at, 0) desc, coalesce(s.step_order, 0) desc, s.step_key desc, s.attempt desc;

-- name: output_of_step
-- What one attempt came to.
select s.output from steps s
 where s.namespace = :namespace and s.run_id = :run_id and s.step_key = :step_key and s.attempt = :attempt;

-- name: last_messages
-- What was sent to a run lately, without what it says; the newest first.
select b.name, b.sent_at, b.taken_by from inbox b
 where b.namespace = :namespace and b.run_id = :run_id
 order by b.seq desc
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
-- What ended, by minute.
select m.minute, m.ended, m.failed, m.started, m.took_sum, m.took_max from minutes m
 where m.namespace = :namespace and m.minute >= :since
 order by m.minute
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
-- Count what ended between two times, by namespace and minute. What never started took no time.
insert into minutes (namespace, minute, ended, failed, started, took_sum, took_max)
select r.namespace, r.finished_at / 60000000 * 60000000 as minute, count(*),
       sum(case when r.status = 'failed' then 1 else 0 end),
       sum(case when r.started_at is null then 0 else 1 end),
       sum(case when r.started_at is null then 0 else r.finished_at - r.started_at end),
       max(case when r.started_at is null then 0 else r.finished_at - r.started_at end)
  from runs r
 where r.status in ('completed', 'failed', 'cancelled', 'skipped')
   and r.finished_at >= :since and r.finished_at < :until
 group by r.namespace, r.finished_at / 60000000 * 60000000
on conflict (namespace, minute) do nothing;

-- name: forget_minutes
-- What nobody looks at any more.
delete from minutes where minute < :before;

-- Read-only: what a database must look like whatever happened to it, for doctor and for tests.

-- name: inconsistencies
-- What cannot be, whatever crashed: a row for each rule that is broken, with the subject that breaks it.
-- Only what holds at every commit of every version stands here.
with ended as (
    select r.namespace, r.id, r.status,
           case when r.status in ('completed', 'failed', 'cancelled', 'skipped') then 1 else 0 end as is_over
      from runs r
),
path as (
    select g.namespace, g.subject_id, g.seq, g.from_status, g.to_status,
           lag(g.to_status) over (partition by g.namespace, g.subject_id order by g.seq) as before_status,
           row_number() over (partition by g.namespace, g.subject_id order by g.seq desc) as place
      from log g
     where g.subject_kind = 'run'
)
select 'a run that is due has no time' as rule, r.namespace, r.id as subject from runs r
 where r.status in ('pending', 'running', 'sleeping') and r.available_at is null
union all
select 'a run that is over has a time', r.namespace, r.id
  from runs r join ended e on e.namespace = r.namespace and e.id = r.id
 where e.is_over = 1 and r.available_at is not null
union all
select 'a running run has no holder', r.namespace, r.id from runs r
 where r.status = 'running' and (r.worker is null or r.token < 1)
union all
select 'a run that nobody executes has a holder', r.namespace, r.id from runs r
 where r.status <> 'running' and r.worker is not null
union all
select 'finished_at and status disagree', r.namespace, r.id
  from runs r join ended e on e.namespace = r.namespace and e.id = r.id
 where (e.is_over = 1) <> (r.finished_at is not null)
union all
select 'a run has more claims than tokens', r.namespace, r.id from runs r
 where r.attempts > r.token or r.attempts < 0
union all
select 'recoveries without claims', r.namespace, r.id from runs r
 where r.recoveries < 0 or r.recoveries > r.attempts
    or (r.recoveries > 0 and r.recoveries = r.attempts and r.status not in ('pending', 'cancelled')
        and not (r.status = 'failed'
                 and exists (select 1 from log g
                              where g.namespace = r.namespace and g.subject_kind = 'run' and g.subject_id = r.id
                                and g.to_status = 'failed' and g.cause = 'expire')))
union all
select 'a run that was given back still counts recoveries', r.namespace, r.id from runs r
 where r.status in ('waiting', 'pending', 'sleeping', 'paused') and r.recoveries <> 0
   and (select g.cause from log g
         where g.namespace = r.namespace and g.subject_kind = 'run' and g.subject_id = r.id
           and g.from_status is distinct from g.to_status
         order by g.seq desc limit 1) not in ('death', 'session_lost')
union all
select 'started_at and claims disagree', r.namespace, r.id from runs r
 where (r.attempts > 0) <> (r.started_at is not null)
union all
select 'a run has no payload', r.namespace, r.id from runs r
 where not exists (select 1 from payloads p where p.namespace = r.namespace and p.run_id = r.id)
union all
select 'a payload has no run', p.namespace, p.run_id from payloads p
 where not exists (select 1 from runs r where r.namespace = p.namespace and r.id = p.run_id)
union all
select 'output and status disagree', r.namespace, r.id
  from runs r join payloads p on p.namespace = r.namespace and p.run_id = r.id
 where (r.status = 'completed') <> (p.output is not null)
union all
select 'failure and status disagree', r.namespace, r.id
  from runs r join payloads p on p.namespace = r.namespace and p.run_id = r.id
 where (r.status = 'failed' and p.failure is null)
    or (r.status in ('waiting', 'pending', 'running', 'sleeping', 'completed') and p.failure is not null)
union all
select 'a run has no log', r.namespace, r.id from runs r
 where not exists (select 1 from path g where g.namespace = r.namespace and g.subject_id = r.id)
union all
select 'the log ends elsewhere than the run', r.namespace, r.id
  from runs r join path g on g.namespace = r.namespace and g.subject_id = r.id and g.place = 1
 where g.to_status <> r.status
union all
select 'the log has a gap', g.namespace, g.subject_id from path g
 where g.from_status is distinct from g.before_status
union all
select 'the log goes on after the end', g.namespace, g.subject_id from path g
 where g.from_status in ('completed', 'failed', 'cancelled', 'skipped')
union all
select 'the log tells of an unknown run', g.namespace, g.subject_id from path g
 where g.place = 1 and not exists (select 1 from runs r where r.namespace = g.namespace and r.id = g.subject_id)
union all
select 'a step belongs to no run', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where not exists (select 1 from runs r where r.namespace = s.namespace and r.id = s.run_id)
union all
select 'a step was written under a token nobody had', s.namespace, s.run_id || ' ' || s.step_key
  from steps s join runs r on r.namespace = s.namespace and r.id = s.run_id
 where s.token > r.token or s.token < 0
    or (s.token = 0 and (r.retry_of is null or s.status <> 'completed'))
union all
select 'an attempt follows the end of its step', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where exists (select 1 from steps m
                where m.namespace = s.namespace and m.run_id = s.run_id and m.step_key = s.step_key
                  and m.attempt < s.attempt
                  and (m.status = 'completed' or (m.status = 'failed' and m.due_at is null)))
union all
select 'an attempt is missing', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where s.attempt < 1
    or (s.attempt > 1
        and not exists (select 1 from steps m
                         where m.namespace = s.namespace and m.run_id = s.run_id and m.step_key = s.step_key
                           and m.attempt = s.attempt - 1))
union all
select 'attempts of one step differ in kind or input', s.namespace, s.run_id || ' ' || s.step_key
  from steps s join steps m on m.namespace = s.namespace and m.run_id = s.run_id and m.step_key = s.step_key
 where m.attempt = s.attempt - 1 and (m.kind <> s.kind or m.input_hash <> s.input_hash)
union all
select 'a completed step lacks its order, output or end', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where s.status = 'completed' and (s.step_order is null or s.output is null or s.finished_at is null)
union all
select 'a failed attempt lacks its failure or end', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where s.status = 'failed' and (s.failure is null or s.finished_at is null)
union all
select 'a failed attempt is neither final nor due again', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where s.status = 'failed' and (s.due_at is null) <> (s.step_order is not null)
union all
select 'an open step has a result', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where s.status in ('running', 'waiting')
   and (s.step_order is not null or s.output is not null or s.finished_at is not null)
union all
select 'a sleep has no end', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where s.kind = 'sleep' and s.due_at is null
union all
select 'a step counts failures it cannot have', s.namespace, s.run_id || ' ' || s.step_key from steps s
 where s.failures < 0 or s.failures > s.attempt or (s.status <> 'failed' and s.failures >= s.attempt)
union all
select 'two results of a run have one place', s.namespace, s.run_id from steps s
 where s.step_order is not null
 group by s.namespace, s.run_id, s.step_order having count(*) > 1
union all
select 'a run that nobody executes is held for a person', r.namespace, r.id from runs r
 where r.held <> 0 and r.status <> 'running'
union all
select 'a run that does not wait counts children', r.namespace, r.id from runs r
 where r.unmet < 0
    or (r.unmet > 0 and r.status <> 'waiting'
        and not (r.status = 'paused' and r.attempts = 0 and (r.schedule is not null or r.kind in ('job', 'group'))))
union all
select 'a waiting run waits for nothing', r.namespace, r.id from runs r
 where r.status = 'waiting' and r.kind <> 'graph'
   and not (r.unmet > 0 and r.attempts = 0 and (r.schedule is not null or r.kind in ('job', 'group')))
   and not exists (select 1 from steps s
                    where s.namespace = r.namespace and s.run_id = r.id and s.status = 'waiting' and s.dropped = 0
                      and s.kind in ('event', 'approval', 'child'))
union all
select 'a run waits for a message that is here', r.namespace, r.id from runs r
 where r.status = 'waiting'
   and exists (select 1 from steps s
                 join inbox m on m.namespace = s.namespace and m.run_id = s.run_id and m.kind = s.kind
                where s.namespace = r.namespace and s.run_id = r.id and s.status = 'waiting' and s.dropped = 0
                  and m.name = case when s.kind = 'event' then s.awaits else s.step_key end and m.taken_by is null)
union all
select 'a run waits for a child that is over', r.namespace, r.id from runs r
 where r.status = 'waiting'
   and (select count(*) from steps s
          join runs c on c.namespace = s.namespace and c.id = s.awaits
         where s.namespace = r.namespace and s.run_id = r.id and s.status = 'waiting' and s.dropped = 0
           and s.kind = 'child'
           and (c.status in ('failed', 'cancelled', 'skipped') or (c.status = 'completed' and r.unmet = 0))) > 0
union all
select 'a run counts other children than it waits for', r.namespace, r.id from runs r
 where r.unmet > 0 and not (r.attempts = 0 and (r.schedule is not null or r.kind in ('job', 'group')))
   and r.unmet <> (select count(*) from steps s
                     join runs c on c.namespace = s.namespace and c.id = s.awaits
                    where s.namespace = r.namespace and s.run_id = r.id and s.status = 'waiting' and s.dropped = 0
                      and s.kind = 'child' and c.finished_at is null)
union all
select 'a child has no parent', r.namespace, r.id from runs r
 where (r.parent is null) <> (r.parent_step is null)
union all
select 'a run tries one again that is gone', r.namespace, r.id from runs r
 where r.retry_of is not null
   and not exists (select 1 from runs p where p.namespace = r.namespace and p.id = r.retry_of)
union all
select 'a run is queued behind nothing', r.namespace, r.id from runs r
 where r.status = 'waiting' and r.unmet > 0 and r.attempts = 0 and r.schedule is not null
   and not exists (select 1 from runs b
                    where b.namespace = r.namespace and b.schedule = r.schedule and b.finished_at is null
                      and not (b.unmet > 0 and b.attempts = 0))
union all
select 'a run has a slot and no schedule', r.namespace, r.id from runs r
 where r.slot is not null and r.schedule is null
union all
select 'a slot was fired twice', r.namespace, r.schedule from runs r
 where r.slot is not null and r.schedule is not null
 group by r.namespace, r.schedule, r.slot having count(*) > 1
union all
select 'a schedule is paused and due', d.namespace, d.name from schedules d
 where d.status = 'paused' and d.available_at is not null
union all
select 'an active schedule has no next time', d.namespace, d.name from schedules d
 where d.status = 'active' and d.available_at is null and d.error is null
   and not exists (select 1 from runs r
                    where r.namespace = d.namespace and r.schedule = d.name and r.finished_at is null
                      and r.unmet > 0 and r.attempts = 0)
union all
select 'a namespace is disabled and its gate is open', n.name, n.name from namespaces n
 where n.is_enabled = 0
   and not exists (select 1 from gates g
                    where g.namespace = n.name and g.name = n.name and g.kind = 'namespace' and g.is_paused = 1)
union all
select 'a message belongs to no run', m.namespace, m.run_id || ' ' || m.id from inbox m
 where not exists (select 1 from runs r where r.namespace = m.namespace and r.id = m.run_id)
union all
select 'a message was received by no step', m.namespace, m.run_id || ' ' || m.id from inbox m
 where m.taken_by is not null
   and not exists (select 1 from steps s
                    where s.namespace = m.namespace and s.run_id = m.run_id and s.step_key = m.taken_by
                      and s.status = 'completed' and s.kind = m.kind)
union all
select 'a step received two messages', m.namespace, m.run_id || ' ' || m.taken_by from inbox m
 where m.taken_by is not null
 group by m.namespace, m.run_id, m.taken_by having count(*) > 1
union all
select 'a start key belongs to a run that was started otherwise', k.namespace, k.key
  from keys k
  join runs r on r.namespace = k.namespace and r.id = k.run_id
  join payloads p on p.namespace = k.namespace and p.run_id = k.run_id
 where p.start_key is distinct from k.key or r.name <> k.name or r.version <> k.version
 order by 1, 2, 3;

-- name: damage
-- What the database itself finds wrong with its files. PostgreSQL finds it when it reads them.
select cast(null as text) as message where 1 = 0;

-- name: schema_objects
-- What stands in our schema: tables, indexes that are in use, views, and what acts by itself on a write.
select case c.relkind when 'v' then 'view' when 'm' then 'view' when 'i' then 'index' else 'table' end as kind,
       c.relname::text as name
  from pg_catalog.pg_class c
  left join pg_catalog.pg_index i on i.indexrelid = c.oid
 where c.relnamespace = to_regnamespace('windlass') and c.relkind in ('r', 'p', 'f', 'v', 'm', 'i')
   and (i.indexrelid is null or i.indisvalid)
union all
select 'trigger', t.tgname || ' on ' || c.relname
  from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
 where c.relnamespace = to_regnamespace('windlass') and not t.tgisinternal
union all
select 'rule', w.rulename || ' on ' || c.relname
  from pg_catalog.pg_rewrite w join pg_catalog.pg_class c on c.oid = w.ev_class
 where c.relnamespace = to_regnamespace('windlass') and w.rulename <> '_RETURN'
 order by 1, 2;

-- name: store_settings
-- What the database says about its version and about how durable a commit is.
select s.name, s.setting as value from pg_catalog.pg_settings s
 where s.name in ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums');

-- name: feed_state
-- Since when something happened that the feed does not tell of yet, and how much is from the future of this server: it was
-- restored from another one.
select min(g.at) filter (where g.xid >= e.horizon and g.xid < e.next) as held_since,
       count(*) filter (where g.xid >= e.next) as ahead
  from log g
 cross join (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as horizon,
                    pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next) as e;

-- name: feed_holders
-- Transactions that have written something, and for how long they have been open: any of this server counts, whatever
-- database it is in.
select coalesce(a.pid, 0), coalesce(a.application_name, ''), coalesce(a.usename::text, ''), coalesce(a.datname::text, ''),
       coalesce(a.state, ''), (extract(epoch from clock_timestamp() - a.xact_start) * 1000000)::bigint as open_for
  from pg_catalog.pg_stat_activity a
 where a.backend_xid is not null and a.pid <> pg_backend_pid()
union all
select 0, 'prepared ' || p.gid, p.owner::text, p.database::text, 'prepared',
       (extract(epoch from clock_timestamp() - p.prepared) * 1000000)::bigint
  from pg_catalog.pg_prepared_xacts p
 order by 6 desc;

-- name: every_run
-- All runs, by id.
select {run}, r.result_hash from runs r order by r.namespace, r.id;

-- name: every_payload
-- All payloads, by run.
select p.namespace, p.run_id, p.start_key, p.input, p.output, p.failure from payloads p order by p.namespace, p.run_id;

-- name: every_step
-- All attempts of all steps.
select {step} from steps s order by s.namespace, s.run_id, s.step_key, s.attempt;

-- name: every_key
-- All start keys.
select k.namespace, k.key, k.name, k.version, k.input_hash, k.run_id, k.created_at, k.expires_at
  from keys k order by k.namespace, k.key;

-- name: every_log_entry
-- The whole log, oldest first.
select g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from log g order by g.seq;

-- name: every_worker
-- All workers, also those that have stopped.
select w.namespace, w.id, w.host, w.pid, w.served, w.slots, w.active, w.completed, w.failed,
       w.started_at, w.seen_at, w.stopped_at, w.lock_kind, w.draining, w.pipelines
  from workers w order by w.namespace, w.id;

-- name: every_schedule
-- All schedules, of every namespace.
select {schedule} from schedules r order by r.namespace, r.name;

-- name: every_cursor
-- All readers of the log that must not miss anything, the slowest of a namespace first.
select c.namespace, c.name, c.seq, c.moved_at from cursors c order by c.namespace, c.seq, c.name;

-- name: count_kept_runs
-- Runs that are over, by namespace; those that should have been removed a while ago although no other run may ask for
-- them; and those of them whose end a reader of the log has not come to.
with late as (
    select r.namespace, r.id,
           (select max(g.seq) from log g
             where g.namespace = r.namespace and g.subject_kind = 'run' and g.subject_id = r.id) as seq
      from runs r
      left join workflows w on w.namespace = r.namespace and w.name = r.name
     where r.finished_at + coalesce(w.keep_for, cast(:keep_for as bigint)) <= {now} - :late_for
       and not exists (select 1 from runs n where n.namespace = r.namespace and n.retry_of = r.id)
       and not exists (select 1 from runs p
                        where p.namespace = r.namespace and p.id = r.parent and p.status <> 'completed')
),
slowest as (
    select c.namespace, min(c.seq) as seq from cursors c group by c.namespace
),
overdue as (
    select l.namespace, count(*) as runs, sum(case when l.seq > s.seq then 1 else 0 end) as unread
      from late l left join slowest s on s.namespace = l.namespace
     group by l.namespace
)
select e.namespace, e.runs, coalesce(o.runs, 0), cast(coalesce(o.unread, 0) as bigint)
  from (select r.namespace, count(*) as runs from runs r where r.finished_at is not null group by r.namespace) as e
  left join overdue o on o.namespace = e.namespace
 order by e.namespace;

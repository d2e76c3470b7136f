-- name: namespaces_of_log
-- Every namespace in which anything has happened: one probe for each.
with recursive found (namespace) as (
    select (select g.namespace from log g where g.namespace > '' order by g.namespace limit 1)
    union all
    select (select g.namespace from log g where g.namespace > f.namespace order by g.namespace limit 1)
      from found f
     where f.namespace is not null
)
select f.namespace from found f where f.namespace is not null;

-- name: log_after
-- What happened in a namespace behind a place of the log, in the order of the log. The last column says whether a row
-- is of this namespace: others may stand between.
select g.seq, g.at, g.subject_kind, g.subject_id, g.to_status, 1 as is_own
  from log g
 where g.namespace = :namespace and g.seq > :after
 order by g.seq
 limit :limit;

-- name: ended_runs
-- Those of these runs that are over: of which workflow, and since when.
select r.id, r.name, r.finished_at, r.kind from {rows:runs.id:ids} where r.finished_at is not null;

-- name: lock_ended_runs
-- Runs that are over, locked in the order of ids. One that somebody else has locked is left for another time.
select {run} from {rows:runs.id:ids} where r.finished_at is not null order by r.id || '' {skip_locked};

-- name: ties_of_runs
-- What else there is that a run concerns: where its parent stands, the run that tries it again, the last that stands in
-- the log about it, and any of its children.
select r.id,
       (select p.status from runs p where p.namespace = r.namespace and p.id = r.parent) as parent_status,
       (select n.id from runs n where n.namespace = r.namespace and n.retry_of = r.id limit 1) as retry,
       (select g.seq from log g
         where g.namespace = r.namespace and g.subject_kind = 'run' and g.subject_id = r.id
         order by g.seq desc limit 1) as last_seq,
       (select c.id from runs c where c.namespace = r.namespace and c.parent = r.id limit 1) as child
  from {rows:runs.id:ids};

-- name: ended_children
-- One page of the children of a run that are over, whether the run itself is still there or not.
select r.id, r.parent_step from runs r
 where r.namespace = :namespace and r.parent = :parent and r.parent_step > :after and r.finished_at is not null
 order by r.parent_step
 limit :limit;

-- name: remove_payload
-- What a run was started with and what it came to.
delete from payloads where namespace = :namespace and run_id = :id;

-- name: remove_steps
-- What a run has done.
delete from steps where namespace = :namespace and run_id = :id;

-- name: remove_messages
-- What was sent to a run.
delete from inbox where namespace = :namespace and run_id = :id;

-- name: remove_ledger
-- The effects of a run.
delete from effects where namespace = :namespace and owner = :id;

-- name: remove_ledger_of_attempt
-- The effect of an attempt of a handler, unless its pipeline goes by it.
delete from effects
 where namespace = :namespace and owner = :id and status not in ('in_flight', 'needs_reconcile', 'indeterminate');

-- name: ended_attempts
-- Attempts of handlers that ended long ago, the first of them first, and whether their pipeline still goes by them.
select h.namespace, h.id, h.pipeline, h.ended_at,
       exists (select 1 from pipelines p
                where p.namespace = h.namespace and p.name = h.pipeline and p.run_id = h.id) as is_current
  from handler_runs h
 where h.ended_at >= :from_at and h.ended_at <= (select {now} - :keep_for)
 order by h.ended_at
 limit :limit;

-- name: remove_causes
-- What has caused the events that an attempt has dealt with.
delete from causes
 where namespace = :namespace and pipeline = :pipeline and topic <> ''
   and (topic, event) in (select e.topic, e.id from events e
                           where e.namespace = :namespace and e.reserved_by = :id
                             and e.status in ('consumed', 'skipped'));

-- name: remove_dealt_events
-- The events that an attempt has dealt with.
delete from events where namespace = :namespace and reserved_by = :id and status in ('consumed', 'skipped');

-- name: remove_causes_of_skipped
-- What has caused events that a person let go long ago.
delete from causes
 where namespace = :namespace and pipeline = :pipeline and topic <> ''
   and (topic, event) in (select e.topic, e.id from events e
                           where e.namespace = :namespace and e.pipeline = :pipeline and e.status = 'skipped'
                             and e.reserved_by is null and e.updated_at <= {now} - :keep_for);

-- name: remove_skipped_events
-- Events that a person let go long ago, before any attempt was at them.
delete from events
 where namespace = :namespace and pipeline = :pipeline and status = 'skipped' and reserved_by is null
   and updated_at <= {now} - :keep_for;

-- name: remove_attempt
-- An attempt that is over, unless its pipeline goes by it since it was looked at.
delete from handler_runs
 where namespace = :namespace and id = :id and ended_at is not null
   and not exists (select 1 from pipelines p
                    where p.namespace = :namespace and p.name = :pipeline and p.run_id = :id);

-- name: remove_old_inputs
-- Inputs of a pipeline that came long ago and of whose events none is left.
delete from inputs
 where namespace = :namespace and pipeline = :pipeline and created_at >= 0 and created_at <= (select {now} - :keep_for)
   and (select c.input from causes c
         where c.namespace = inputs.namespace and c.pipeline = inputs.pipeline and c.input = inputs.id limit 1) is null;

-- name: note_removed_runs
-- Before what happened to runs is removed: the last of it. From here on others who remove wait for this transaction.
insert into removed_log (namespace, xid, seq)
select :namespace, 0, max(g.seq)
  from json_each(:ids) as i
 cross join log g on g.namespace = :namespace and g.subject_kind = 'run' and g.subject_id = i.value
 group by g.namespace
on conflict (namespace) do update set seq = max(removed_log.seq, excluded.seq);

-- name: note_removing
-- Before anything else is removed from the log: others who remove wait for this transaction.
insert into removed_log (namespace, xid, seq) values (:namespace, 0, 0)
on conflict (namespace) do update set seq = removed_log.seq;

-- name: remove_log
-- What happened to a run.
delete from log where namespace = :namespace and subject_kind = 'run' and subject_id = :id;

-- name: remove_run
-- A run that is over and that this transaction has locked.
delete from runs where namespace = :namespace and id = :id and finished_at is not null;

-- name: remove_remark
-- What happened to a gate or a schedule, unless nothing has happened to it since and it is still there.
delete from log
 where namespace = :namespace and subject_kind = :subject_kind and subject_id = :subject_id and seq = :seq
   and (to_status = 'deleted'
        or (subject_kind = 'worker'
            and not exists (select 1 from workers w where w.namespace = :namespace and w.id = :subject_id))
        or (subject_kind = 'signal'
            and not exists (select 1 from signals w where w.namespace = :namespace and w.id = :subject_id))
        or seq < (select max(n.seq) from log n
                   where n.namespace = :namespace and n.subject_kind = :subject_kind and n.subject_id = :subject_id));
update removed_log set seq = max(seq, :seq) where namespace = :namespace;

-- name: expired_keys
-- Start keys whose time is over, the oldest first, and whether their run is not.
select k.namespace, k.key, k.run_id, k.expires_at,
       (select r.id from runs r
         where r.namespace = k.namespace and r.id = k.run_id and r.finished_at is null) is not null as is_open
  from keys k
 where k.expires_at >= :from_at and k.expires_at <= (select {now})
 order by k.expires_at
 limit :limit;

-- name: remove_key
-- A start key whose time is over, unless it belongs to another run by now. `coalesce` keeps the check away from the index
-- of those times: with bad statistics a walk through all that have expired looks as cheap as the primary key.
delete from keys
 where namespace = :namespace and key = :key and run_id = :run_id and coalesce(expires_at <= {now}, false);

-- name: gone_workers
-- Workers that have stopped long ago, the first of them first, and whether any run still names them.
select w.namespace, w.id, w.stopped_at,
       (select r.id from runs r where r.namespace = w.namespace and r.worker = w.id limit 1) is not null as is_named
  from workers w
 where w.stopped_at >= :from_at and w.stopped_at <= (select {now} - :gone_for)
 order by w.stopped_at
 limit :limit;

-- name: remove_worker
-- A worker that has stopped, and has not come back since. `coalesce` keeps it away from the index of those who stopped:
-- planned on an empty database, a walk through all of them looks as cheap as the primary key.
delete from workers where namespace = :namespace and id = :id and coalesce(stopped_at, 0) = :stopped_at;

-- name: register_worker
-- Enter a worker, or enter it anew: it serves more than before, was taken for dead, or was started again under its id.
insert into workers (namespace, id, host, pid, served, pipelines, slots, started_at, seen_at, lock_kind)
values (:namespace, :id, :host, :pid, :served, :pipelines, :slots, {now}, {now}, :lock_kind)
on conflict (namespace, id) do update
   set host = excluded.host, pid = excluded.pid, served = excluded.served, pipelines = excluded.pipelines,
       slots = excluded.slots, lock_kind = excluded.lock_kind,
       active = 0, completed = 0, failed = 0,
       started_at = excluded.started_at, seen_at = excluded.seen_at, stopped_at = null,
       draining = case when cast(:is_return as bigint) = 1 then workers.draining else 0 end;

-- name: heartbeat_worker
-- Say that a worker lives, and hear whether it is to leave. Touches its own row and no claim.
update workers
   set seen_at = {now}, active = :active, completed = :completed, failed = :failed,
       draining = case when cast(:is_draining as bigint) = 1 then 1 else draining end
 where namespace = :namespace and id = :id and stopped_at is null
returning draining;

-- name: drain_worker
-- Ask a worker to leave, once.
update workers set draining = 1 where namespace = :namespace and id = :id and stopped_at is null and draining = 0;

-- name: draining_worker
-- Whether a worker that has not stopped is to leave: one row by its key.
select w.draining from workers w where w.namespace = :namespace and w.id = :id and w.stopped_at is null;

-- name: stop_worker
-- Note that a worker has gone, and that no lock tells of it any more. Whether by a goodbye shows in when it was last seen:
-- one that was silent, or is dead, was not seen since.
update workers
   set stopped_at = case when cast(:is_goodbye as bigint) = 1 then {now} else coalesce(stopped_at, {now}) end,
       seen_at = case when cast(:is_goodbye as bigint) = 1 then {now} else seen_at end,
       active = 0, completed = coalesce(cast(:completed as bigint), completed),
       failed = coalesce(cast(:failed as bigint), failed), lock_kind = null
 where namespace = :namespace and id = :id and (stopped_at is null or seen_at < stopped_at);

-- name: silent_worker
-- Whether any worker, of whatever namespace, has been silent for too long.
select 1 from workers w where w.stopped_at is null and w.seen_at < {now} - :silent_for limit 1;

-- name: expire_workers
-- Note that workers of every namespace have been silent for too long, the longest silent first. Touches no run: what they
-- hold stays theirs until its claim ends, or their lock tells that they are dead.
with silent as materialized (
    select r.namespace, r.id
      from workers r
     where r.stopped_at is null and r.seen_at < {now} - :silent_for
     order by r.seen_at, r.id
     limit :limit {skip_locked}
)
update workers
   set stopped_at = {now}
 where (namespace, id) in (select s.namespace, s.id from silent s);

-- name: live_workers
-- Workers that have not stopped, the most recently seen first, each with how many of its slots are in use now.
select w.namespace, w.id, w.host, w.pid, w.served, w.slots, {in_use}, w.completed, w.failed,
       w.started_at, w.seen_at, w.stopped_at, w.lock_kind, w.draining, w.pipelines
  from workers w
 where w.namespace = :namespace and w.stopped_at is null
 order by w.seen_at desc, w.id;

-- name: stopped_workers
-- Workers that have stopped since then, the last to stop first, each with what it still holds.
select w.namespace, w.id, w.host, w.pid, w.served, w.slots, {in_use}, w.completed, w.failed,
       w.started_at, w.seen_at, w.stopped_at, w.lock_kind, w.draining, w.pipelines
  from workers w
 where w.namespace = :namespace and w.stopped_at >= :since
 order by w.stopped_at desc, w.id;

-- name: slots_in_use
-- How many slots of one worker are in use now.
select {in_use} from workers w where w.namespace = :namespace and w.id = :id;

-- name: find_worker
-- One worker, also one that has stopped; how many of its slots are in use is what it said last.
select w.namespace, w.id, w.host, w.pid, w.served, w.slots, w.active, w.completed, w.failed,
       w.started_at, w.seen_at, w.stopped_at, w.lock_kind, w.draining, w.pipelines
  from workers w
 where w.namespace = :namespace and w.id = :id;

-- name: probed_workers
-- Workers whose death could be seen and would set a claim free, also those that count as offline because they were
-- silent; or everyone whose death could be seen; and the one that asks, if it has not stopped. Holders are found by
-- hopping from one to the next along the index of claims, so neither claims nor stopped workers are read one by one.
with recursive holders (id) as (
    select ''
    union all
    select (select r.worker from runs r
             where r.namespace = :namespace and r.worker > h.id
             order by r.worker limit 1)
      from holders h
     where h.id is not null
), keepers (id) as (
    select ''
    union all
    select (select p.worker from pipelines p
             where p.namespace = :namespace and p.worker > k.id
             order by p.worker limit 1)
      from keepers k
     where k.id is not null
), asked (id) as (
    select h.id from holders h
    union
    select k.id from keepers k
    union
    select w.id from workers w
     where w.namespace = :namespace and w.stopped_at is null and (w.id = :by or :everyone = 1)
)
select w.namespace, w.id, w.host, w.pid, w.served, w.slots, w.active, w.completed, w.failed,
       w.started_at, w.seen_at, w.stopped_at, w.lock_kind, w.draining, w.pipelines
  from asked a
 cross join workers w on w.namespace = :namespace and w.id = a.id
 where case when w.id = :by then w.stopped_at is null else w.lock_kind is not null end
 order by w.seen_at, w.id;

-- name: open_workers
-- Who has not stopped, or counts as offline only because it was silent, in every namespace: the files of their locks lie
-- side by side, and still have something to tell.
select w.id from workers w where w.stopped_at is null or w.lock_kind is not null;

-- name: lock_poll
-- Which poll of a worker that is there was the last to claim something; held until this transaction ends, so that two
-- servers which are asked by one worker answer one after the other.
select r.poll from workers r where r.namespace = :namespace and r.id = :id and r.stopped_at is null {for_update};

-- name: note_poll
-- Polls before this one claim nothing any more; nor does this one, but hear what it has claimed.
update workers set poll = :poll where namespace = :namespace and id = :id;

-- name: lock_pipeline_poll
-- The same of polls for pipelines.
select r.pipeline_poll from workers r
 where r.namespace = :namespace and r.id = :id and r.stopped_at is null {for_update};

-- name: note_pipeline_poll
-- This poll for pipelines counts: those before it claim nothing any more.
update workers set pipeline_poll = :poll where namespace = :namespace and id = :id;

-- name: probed_workers
-- Differs: one probe for each worker asked about, behind a fence; planned on an empty database, a join reads the whole
-- namespace.
with recursive holders (id) as (
    select cast('' as text) collate "C"
    union all
    select (select r.worker from runs r
             where r.namespace = :namespace and r.worker > h.id
             order by r.worker limit 1)
      from holders h
     where h.id is not null
), keepers (id) as (
    select cast('' as text) collate "C"
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
 cross join lateral (select * from workers where namespace = :namespace and id = a.id offset 0) as w
 where case when w.id = :by then w.stopped_at is null else w.lock_kind is not null end
 order by w.seen_at, w.id;

-- name: stop_worker
-- Differs: the clock is read once. Read twice, a worker that says goodbye would have been seen before it stopped.
update workers
   set stopped_at = case when :is_goodbye::bigint = 1 then t.at else coalesce(stopped_at, t.at) end,
       seen_at = case when :is_goodbye::bigint = 1 then t.at else seen_at end,
       active = 0, completed = coalesce(:completed::bigint, completed),
       failed = coalesce(:failed::bigint, failed), lock_kind = null
  from (select {now} as at) as t
 where namespace = :namespace and id = :id and (stopped_at is null or seen_at < stopped_at);

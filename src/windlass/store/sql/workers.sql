-- name: register_worker
-- Enter a worker, or enter it anew because it serves more than before.
insert into workers (namespace, id, host, pid, served, slots, started_at, seen_at, lock_kind)
values (:namespace, :id, :host, :pid, :served, :slots, {now}, {now}, :lock_kind)
on conflict (namespace, id) do update
   set host = excluded.host, pid = excluded.pid, served = excluded.served, slots = excluded.slots,
       lock_kind = excluded.lock_kind,
       active = 0, completed = 0, failed = 0,
       started_at = excluded.started_at, seen_at = excluded.seen_at, stopped_at = null;

-- name: heartbeat_worker
-- Say that a worker lives. Touches its own row and no claim.
update workers
   set seen_at = {now}, active = :active, completed = :completed, failed = :failed
 where namespace = :namespace and id = :id and stopped_at is null;

-- name: stop_worker
-- Note that a worker has gone, once.
update workers
   set stopped_at = {now}, seen_at = {now}, active = 0
 where namespace = :namespace and id = :id and stopped_at is null;

-- name: live_workers
-- Workers that have not stopped, the most recently seen first.
select w.namespace, w.id, w.host, w.pid, w.served, w.slots, w.active, w.completed, w.failed,
       w.started_at, w.seen_at, w.stopped_at, w.lock_kind
  from workers w
 where w.namespace = :namespace and w.stopped_at is null
 order by w.seen_at desc, w.id;

-- name: probed_workers
-- Workers whose death could be seen and would set a claim free, or everyone whose death could be seen; and the one that
-- asks. Nobody that has stopped.
select w.namespace, w.id, w.host, w.pid, w.served, w.slots, w.active, w.completed, w.failed,
       w.started_at, w.seen_at, w.stopped_at, w.lock_kind
  from workers w
 where w.namespace = :namespace and w.stopped_at is null
   and (w.id = :by
        or (w.lock_kind is not null
            and (:everyone = 1
                 or exists (select 1 from runs r where r.namespace = w.namespace and r.worker = w.id))))
 order by w.seen_at, w.id;

-- name: open_workers
-- Who has not stopped, in every namespace: the files of their locks lie side by side.
select w.id from workers w where w.stopped_at is null;

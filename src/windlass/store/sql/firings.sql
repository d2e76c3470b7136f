-- name: insert_firings
-- Firings that no transition has created: of a time, of history that counts, or that a transition has overlooked.
insert into firings (namespace, signal_id, cause, subject_kind, subject_id, from_status, to_status, happened_at, status,
                     available_at, created_at)
values (:namespace, :signal_id, :cause, :subject_kind, :subject_id, :from_status, :to_status, :happened_at, 'queued',
        :available_at, {now})
on conflict do nothing;

-- name: lock_due_firings
-- Firings that may be claimed now, of every enabled namespace, the most urgent first, unless somebody else is at them.
select {firing} from firings f
 where f.available_at <= (select {now})
   and coalesce((select n.is_enabled from namespaces n where n.name = f.namespace), 1) = 1
 order by f.available_at
 limit :limit {skip_locked_firing};

-- name: next_firing
-- When the first one of an enabled namespace is due.
select min(f.available_at) from firings f
 where f.available_at is not null
   and coalesce((select n.is_enabled from namespaces n where n.name = f.namespace), 1) = 1;

-- name: save_firings
-- Where firings stand, under the token they were decided on. `coalesce` keeps the check away from the index of those that
-- are not over, of which one signal may have very many.
update firings
   set status = :status, available_at = :available_at, token = :token, worker = :worker, attempt = :attempt,
       error = :error, depth = :depth, run_id = :run_id, task_id = :task_id, ended_at = :ended_at
 where namespace = :namespace and signal_id = :signal_id and cause = :cause and token = :was_token
   and coalesce(ended_at, 0) = 0;

-- name: hold_firings
-- Their signal is paused: nobody works them until it is resumed.
update firings set available_at = null
 where namespace = :namespace and signal_id = :signal_id and status = 'queued' and ended_at is null;

-- name: release_firings
-- Their signal is armed again.
update firings set available_at = {now}
 where namespace = :namespace and signal_id = :signal_id and status = 'queued' and available_at is null;

-- name: requeue_firings
-- What failed for good is tried again, because somebody wants it to be.
update firings
   set status = 'queued', available_at = {now}, attempt = 0, ended_at = null, token = token + 1
 where namespace = :namespace and signal_id = :signal_id and status = 'failed';

-- name: supersede_firings
-- Nobody will work them any more. Whoever has claimed one finds another token there.
update firings
   set status = 'superseded', available_at = null, worker = null, ended_at = {now}, error = :error, token = token + 1
 where namespace = :namespace and signal_id = :signal_id and ended_at is null;

-- name: delete_firings_of_signal
-- What a signal has fired.
delete from firings where namespace = :namespace and signal_id = :signal_id;

-- name: count_firings
-- How many wait, or are at work, and how many have failed; each counted up to a limit.
select (select count(*) from (select 1 from firings f
                               where f.namespace = :namespace and f.signal_id = :signal_id and f.ended_at is null
                               limit :limit) as a),
       (select count(*) from (select 1 from firings f
                               where f.namespace = :namespace and f.signal_id = :signal_id and f.status = 'failed'
                               limit :limit) as a);

-- name: list_firings
-- One page, newest first: a range of the index of creation.
select {firing} from firings f
 where f.namespace = :namespace
   and (f.created_at, f.signal_id || '.' || f.cause) < (:before_at, :before_id)
   and f.created_at <= :before_at
   and (cast(:status as text) is null or f.status = :status)
 order by f.created_at desc, f.signal_id desc, f.cause desc
 limit :limit;

-- name: list_firings_of_signal
-- One page of one signal's: a range of their index.
select {firing} from firings f
 where f.namespace = :namespace and f.signal_id = :signal_id
   and (f.created_at, f.signal_id || '.' || f.cause) < (:before_at, :before_id)
   and f.created_at <= :before_at
   and (cast(:status as text) is null or f.status = :status)
 order by f.created_at desc, f.signal_id desc, f.cause desc
 limit :limit;

-- name: depths_of_runs
-- How deep the chain was that started these runs.
select f.run_id, f.depth from {rows:firings.run_id:ids} where f.status = 'done';

-- name: subjects_done
-- For which of these subjects a signal has fired.
select f.subject_id from {rows:firings.subject_id:subjects:signal_id} where f.status = 'done';

-- name: lock_claimed_firings
-- Which of these firings, by their signals and causes, a coordinator holds: one probe of the primary key for each. A signal
-- may have fired so often that to read all of its firings takes longer than to work a few.
select {firing} from {elements:ids} as i
{probe:firings f:namespace = :namespace, signal_id = i.value ->> 0, cause = i.value ->> 1}
 where f.worker = :worker and f.status = 'running' {lock_firing};

-- name: retry_of_run
-- The run that tries this one again, if there is one.
select r.id from runs r where r.namespace = :namespace and r.retry_of = :retry_of;

-- name: places_of_steps
-- Every step of a run by its key, with the place of its result if it has one.
select s.step_key, max(s.step_order) from steps s
 where s.namespace = :namespace and s.run_id = :run_id
 group by s.step_key;

-- name: copy_run
-- Create the run that tries another one again: the same work, due now, with the same time to end in.
-- What is drawn from the id and the beginning of a run (random numbers, keys for the outside world, its first `now`)
-- is drawn from those of the first run of the chain.
insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, expires_at, retry_of,
                  origin, begun_at, schedule, scheduled_at)
select r.namespace, :id, r.name, r.version, r.queue, r.priority, 'pending', :at, :at,
       r.expires_at - coalesce(r.starts_at, r.created_at) + :at, r.id,
       coalesce(r.origin, r.id), coalesce(r.begun_at, r.started_at), r.schedule, r.scheduled_at
  from runs r
 where r.namespace = :namespace and r.id = :retry_of;

-- name: copy_payload
-- Its input and its start key.
insert into payloads (namespace, run_id, start_key, input)
select p.namespace, :id, p.start_key, p.input
  from payloads p
 where p.namespace = :namespace and p.run_id = :retry_of;

-- name: copy_steps
-- What is done and comes before the place given, as it is. Token 0 tells that no claim of the new run wrote it, and
-- attempts that failed before stay behind with the old run. So does the start of a child that ended badly: it is tried
-- again with its parent.
insert into steps (namespace, run_id, step_key, attempt, kind, status, step_order, token, failures, input_hash,
                   output, due_at, started_at, finished_at, awaits, detail)
select s.namespace, :id, s.step_key, 1, s.kind, s.status, s.step_order, 0, 0, s.input_hash,
       s.output, s.due_at, s.started_at, s.finished_at, s.awaits, s.detail
  from steps s
 where s.namespace = :namespace and s.run_id = :retry_of and s.status = 'completed'
   and (cast(:before as bigint) is null or s.step_order < :before)
   and (s.kind <> 'start'
        or exists (select 1 from runs c
                    where c.namespace = s.namespace and c.id = s.awaits
                      and c.status not in ('failed', 'cancelled', 'skipped')));

-- name: move_children
-- Children that the new run has started too, by a copied step: they belong to it, and wake it when they end.
update runs set parent = :id
 where namespace = :namespace and parent = :retry_of and finished_at is null
   and parent_step in (select s.step_key from steps s
                        where s.namespace = :namespace and s.run_id = :id and s.kind = 'start');

-- name: moved_graphs
-- Graphs among them that are not over.
select r.id from runs r
 where r.namespace = :namespace and r.parent = :id and r.kind = 'graph' and r.finished_at is null;

-- name: move_graph
-- A graph knows whom it wakes.
update graphs set parent = :parent where namespace = :namespace and id = :id;

-- name: copy_messages
-- What was sent, behind the copied steps: received if the step that received it was copied, else to be received again.
-- A decision on an approval that is done again is left behind, because it is asked for again; and so is the event that
-- was received by the very step from which on all is done again: somebody wants another one.
insert into inbox (namespace, run_id, seq, kind, name, id, payload, payload_hash, sent_at, taken_by)
select b.namespace, :id, b.seq, b.kind, b.name, b.id, b.payload, b.payload_hash, b.sent_at, s.step_key
  from inbox b
  left join steps s on s.namespace = b.namespace and s.run_id = :id and s.step_key = b.taken_by and s.attempt = 1
 where b.namespace = :namespace and b.run_id = :retry_of
   and (b.kind = 'event' or b.taken_by is null or s.step_key is not null)
   and (cast(:from_step as text) is null or b.taken_by is null or b.taken_by <> :from_step);

-- name: move_key
-- Let the start key of a run point to the one that tries it again, unless it belongs to another run by now.
update keys set run_id = :id
 where namespace = :namespace and run_id = :retry_of
   and key = (select p.start_key from payloads p where p.namespace = :namespace and p.run_id = :retry_of);

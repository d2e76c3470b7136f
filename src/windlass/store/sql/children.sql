-- name: following_children
-- The children of these runs that end with them and have not ended yet: one probe of an index per parent.
select r.id, r.kind from {rows:runs.parent:parents}
 where r.follows_parent = 1 and r.status not in ('completed', 'failed', 'cancelled', 'skipped');

-- name: own_children
-- Those of these runs that are children of one run.
select r.id from {rows:runs.id:ids} where {own_child};

-- name: outcomes_of_children
-- Where they stand, with the result of those that have one.
select r.id, r.status,
       (select p.output from payloads p where p.namespace = r.namespace and p.run_id = r.id) as output,
       (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id) as failure
  from {rows:runs.id:ids}
 where {own_child};

-- name: end_runs
-- End runs that this transaction has locked and that nobody finishes any more. They keep their tokens, so that whoever
-- holds one is refused from now on.
update runs
   set status = :status, available_at = null, worker = null, finished_at = :finished_at, held = 0, unmet = 0
 where namespace = :namespace and id = :id and token = :token
   and status not in ('completed', 'failed', 'cancelled', 'skipped');

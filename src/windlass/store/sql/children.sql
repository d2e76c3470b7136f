-- name: following_children
-- The children of these runs that end with them and have not ended yet: one probe of an index per parent.
select r.id, r.kind from {rows:runs.parent:parents}
 where r.follows_parent = 1 and r.status not in ('completed', 'failed', 'cancelled', 'skipped');

-- name: end_runs
-- End runs that this transaction has locked and that nobody finishes any more. They keep their tokens, so that whoever
-- holds one is refused from now on.
update runs
   set status = :status, available_at = null, worker = null, finished_at = :finished_at, held = 0, unmet = 0
 where namespace = :namespace and id = :id and token = :token
   and status not in ('completed', 'failed', 'cancelled', 'skipped');

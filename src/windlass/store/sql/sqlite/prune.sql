-- name: log_after
-- Differs: here the log is one for all namespaces, in the order of its numbers.
select g.seq, g.at, g.subject_kind, g.subject_id, g.to_status, g.namespace = :namespace as is_own
  from log g
 where g.seq > :after
 order by g.seq
 limit :limit;

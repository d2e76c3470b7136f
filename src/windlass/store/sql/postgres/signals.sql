-- name: newest_entry
-- Differs: places are ordered by the transaction first.
select g.xid, g.seq from log g
 where g.namespace = :namespace and g.subject_kind = 'signal' and g.subject_id = :id
 order by g.seq desc
 limit 1;

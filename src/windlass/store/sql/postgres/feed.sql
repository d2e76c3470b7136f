-- name: feed_edge
-- Differs: what was written by a transaction that an older one may still follow is not told of yet.
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as horizon_xid, 0::bigint as horizon_seq,
       (select r.xid from removed_log r where r.namespace = :namespace) as removed_xid,
       (select r.seq from removed_log r where r.namespace = :namespace) as removed_seq;

-- name: feed_page
-- Differs: numbers are given in another order than transactions commit in, so it goes by the transaction first.
select g.xid, 1 as is_own,
       g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from log g
 where g.namespace = :namespace and g.xid > 0 and (g.xid, g.seq) > (:xid, :seq) and g.xid < :horizon
 order by g.xid, g.seq
 limit :limit;

-- name: feed_of_subject
-- Differs: the same.
select g.xid, 1 as is_own,
       g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from log g
 where g.namespace = :namespace and g.subject_kind = :subject_kind and g.subject_id = :subject_id
   and (g.xid, g.seq) > (:xid, :seq) and g.xid < :horizon
 order by g.xid, g.seq
 limit :limit;

-- name: newest_of_feed
-- Differs: the same, from the other end.
select g.xid, g.seq from log g
 where g.namespace = :namespace and g.xid > 0
   and g.xid < (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
 order by g.xid desc, g.seq desc
 limit 1;

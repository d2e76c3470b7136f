-- name: feed_page
-- Differs: what a transaction wrote that may be overtaken by an older one is not told of yet.
with edge as materialized (
    select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xid
)
select e.xid as horizon_xid, 0::bigint as horizon_seq, r.xid as removed_xid, r.seq as removed_seq, g.xid,
       g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from edge e
  left join removed_log r on r.namespace = :namespace
  left join lateral (
      select * from log l
       where l.namespace = :namespace and (l.xid, l.seq) > (:xid, :seq) and l.xid < e.xid
       order by l.xid, l.seq
       limit :limit::bigint
  ) as g on true
 order by g.xid, g.seq;

-- name: feed_of_subject
-- Differs: the same.
with edge as materialized (
    select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xid
)
select e.xid as horizon_xid, 0::bigint as horizon_seq, r.xid as removed_xid, r.seq as removed_seq, g.xid,
       g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from edge e
  left join removed_log r on r.namespace = :namespace
  left join lateral (
      select * from log l
       where l.namespace = :namespace and l.subject_kind = :subject_kind and l.subject_id = :subject_id
         and (l.xid + 0, l.seq + 0) > (:xid, :seq) and l.xid + 0 < e.xid
       order by l.xid + 0, l.seq + 0
       limit :limit::bigint
  ) as g on true
 order by g.xid, g.seq;

-- name: newest_of_feed
-- Differs: the same, from the other end.
select g.xid, g.seq from log g
 where g.namespace = :namespace and g.xid < (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
 order by g.xid desc, g.seq desc
 limit 1;

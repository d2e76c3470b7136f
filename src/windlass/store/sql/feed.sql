-- name: feed_edge
-- How far the feed goes, and the last place from which something was removed.
select 0 as horizon_xid, coalesce((select s.seq from sqlite_sequence s where s.name = 'log'), 0) as horizon_seq,
       (select r.xid from removed_log r where r.namespace = :namespace) as removed_xid,
       (select r.seq from removed_log r where r.namespace = :namespace) as removed_seq;

-- name: feed_page
-- What happened behind a place and before the horizon, in the order of the feed. The second column says whether a row is
-- of this namespace: others may stand between.
select 0 as xid, g.namespace = :namespace as is_own,
       g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from log g
 where g.seq > :seq and :xid <= :horizon
 order by g.seq
 limit :limit;

-- name: feed_of_subject
-- The same about one subject.
select 0 as xid, 1 as is_own,
       g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from log g
 where g.namespace = :namespace and g.subject_kind = :subject_kind and g.subject_id = :subject_id
   and g.seq > :seq and :xid <= :horizon
 order by g.seq
 limit :limit;

-- name: newest_of_feed
-- Where the feed ends; here for all namespaces at once, and a little too often is not too late.
select 0 as xid, s.seq from sqlite_sequence s where s.name = 'log' and :namespace <> '';

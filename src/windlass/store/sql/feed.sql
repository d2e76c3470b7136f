-- name: feed_page
-- What happened behind a place, in the order of the feed; in front of each row how far the feed goes, and the last place
-- that was removed. Rows of other namespaces may stand between.
select 0 as horizon_xid, coalesce((select s.seq from sqlite_sequence s where s.name = 'log'), 0) as horizon_seq,
       e.removed_xid, e.removed_seq, 0 as xid,
       g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from (select (select r.xid from removed_log r where r.namespace = :namespace) as removed_xid,
               (select r.seq from removed_log r where r.namespace = :namespace) as removed_seq) as e
  left join (select * from log where seq > :seq and :xid = 0 order by seq limit :limit) as g on true
 order by g.seq;

-- name: feed_of_subject
-- The same about one subject.
select 0 as horizon_xid, coalesce((select s.seq from sqlite_sequence s where s.name = 'log'), 0) as horizon_seq,
       e.removed_xid, e.removed_seq, 0 as xid,
       g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from (select (select r.xid from removed_log r where r.namespace = :namespace) as removed_xid,
               (select r.seq from removed_log r where r.namespace = :namespace) as removed_seq) as e
  left join (select * from log
              where namespace = :namespace and subject_kind = :subject_kind and subject_id = :subject_id
                and seq > :seq and :xid = 0
              order by seq limit :limit) as g on true
 order by g.seq;

-- name: newest_of_feed
-- Where the feed ends; here for all namespaces at once, and a little too often is not too late.
select 0 as xid, s.seq from sqlite_sequence s where s.name = 'log' and :namespace <> '';

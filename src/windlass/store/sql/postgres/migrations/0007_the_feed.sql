-- The log as it is followed from outside.

-- The order of the feed: a transaction is told of when all that began before it are over. One that wrote something else
-- first may be older than one whose change it found already, so it counts as at least as late as all it could see.
alter table log alter column xid set default
    greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1);

-- The condition leaves nothing out: it keeps the index away from every statement that does not name it, since on an
-- empty table one index that begins with the namespace looks as good as another.
create index log_feed on log (namespace, xid, seq) where xid > 0;

-- The last entry of a namespace that was removed: whoever has not come that far has missed something.
create table removed_log (
    namespace text collate "C" not null primary key,
    xid       bigint           not null,
    seq       bigint           not null
);

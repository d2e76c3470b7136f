-- The log as it is followed from outside.

-- The last entry of a namespace that was removed: whoever has not come that far has missed something. There is one
-- writer, so the numbers are the order of commits, and `xid` is 0.
create table removed_log (
    namespace text    not null primary key,
    xid       integer not null,
    seq       integer not null
) strict, without rowid;

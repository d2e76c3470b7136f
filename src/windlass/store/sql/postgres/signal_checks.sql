-- name: every_place
-- Differs: places are ordered by the transaction first.
select g.seq, g.xid from log g order by g.seq;

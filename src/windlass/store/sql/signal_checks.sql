-- Read-only: everything that stands in work items, signals and firings, for tests.

-- name: every_item
-- All work items, the oldest first.
select {item} from items r order by r.namespace, r.id;

-- name: every_task
-- What is, or was, to be done about them, the oldest first.
select {task} from tasks t order by t.namespace, t.id;

-- name: every_signal
-- All signals, the oldest first.
select {signal} from signals s order by s.namespace, s.id;

-- name: every_firing
-- What they have fired, in the order of causes as far as these are of one length.
select {firing} from firings f order by f.namespace, f.signal_id, f.happened_at, f.cause;

-- name: every_signal_cursor
-- How far the log was examined, in each namespace.
select c.namespace, c.xid, c.seq from signal_cursors c order by c.namespace;

-- name: every_place
-- Where entries stand in the feed, by their numbers.
select g.seq, 0 as xid from log g order by g.seq;

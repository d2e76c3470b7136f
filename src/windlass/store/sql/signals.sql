-- name: arm_run
-- Somebody begins to watch a run, or watches it otherwise: whoever changes its status notices. Locks it, as it stands.
update runs set armed = armed + 1 where namespace = :namespace and id = :id returning status, kind, name;

-- name: arm_item
-- The same of a work item.
update items set armed = armed + 1 where namespace = :namespace and id = :id returning status, '' as kind, id as name;

-- name: arm_pipeline
-- The same of a pipeline.
update pipelines set armed = armed + 1 where namespace = :namespace and name = :id
returning status, '' as kind, name;

-- name: newest_entry
-- The entry about a signal that this transaction has just written: the place from which on transitions count.
select 0 as xid, max(g.seq) as seq from log g
 where g.namespace = :namespace and g.subject_kind = 'signal' and g.subject_id = :id;

-- name: insert_signal
-- A new signal; an id or a key that exists is left as it is.
insert into signals (namespace, id, key, kind, subject_kind, subject, enters, at, every_for, action, payload, repeats, status,
                     is_live, reason, fired, last_fired_at, available_at, declared_in, is_declared, armed_xid, armed_seq,
                     changed_by, created_at, changed_at)
values (:namespace, :id, :key, :kind, :subject_kind, :subject, :enters, :at, :every_for, :action, :payload, :repeats, :status,
        :is_live, :reason, :fired, :last_fired_at, :available_at, :declared_in, :is_declared, :armed_xid, :armed_seq,
        :changed_by, :created_at, :changed_at)
on conflict do nothing;

-- name: save_signals
-- Where signals stand that this transaction has locked.
update signals
   set kind = :kind, subject_kind = :subject_kind, subject = :subject, enters = :enters, at = :at, every_for = :every_for, action = :action, payload = :payload,
       repeats = :repeats, status = :status, is_live = :is_live, reason = :reason, fired = :fired,
       last_fired_at = :last_fired_at, available_at = :available_at, declared_in = :declared_in,
       is_declared = :is_declared, armed_xid = :armed_xid, armed_seq = :armed_seq, changed_by = :changed_by,
       changed_at = :changed_at
 where namespace = :namespace and id = :id;

-- name: count_firing
-- How often it has fired, and where that leaves it: from armed only, so that of two causes of a signal one wins.
update signals
   set fired = fired + :fired, last_fired_at = :last_fired_at, status = :status, is_live = :is_live,
       changed_at = :changed_at
 where namespace = :namespace and id = :id and status = 'armed';

-- name: load_signal
-- One signal as it stands.
select {signal} from signals s where s.namespace = :namespace and s.id = :id;

-- name: load_signals
-- Signals by their ids, as they stand.
select {signal} from {rows:signals.id:ids};

-- name: lock_signals
-- Signals by their ids, locked in the order of ids until this transaction ends: behind their subjects.
select {signal} from {rows:signals.id:ids} order by s.id || '' {lock_signal};

-- name: signal_by_key
-- The signal that a key belongs to.
select {signal} from signals s where s.namespace = :namespace and s.key = :key;

-- name: signals_on
-- Live signals on these subjects.
select {signal} from {rows:signals.subject:subjects:subject_kind} where s.is_live = 1 order by s.id || '';

-- name: signals_of_program
-- What a program has declared and not taken back.
select {signal} from signals s
 where s.namespace = :namespace and s.declared_in = :program and s.is_declared = 1
 order by s.id || '';

-- name: list_signals
-- One page, newest first: ids sort by creation, and the page is a range of the primary key.
select {signal} from signals s
 where s.namespace = :namespace and s.id < :before
   and (cast(:subject_kind as text) is null or s.subject_kind = :subject_kind)
   and (cast(:status as text) is null or s.status = :status)
 order by s.id desc
 limit :limit;

-- name: list_signals_on
-- One page of those on one subject. They are few, and sorted: an id with nothing added to it is an expression, so that no
-- planner walks the whole namespace in the order of ids to find them.
select {signal} from signals s
 where s.namespace = :namespace and s.subject_kind = :subject_kind and s.subject = :subject and s.id || '' < :before
   and (cast(:status as text) is null or s.status = :status)
 order by s.id || '' desc
 limit :limit;

-- name: delete_signal
-- Forget a signal.
delete from signals where namespace = :namespace and id = :id;

-- name: move_signals
-- A run is tried again: who watches it watches the run that does so from now on.
update signals set subject = :id, changed_at = {now}
 where namespace = :namespace and subject_kind = 'run' and subject = :retry_of and is_live = 1;

-- name: watched_namespaces
-- Every namespace in which something is watched: one probe for each.
with recursive found (namespace) as (
    select (select s.namespace from signals s where s.is_live = 1 and s.namespace > '' order by s.namespace limit 1)
    union all
    select (select s.namespace from signals s where s.is_live = 1 and s.namespace > a.namespace order by s.namespace limit 1)
      from found a
     where a.namespace is not null
)
select a.namespace from found a where a.namespace is not null;

-- name: lock_due_signals
-- Signals whose time has come, of every enabled namespace, the most urgent first, unless somebody else is at them.
select {signal} from signals s
 where s.available_at <= (select {now})
   and coalesce((select n.is_enabled from namespaces n where n.name = s.namespace), 1) = 1
 order by s.available_at
 limit :limit {skip_locked_signal};

-- name: next_signal
-- When the first of an enabled namespace comes.
select min(s.available_at) from signals s
 where s.available_at is not null
   and coalesce((select n.is_enabled from namespaces n where n.name = s.namespace), 1) = 1;

-- name: patterns_of_namespace
-- Live signals on whole workflows, and on all items.
select {signal} from signals s
 where s.namespace = :namespace and s.is_live = 1 and s.subject_kind = 'workflow'
union all
select {signal} from signals s
 where s.namespace = :namespace and s.is_live = 1 and s.subject_kind = 'item' and s.subject = '*';

-- name: lock_signal_cursor
-- How far the log was examined, unless somebody else is at it.
select c.xid, c.seq from signal_cursors c where c.namespace = :namespace {skip_locked_cursor};

-- name: begin_signal_cursor
-- From here on the log is examined, unless it is already.
insert into signal_cursors (namespace, xid, seq) values (:namespace, :xid, :seq)
on conflict do nothing;

-- name: move_signal_cursor
-- The log was examined up to here. It never goes back.
update signal_cursors set xid = :xid, seq = :seq
 where namespace = :namespace and (xid < :xid or (xid = :xid and seq < :seq));

-- name: names_of_runs
-- Of which workflows runs are.
select r.id, r.name from {rows:runs.id:ids};

-- name: hold_signal_cursor
-- Let nobody examine the log until this transaction ends.
update signal_cursors set seq = seq where namespace = :namespace;

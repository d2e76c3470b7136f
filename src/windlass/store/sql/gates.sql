-- name: enter_gates
-- Make sure that gates exist, so that whoever claims behind them has a row to lock.
insert into gates (namespace, kind, name) values (:namespace, :kind, :name)
on conflict (namespace, kind, name) do nothing;

-- name: set_gate
-- Close or open a gate, and say who did it.
insert into gates (namespace, kind, name, is_paused, paused_by, note, paused_at)
values (:namespace, :kind, :name, :is_paused, :paused_by, :note, {now})
on conflict (namespace, kind, name) do update
   set is_paused = excluded.is_paused, paused_by = excluded.paused_by, note = excluded.note,
       paused_at = excluded.paused_at;

-- name: load_gate
-- One gate as it stands.
select {gate} from gates g where g.namespace = :namespace and g.kind = :kind and g.name = :name;

-- name: closed_gates
-- What is paused in a namespace.
select {gate} from gates g where g.namespace = :namespace and g.is_paused = 1 order by g.kind, g.name;

-- name: share_gates
-- Every gate of a namespace, which nobody may close until this transaction ends.
select {gate} from gates g where g.namespace = :namespace order by g.kind, g.name {for_share};

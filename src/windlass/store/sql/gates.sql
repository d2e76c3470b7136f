-- name: enter_gates
-- Make sure that gates exist, so that whoever claims behind them has a row to lock.
insert into gates (namespace, kind, name) values (:namespace, :kind, :name)
on conflict (namespace, name, kind) do nothing;

-- name: limit_lock
-- Wait for no lock longer than a moment, in this transaction. Where one writes at a time there is nothing to do.
select 1;

-- name: lock_gates
-- Let nobody go through any gate until this transaction ends. Where one writes at a time there is nothing to do.
select 1;

-- name: set_gate
-- Close or open a gate that exists, and say who did it; one that stands so already stays as it is. Waits for the claims
-- that share it.
update gates
   set is_paused = :is_paused, paused_by = :paused_by, note = :note,
       paused_at = case when cast(:is_paused as bigint) = 1 then {now} end
 where namespace = :namespace and kind = :kind and name = :name and is_paused <> :is_paused;

-- name: load_gate
-- One gate as it stands.
select {gate} from gates g where g.namespace = :namespace and g.kind = :kind and g.name = :name;

-- name: closed_gates
-- What is paused in a namespace.
select {gate} from gates g where g.namespace = :namespace and g.is_paused = 1 order by g.kind, g.name;

-- name: share_gates
-- Gates of these names, which nobody may close until this transaction ends.
select {gate} from {rows:gates.name:names} {for_share};

-- name: workflow_gates
-- The workflows that workers have ever served.
select g.name from gates g where g.namespace = :namespace and g.kind = 'workflow' order by g.name;

-- name: append_log
-- Differs: the entry and the firings of those who wait for it in one statement, for one round trip. Whoever notes something
-- has locked the subject before, so this sees all who watch it.
with noted as (
    insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)
    values (:namespace, :subject_kind, :subject_id, :from_status, :to_status, :cause, coalesce(:at::bigint, {now}), :data)
    {returned}
)
{fire_noted:noted};

-- name: append_log
-- Note status changes in the transaction that makes them.
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)
values (:namespace, :subject_kind, :subject_id, :from_status, :to_status, :cause, coalesce(:at, {now}), :data);
{fire_entry};

-- name: log_of_subject
-- Everything that happened to one subject, oldest first.
select g.seq, g.namespace, g.subject_kind, g.subject_id, g.from_status, g.to_status, g.cause, g.at, g.data
  from log g
 where g.namespace = :namespace and g.subject_kind = :subject_kind and g.subject_id = :subject_id
 order by g.seq;

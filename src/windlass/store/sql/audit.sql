-- name: append_audit
-- Note an act in the transaction that does it.
insert into audit (namespace, at, actor, action, subject, request_id, was, became)
values (:namespace, {now}, :actor, :action, :subject, :request_id, :was, :became);

-- name: audit_of_namespace
-- One page of what was done in a namespace, the newest first.
select a.seq, a.at, a.namespace, a.actor, a.action, a.subject, a.request_id, a.was, a.became
  from audit a
 where a.namespace = :namespace and a.seq < :before
 order by a.seq desc
 limit :limit;

-- name: audit_of_all
-- The same, of every namespace.
select a.seq, a.at, a.namespace, a.actor, a.action, a.subject, a.request_id, a.was, a.became
  from audit a
 where a.seq < :before
 order by a.seq desc
 limit :limit;

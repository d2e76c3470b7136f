-- name: send_message
-- Put a message behind the others of a run this transaction has locked. An id that is known is a repeat.
insert into inbox (namespace, run_id, seq, kind, name, id, payload, payload_hash, sent_at)
select :namespace, :run_id,
       coalesce((select max(m.seq) from inbox m where m.namespace = :namespace and m.run_id = :run_id), 0) + 1,
       :kind, :name, :id, :payload, :payload_hash, {now}
 where true
on conflict (namespace, run_id, id) do nothing;

-- name: message_by_id
-- One message, by the id its sender gave it.
select {message} from inbox m where m.namespace = :namespace and m.run_id = :run_id and m.id = :id;

-- name: last_message
-- How many messages a run was sent so far: they are numbered without gaps.
select max(m.seq) from inbox m where m.namespace = :namespace and m.run_id = :run_id;

-- name: unread_messages
-- The oldest messages of a name that no step has received.
select {message} from inbox m
 where m.namespace = :namespace and m.run_id = :run_id and m.kind = :kind and m.name = :name and m.taken_by is null
 order by m.seq
 limit :limit;

-- name: take_message
-- Give a message to the step that receives it, in the transaction that records this.
update inbox set taken_by = :taken_by
 where namespace = :namespace and run_id = :run_id and seq = :seq and taken_by is null;

-- name: messages_of_run
-- Everything that was sent to a run, in the order it was accepted.
select {message} from inbox m where m.namespace = :namespace and m.run_id = :run_id order by m.seq;

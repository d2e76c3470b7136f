-- name: send_message
-- Put a message behind the others of a run this transaction has locked. An id that is known is a repeat.
insert into inbox (namespace, run_id, seq, kind, name, id, payload, payload_hash, sent_at)
select :namespace, :run_id,
       coalesce((select max(b.seq) from inbox b where b.namespace = :namespace and b.run_id = :run_id), 0) + 1,
       :kind, :name, :id, :payload, :payload_hash, {now}
 where true
on conflict (namespace, run_id, kind, id) do nothing;

-- name: message_by_id
-- One message of a kind, by the id its sender gave it.
select {message} from inbox b where b.namespace = :namespace and b.run_id = :run_id and b.kind = :kind and b.id = :id;

-- name: last_message
-- The number of the last message that a run was sent.
select max(b.seq) from inbox b where b.namespace = :namespace and b.run_id = :run_id;

-- name: unread_messages
-- The oldest messages of a name that no step has received.
select {message} from inbox b
 where b.namespace = :namespace and b.run_id = :run_id and b.kind = :kind and b.name = :name and b.taken_by is null
 order by b.seq
 limit :limit;

-- name: take_message
-- Give a message to the step that receives it, in the transaction that records this.
update inbox set taken_by = :taken_by
 where namespace = :namespace and run_id = :run_id and seq = :seq and kind = :kind and name = :name
   and taken_by is null;

-- name: messages_of_run
-- Everything that was sent to a run, in the order it was accepted.
select {message} from inbox b where b.namespace = :namespace and b.run_id = :run_id order by b.seq;

-- name: unread_messages
-- Differs: without statistics SQLite would rather read all messages of the run by their primary key.
select {message} from inbox b indexed by inbox_unread
 where b.namespace = :namespace and b.run_id = :run_id and b.kind = :kind and b.name = :name and b.taken_by is null
 order by b.seq
 limit :limit;

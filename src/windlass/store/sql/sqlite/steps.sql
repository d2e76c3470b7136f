-- name: awaited_children
-- Differs: without statistics SQLite would rather read all steps of the run by their primary key.
select s.awaits
  from json_each(:ids) as i
 cross join steps s indexed by steps_awaits
    on s.namespace = :namespace and s.run_id = :run_id and s.kind = 'child' and s.awaits = i.value
   and s.status = 'waiting' and s.dropped = 0;

-- name: awaiting_event
-- Differs: without statistics SQLite would rather read all steps of the run by their primary key.
select 1 from steps s indexed by steps_awaits
 where s.namespace = :namespace and s.run_id = :run_id and s.kind = 'event' and s.awaits = :event
   and s.status = 'waiting' and s.dropped = 0
 limit 1;

-- name: insert_item
-- A new work item; an id or a key that exists is left as it is.
insert into items (namespace, id, title, status, priority, data, key, created_at, changed_at, ended_at)
values (:namespace, :id, :title, :status, :priority, :data, :key, :created_at, :changed_at, :ended_at)
on conflict do nothing;

-- name: load_item
-- One work item as it stands.
select {item} from items r where r.namespace = :namespace and r.id = :id;

-- name: lock_item
-- One work item, held against whoever moves it or watches it.
select {item} from items r where r.namespace = :namespace and r.id = :id {for_update};

-- name: item_by_key
-- The work item that a key belongs to.
select {item} from items r where r.namespace = :namespace and r.key = :key;

-- name: list_items
-- One page, newest first: ids sort by creation.
select {item} from items r
 where r.namespace = :namespace and r.id < :before
 order by r.id desc
 limit :limit;

-- name: list_items_of_status
-- One page of those in one state: a range of their index. An equation would allow to walk the whole namespace in the order of
-- ids, which looks as short where all of them were in that state once.
select {item} from items r
 where r.namespace = :namespace and (r.status, r.id) < (:status, :before) and r.status >= :status
 order by r.status desc, r.id desc
 limit :limit;

-- name: move_item
-- Move a work item from the state it was decided on.
update items set status = :status, changed_at = :changed_at, ended_at = :ended_at
 where namespace = :namespace and id = :id and status = :was;

-- name: delete_item
-- Forget a work item.
delete from items where namespace = :namespace and id = :id;

-- name: delete_tasks_of_item
-- And what was to be done about it.
delete from tasks where namespace = :namespace and item_id = :item_id;

-- name: insert_tasks
-- Something to be done about a work item; an id that exists is a repeat.
insert into tasks (namespace, id, item_id, title, status, data, firing_id, created_at)
values (:namespace, :id, :item_id, :title, :status, :data, :firing_id, :created_at)
on conflict do nothing;

-- name: load_task
-- One task as it stands.
select {task} from tasks t where t.namespace = :namespace and t.id = :id;

-- name: tasks_of_item
-- What is, or was, to be done about a work item, the newest first. They are few, and sorted by an expression: no planner
-- walks the whole namespace in the order of ids to find them.
select {task} from tasks t where t.namespace = :namespace and t.item_id = :item_id order by t.id || '' desc limit :limit;

-- name: count_open_tasks
-- How much is still to be done about a work item.
select count(*) from tasks t where t.namespace = :namespace and t.item_id = :item_id and t.status = 'queued';

-- name: end_task
-- A task that is over, unless it was before.
update tasks set status = :status, ended_at = :ended_at, ended_by = :ended_by, note = :note
 where namespace = :namespace and id = :id and status = 'queued';

-- name: cancel_tasks_of_item
-- The item is over: nothing more is to be done about it.
update tasks set status = 'cancelled', ended_at = {now}, ended_by = :ended_by, note = :note
 where namespace = :namespace and item_id = :item_id and status = 'queued';

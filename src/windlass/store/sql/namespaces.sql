-- name: enter_namespace
-- Give a namespace its row; one that has it keeps it.
insert into namespaces (name, note, created_at) values (:name, :note, {now}) on conflict (name) do nothing;

-- name: load_namespace
-- One namespace as it stands.
select r.name, r.is_enabled, r.note, r.created_at, r.disabled_at, r.closes_gate from namespaces r where r.name = :name;

-- name: lock_namespace
-- The same, held against everyone who changes it.
select r.name, r.is_enabled, r.note, r.created_at, r.disabled_at, r.closes_gate
  from namespaces r
 where r.name = :name
{for_update};

-- name: page_of_namespaces
-- Those that have a row or are in use, by name: a probe of each table leads from one to the next, so what is in them is
-- not read. The log is not asked: it outlives what it tells of.
with recursive found (name) as (
    select (select min(x.name) from (
               select (select n.name from namespaces n where n.name > :after order by n.name limit 1) as name
               union all select (select r.namespace from runs r where r.namespace > :after order by r.namespace limit 1)
               union all select (select s.namespace from schedules s where s.namespace > :after order by s.namespace limit 1)
               union all select (select g.namespace from gates g where g.namespace > :after order by g.namespace limit 1)
               union all select (select w.namespace from workers w where w.namespace > :after order by w.namespace limit 1)
               union all select (select q.namespace from pipelines q where q.namespace > :after order by q.namespace limit 1)
           ) as x)
    union all
    select (select min(x.name) from (
               select (select n.name from namespaces n where n.name > f.name order by n.name limit 1) as name
               union all select (select r.namespace from runs r where r.namespace > f.name order by r.namespace limit 1)
               union all select (select s.namespace from schedules s where s.namespace > f.name order by s.namespace limit 1)
               union all select (select g.namespace from gates g where g.namespace > f.name order by g.namespace limit 1)
               union all select (select w.namespace from workers w where w.namespace > f.name order by w.namespace limit 1)
               union all select (select q.namespace from pipelines q where q.namespace > f.name order by q.namespace limit 1)
           ) as x)
      from found f
     where f.name is not null
), page (name) as (
    select f.name from found f where f.name is not null limit :limit
)
select p.name, n.is_enabled, n.note, n.created_at, n.disabled_at, n.closes_gate
  from page p
  left join namespaces n on n.name = p.name;

-- name: use_of_namespace
-- What is in a namespace, each counted up to a limit: runs, schedules, workers that have not stopped, events that wait or
-- are at work, work items, live signals; and whether gates, pipelines, signals or workers of former days are left.
select (select count(*) from (select 1 from runs r where r.namespace = :name limit :limit) as x),
       (select count(*) from (select 1 from schedules s where s.namespace = :name limit :limit) as x),
       (select count(*) from (select 1 from workers w
                               where w.namespace = :name and w.stopped_at is null limit :limit) as x),
       (select count(*) from (select 1 from gates g where g.namespace = :name limit 1) as x)
       + (select count(*) from (select 1 from pipelines q where q.namespace = :name limit 1) as x)
       + (select count(*) from (select 1 from workers w where w.namespace = :name limit 1) as x)
       + (select count(*) from (select 1 from signals s where s.namespace = :name limit 1) as x),
       (select count(*) from (select 1 from events e
                               where e.namespace = :name and e.status = 'pending' limit :limit) as x)
       + (select count(*) from (select 1 from pipelines q
                                 where q.namespace = :name and q.run_id is not null limit :limit) as x),
       (select count(*) from (select 1 from items t where t.namespace = :name limit :limit) as x),
       (select count(*) from (select 1 from signals s where s.namespace = :name and s.is_live = 1 limit :limit) as x);

-- name: set_namespace
-- Enable or disable, and note whether its gate was closed because of that.
update namespaces
   set is_enabled = :is_enabled, closes_gate = :closes_gate,
       disabled_at = case when cast(:is_enabled as bigint) = 0 then {now} end
 where name = :name;

-- name: remove_keys_of_namespace
-- The start keys of what was started in it.
delete from keys where namespace = :name;

-- name: remove_workers_of_namespace
-- Workers of former days.
delete from workers where namespace = :name and stopped_at is not null;

-- name: remove_gates_of_namespace
-- What could be paused in it.
delete from gates where namespace = :name;

-- name: remove_cursors_of_namespace
-- Who has read its log.
delete from cursors where namespace = :name;

-- name: remove_limits_of_namespace
-- How long its runs were to be kept.
delete from workflows where namespace = :name;

-- name: remove_causes_of_namespace
-- What has caused the events of its pipelines.
delete from causes where namespace = :name;

-- name: remove_inputs_of_namespace
-- What came into its pipelines.
delete from inputs where namespace = :name;

-- name: remove_effects_of_namespace
-- The ledger of its effects.
delete from effects where namespace = :name;

-- name: remove_handler_runs_of_namespace
-- The attempts of its handlers.
delete from handler_runs where namespace = :name;

-- name: remove_events_of_namespace
-- The events of its pipelines.
delete from events where namespace = :name;

-- name: remove_topics_of_namespace
-- Who used its topics.
delete from topics where namespace = :name;

-- name: remove_handlers_of_namespace
-- The handlers of its pipelines.
delete from handlers where namespace = :name;

-- name: remove_pipelines_of_namespace
-- Its pipelines.
delete from pipelines where namespace = :name;

-- name: remove_firings_of_namespace
-- What its signals have fired.
delete from firings where namespace = :name;

-- name: remove_signals_of_namespace
-- Its signals, which are over.
delete from signals where namespace = :name;

-- name: remove_examined_of_namespace
-- How far its log was examined.
delete from signal_cursors where namespace = :name;

-- name: remove_minutes_of_namespace
-- What was counted in it.
delete from minutes where namespace = :name;

-- name: remove_namespace
-- The row itself.
delete from namespaces where name = :name;

-- name: lock_pipelines
-- Pipelines by their names, locked in the order of names until this transaction ends: before any of their events. And
-- what time it is then.
select {pipeline}, {now} from {rows:pipelines.name:names} order by p.name || '' {lock_pipeline};

-- name: lock_due_pipelines
-- Those of these that may be claimed now, and that nobody else is at.
select {pipeline} from {rows:pipelines.name:names}
 where p.available_at <= (select {now}) {skip_locked_pipeline};

-- name: lock_held_pipelines
-- What a worker holds.
select {pipeline} from pipelines p {by_holder}
 where p.namespace = :namespace and p.worker = :worker and p.status = 'running'
 order by p.name || '' {lock_pipeline};

-- name: look_at_pipelines
-- When those of these are due that ever are; and what time it is.
select p.available_at, p.name, p.queue, p.revision, {now} from {rows:pipelines.name:names} where p.available_at is not null;

-- name: load_pipeline
-- One pipeline as it stands.
select {pipeline} from pipelines p where p.namespace = :namespace and p.name = :name;

-- name: list_pipelines
-- All pipelines of a namespace, by name.
select {pipeline} from pipelines p where p.namespace = :namespace order by p.name;

-- name: pipelines_of_program
-- What a program has declared and not taken back.
select p.name from pipelines p
 where p.namespace = :namespace and p.declared_in = :program and p.is_declared = 1
 order by p.name;

-- name: insert_pipeline
-- A new pipeline; a name that exists is left as it is.
insert into pipelines (namespace, name, queue, revision, status, issue, run_id, available_at, token, worker, poll, recoveries,
                       seq, failures, fixes, streak, retry, visibility_for, has_fixer, is_paused, paused_by, note, paused_at,
                       declared_in, is_declared, created_at, changed_at)
values (:namespace, :name, :queue, :revision, :status, :issue, :run_id, :available_at, :token, :worker, :poll, :recoveries,
        :seq, :failures, :fixes, :streak, :retry, :visibility_for, :has_fixer, :is_paused, :paused_by, :note, :paused_at,
        :declared_in, :is_declared, :created_at, :changed_at)
on conflict do nothing;

-- name: save_pipelines
-- Where pipelines stand that this transaction has locked.
update pipelines
   set status = :status, issue = :issue, run_id = :run_id, available_at = :available_at, token = :token, worker = :worker,
       poll = :poll, recoveries = :recoveries, seq = :seq, failures = :failures, fixes = :fixes, streak = :streak,
       is_paused = :is_paused, paused_by = :paused_by, note = :note, paused_at = :paused_at, changed_at = :changed_at
 where namespace = :namespace and name = :name;

-- name: renew_pipelines
-- Move the end of the holders' claims forward, never back.
update pipelines
   set available_at = {greatest}(available_at, {now} + :renew_for)
 where namespace = :namespace and name = :pipeline and token = :token and status = 'running';

-- name: redefine_pipeline
-- What the code says about a pipeline that this transaction has locked.
update pipelines
   set queue = :queue, revision = :revision, retry = :retry, visibility_for = :visibility_for, has_fixer = :has_fixer,
       declared_in = :declared_in, is_declared = :is_declared
 where namespace = :namespace and name = :name;

-- name: handlers_of_pipelines
-- The handlers of these pipelines, in the order they were declared.
select {handler} from {rows:handlers.pipeline:names} order by h.pipeline, h.position;

-- name: put_handlers
-- What the code says about handlers; their states stay.
insert into handlers (namespace, pipeline, name, position, spec, next_at, is_queued, wake_at, news, seen, is_declared)
values (:namespace, :pipeline, :name, :position, :spec, :next_at, :is_queued, :wake_at, :news, :seen, :is_declared)
on conflict (namespace, pipeline, name) do update
   set position = excluded.position, spec = excluded.spec, next_at = excluded.next_at, is_queued = excluded.is_queued,
       wake_at = excluded.wake_at, news = excluded.news, seen = excluded.seen, is_declared = excluded.is_declared;

-- name: save_handlers
-- When handlers are due, and what they have seen.
update handlers
   set next_at = :next_at, is_queued = :is_queued, wake_at = :wake_at, news = :news, seen = :seen
 where namespace = :namespace and pipeline = :pipeline and name = :name;

-- name: save_states
-- What handlers keep from run to run.
update handlers set state = :state where namespace = :namespace and pipeline = :pipeline and name = :name;

-- name: load_state
-- What a handler keeps.
select h.state from handlers h where h.namespace = :namespace and h.pipeline = :pipeline and h.name = :name;

-- name: subscribers
-- Which pipelines subscribe to these topics.
select t.name, t.pipeline from {rows:topics.name:names} where t.is_subscribed = 1 group by t.name, t.pipeline;

-- name: forget_topics
-- What the handlers of a pipeline publish and subscribe to, to be entered anew.
delete from topics where namespace = :namespace and pipeline = :pipeline;

-- name: enter_topics
-- Who publishes to a topic, and who subscribes to it.
insert into topics (namespace, name, pipeline, handler, is_subscribed)
values (:namespace, :name, :pipeline, :handler, :is_subscribed)
on conflict do nothing;

-- name: list_topics
-- Every topic with those who use it.
select t.name, t.pipeline, t.handler, t.is_subscribed from topics t
 where t.namespace = :namespace
 order by t.name, t.pipeline, t.handler;

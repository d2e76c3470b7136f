-- name: create_handler_runs
-- New attempts.
insert into handler_runs (namespace, id, pipeline, handler, kind, retry_of, attempt, phase, status, outcome, token, worker,
                          news, reserved, title, effect, warning, failure, decided_by, note, created_at, updated_at,
                          ended_at, data, result)
values (:namespace, :id, :pipeline, :handler, :kind, :retry_of, :attempt, :phase, :status, :outcome, :token, :worker, :news,
        :reserved, :title, :effect, :warning, :failure, :decided_by, :note, :created_at, :updated_at, :ended_at,
        :data, :result);

-- name: save_handler_runs
-- How far attempts have come and how they stand; whoever writes holds the lock of their pipeline. What they have prepared
-- and found is written once.
update handler_runs
   set phase = :phase, status = :status, outcome = :outcome, token = :token, worker = :worker, reserved = :reserved,
       title = :title, effect = :effect, warning = :warning, failure = :failure, decided_by = :decided_by, note = :note,
       updated_at = :updated_at, ended_at = :ended_at, data = coalesce(:data, data), result = coalesce(:result, result)
 where namespace = :namespace and id = :id;

-- name: load_handler_runs
-- Attempts by their ids.
select {handler_run} from {rows:handler_runs.id:ids};

-- name: load_contents
-- What an attempt has prepared, and what its effect returned.
select h.data, h.result from handler_runs h where h.namespace = :namespace and h.id = :id;

-- name: page_of_handler_runs
-- Attempts of a pipeline, the newest first.
select {handler_run} from handler_runs h
 where h.namespace = :namespace and h.pipeline = :pipeline and h.attempt > 0 and h.id < :before
 order by h.id desc
 limit :limit;

-- name: page_of_handler
-- Attempts of one handler, the newest first.
select {handler_run} from handler_runs h
 where h.namespace = :namespace and h.pipeline = :pipeline and h.attempt > 0 and h.handler = :handler and h.id < :before
 order by h.id desc
 limit :limit;

-- name: titled_handler_runs
-- What a pipeline did lately that has a title.
select {handler_run} from handler_runs h
 where h.namespace = :namespace and h.pipeline = :pipeline and h.title <> '' and h.status = 'committed'
 order by h.id desc
 limit :limit;

-- name: chain_of_handler_run
-- The attempts before one, and those that followed it.
with recursive before (id, retry_of) as (
    select h.id, h.retry_of from handler_runs h where h.namespace = :namespace and h.id = :id
    union all
    select o.id, o.retry_of from before b
      join handler_runs o on o.namespace = :namespace and o.id = b.retry_of
),
behind (id) as (
    select h.id from handler_runs h where h.namespace = :namespace and h.id = :id
    union all
    select o.id from behind b
     cross join handler_runs o -- one after the other: a chain is short, and what stands in the index may not be
     where o.namespace = :namespace and o.retry_of = b.id
)
select id from before union select id from behind order by id;

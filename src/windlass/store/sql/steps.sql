-- name: begin_steps
-- Note that a body was entered.
insert into steps (namespace, run_id, step_key, attempt, kind, status, token, failures, input_hash, started_at)
select :namespace, :run_id, :key, :attempt, :kind, 'running', :token, :failures, :input_hash, {now}
 where exists (select 1 from runs r
                where r.namespace = :namespace and r.id = :run_id and r.token = :token and r.status = 'running')
on conflict (namespace, run_id, step_key, attempt) do update
   set token = excluded.token
 where steps.status = 'running';

-- name: complete_steps
-- Record results for ever, under the token given.
insert into steps (namespace, run_id, step_key, attempt, kind, status, step_order, token, failures, input_hash,
                   output, started_at, finished_at)
select :namespace, :run_id, :key, :attempt, :kind, 'completed', :order, :token, :failures, :input_hash,
       :output, {now} - :ran_for, {now}
 where exists (select 1 from runs r
                where r.namespace = :namespace and r.id = :run_id and r.token = :token and r.status = 'running')
on conflict (namespace, run_id, step_key, attempt) do update
   set status = 'completed', step_order = excluded.step_order, token = excluded.token, failures = excluded.failures,
       input_hash = excluded.input_hash, output = excluded.output, failure = null,
       started_at = case when steps.status = 'running' then excluded.started_at else steps.started_at end, finished_at = excluded.finished_at
 where steps.status in ('running', 'waiting');

-- name: matching_step
-- When this completion was recorded, under the same token and with the same output: then it is a repeat.
select s.finished_at from steps s
 where s.namespace = :namespace and s.run_id = :run_id and s.step_key = :key and s.attempt = :attempt
   and s.status = 'completed' and s.token = :token and s.output = :output;

-- name: settle_steps
-- Write failed attempts and waits of a run this transaction has locked. What is over stays as it is.
insert into steps (namespace, run_id, step_key, attempt, kind, status, step_order, token, failures, input_hash,
                   output, failure, due_at, started_at, finished_at, awaits, detail, dropped)
values (:namespace, :run_id, :key, :attempt, :kind, :status, :order, :token, :failures, :input_hash,
        :output, :failure, :due_at, :started_at, :finished_at, :awaits, :detail, :dropped)
on conflict (namespace, run_id, step_key, attempt) do update
   set status = excluded.status, step_order = excluded.step_order, token = excluded.token,
       failures = excluded.failures, input_hash = excluded.input_hash, output = excluded.output,
       failure = excluded.failure, dropped = excluded.dropped, awaits = coalesce(steps.awaits, excluded.awaits),
       due_at = case when excluded.status = 'waiting' then coalesce(steps.due_at, excluded.due_at)
                     else excluded.due_at end,
       started_at = case when steps.status = 'running' then excluded.started_at else steps.started_at end, finished_at = excluded.finished_at
 where steps.status in ('running', 'waiting');

-- name: drop_waits
-- Note that the code has given up these waits, and the next tries of what failed.
update steps set dropped = 1
 where namespace = :namespace and run_id = :run_id and step_key = :key
   and (status = 'waiting' or (status = 'failed' and due_at is not null));

-- name: awaited_children
-- Those of these runs that a run waits for: one probe each.
select s.awaits
  from json_each(:ids) as i
 cross join steps s on s.namespace = :namespace and s.run_id = :run_id and s.kind = 'child' and s.awaits = i.value
                   and s.status = 'waiting' and s.dropped = 0;

-- name: awaiting_event
-- Whether a run waits for an event of this name.
select 1 from steps s
 where s.namespace = :namespace and s.run_id = :run_id and s.kind = 'event' and s.awaits = :event
   and s.status = 'waiting' and s.dropped = 0
 limit 1;

-- name: open_waits
-- What a run waits for: its waits, and its failed attempts that will be tried again.
select {step} from steps s
 where s.namespace = :namespace and s.run_id = :run_id
   and (s.status = 'waiting' or (s.status = 'failed' and s.due_at is not null))
   and s.attempt = (select max(m.attempt) from steps m
                     where m.namespace = s.namespace and m.run_id = s.run_id and m.step_key = s.step_key)
 order by s.step_key;

-- name: histories_of_runs
-- The latest attempt of every step of these runs: what a replay needs.
select {step} from {rows:steps.run_id:run_ids}
 where s.attempt = (select max(m.attempt) from steps m
                     where m.namespace = s.namespace and m.run_id = s.run_id and m.step_key = s.step_key);

-- name: attempts_of_run
-- Every attempt of every step, in the order they began.
select {step} from steps s
 where s.namespace = :namespace and s.run_id = :run_id
 order by coalesce(s.started_at, 0), coalesce(s.step_order, 0), s.step_key, s.attempt;

-- name: create_runs
-- Insert runs that somebody may claim once they are due. An id that exists is a repeat. A time-out counts from when the
-- run is due for the first time.
insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, expires_at, starts_at,
                  parent, parent_step, follows_parent)
values (:namespace, :id, :name, :version, :queue, :priority, 'pending', coalesce(:at, {now} + coalesce(:delay_for, 0)),
        {now}, coalesce(:at, {now} + coalesce(:delay_for, 0)) + :timeout_for, coalesce(:at, {now} + :delay_for),
        :parent, :parent_step, :follows_parent)
on conflict do nothing;
insert into payloads (namespace, run_id, start_key, input)
values (:namespace, :id, :start_key, :input);
-- together: id, namespace
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
select :namespace, 'run', i.value, null, 'pending', 'start', {now}
  from json_each(:id) as i;
-- together: id, namespace
{fire:id};

-- name: dispatch_runs
-- Insert runs that are claimed already, by the worker named. A time-out caps the end of the claim.
insert into runs (namespace, id, name, version, queue, priority, status, available_at, token, worker, poll,
                  attempts, created_at, started_at, expires_at)
values (:namespace, :id, :name, :version, :queue, :priority, 'running',
        {now} + min(:claim_for, coalesce(:timeout_for, :claim_for)), 1, :worker, :poll, 1, {now}, {now},
        {now} + :timeout_for)
on conflict do nothing;
insert into payloads (namespace, run_id, start_key, input)
values (:namespace, :id, :start_key, :input);
-- together: id, namespace
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
select :namespace, 'run', i.value, null, 'running', 'dispatch', {now}
  from json_each(:id) as i;
-- together: id, namespace
{fire:id};

-- name: claim_runs
-- Claim up to :limit due runs of the lanes served, most urgent first, behind no gate that is closed. Lanes are found by
-- hopping from priority to priority along the claim index; each is read as one bounded range, so rows due later or of
-- others cost nothing.
-- each: row, claim_for
with recursive closed as materialized (
    select g.kind, g.name from gates g where g.namespace = :namespace and g.is_paused = 1
),
{lanes},
due as (
    select r.rowid as "row", l.claim_for
      from lanes l
     cross join runs r on r.rowid in (
           select d.rowid from runs d
            where d.namespace = :namespace and d.queue = l.queue and d.name = l.name and d.version = l.version
              and d.priority = l.priority and d.available_at <= {now}
            order by d.available_at, d.id limit :limit)
     where l.priority is not null
     order by r.priority desc, r.available_at, r.id
     limit :limit
)
select r.namespace, r.id, r.name, r.version, r.queue, r.priority, 'running' as status,
       min({now} + due.claim_for, coalesce(max(r.expires_at, {now}), {now} + due.claim_for)) as available_at,
       r.token + 1 as token, :worker as worker, :poll as poll,
       r.attempts + 1 as attempts, r.recoveries + (r.status = 'running') as recoveries,
       r.created_at, coalesce(r.started_at, {now}) as started_at, r.finished_at,
       r.expires_at, r.held, r.parent, r.parent_step, 0 as unmet, r.starts_at, r.retry_of, r.origin, r.begun_at,
       r.schedule, r.slot, r.scheduled_at, r.kind, r.ready_at, r.status as was, r.available_at as due_at,
       r.worker as holder, p.input, p.start_key, {now} as at, due."row", due.claim_for
  from due
 cross join runs r on r.rowid = due."row"
 cross join payloads p on p.namespace = r.namespace and p.run_id = r.id;
-- together: row, claim_for
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
select r.namespace, 'run', r.id, r.status, 'running', case when r.status = 'running' then 'recover' else 'claim' end, {now}
  from json_each(:row) as i
 cross join runs r on r.rowid = i.value;
-- together: row, claim_for
{fire_rows:row};
-- together: row, claim_for
update runs
   set status = 'running', available_at = min({now} + :claim_for, coalesce(max(expires_at, {now}), {now} + :claim_for)),
       token = token + 1, worker = :worker, poll = :poll, attempts = attempts + 1,
       recoveries = recoveries + (status = 'running'), started_at = coalesce(started_at, {now}), unmet = 0
 where rowid in (select i.value from json_each(:row) as i);

-- name: runs_of_poll
-- What one poll of a worker claimed and still holds: the answer to a claim whose reply was lost.
select {run},
       (select g.from_status from log g
         where g.namespace = r.namespace and g.subject_kind = 'run' and g.subject_id = r.id
         order by g.seq desc limit 1) as was,
       r.available_at as due_at,
       cast(null as text) as holder,
       (select p.input from payloads p where p.namespace = r.namespace and p.run_id = r.id) as input,
       (select p.start_key from payloads p where p.namespace = r.namespace and p.run_id = r.id) as start_key,
       {now} as at
  from runs r
 where r.namespace = :namespace and r.worker = :worker and r.poll = :poll and r.status = 'running';

-- name: next_due_run
-- The earliest due time over the lanes served, and what time it is: one probe per lane.
with recursive closed as materialized (
    select g.kind, g.name from gates g where g.namespace = :namespace and g.is_paused = 1
),
{lanes}
select min(earliest.available_at), {now}
  from (select (select r.available_at from runs r
                 where r.namespace = :namespace and r.queue = l.queue and r.name = l.name and r.version = l.version
                   and r.priority = l.priority and r.available_at is not null
                 order by r.available_at limit 1) as available_at
          from lanes l
         where l.priority is not null) as earliest;

-- name: lock_runs
-- Runs by their ids, locked in the order of ids until this transaction ends.
select {run} from {rows:runs.id:ids} order by r.id || '' {for_update};

-- name: load_run
-- One run as it stands.
select {run} from runs r where r.namespace = :namespace and r.id = :id;

-- name: lock_run
-- One run, held against every other writer until this transaction ends.
select {run} from runs r where r.namespace = :namespace and r.id = :id {for_update};

-- name: lock_runs_of_worker
-- What a worker holds, locked in the order of ids until this transaction ends. Sorted by an expression on purpose: by
-- the column itself, the planner would rather walk through all runs in their order.
select {run} from runs r where r.namespace = :namespace and r.worker = :worker order by r.id || '' {for_update};

-- name: save_run
-- Move a run from the state it was decided on: another token or status means someone was faster.
update runs
   set status = :status, available_at = :available_at, token = :token, worker = :worker, poll = :poll,
       attempts = :attempts, recoveries = :recoveries, started_at = :started_at, finished_at = :finished_at,
       held = :held, unmet = :unmet
 where namespace = :namespace and id = :id and token = :was_token and status = :was_status;

-- name: renew_claim
-- Move the end of the holder's claim forward, never back and never behind the time-out of the run.
update runs
   set available_at = {greatest}(available_at, {least}({now} + :visibility_for, coalesce(expires_at, {now} + :visibility_for)))
 where namespace = :namespace and id = :id and token = :token and status = 'running';

-- name: renew_claims
-- The same for many claims: along the way of completions, and while step bodies are at work.
update runs
   set available_at = {greatest}(available_at, {least}({now} + :renew_for, coalesce(expires_at, {now} + :renew_for)))
 where namespace = :namespace and id = :run_id and token = :token and status = 'running';

-- name: finish_runs
-- End runs held under the token given. A terminal run keeps its token, so that a repeat is recognised.
update runs
   set status = :status, available_at = null, worker = null, finished_at = {now}, result_hash = :result_hash,
       held = 0, unmet = 0
 where namespace = :namespace and id = :run_id and token = :token and status = 'running';
update payloads set output = :output, failure = :failure where namespace = :namespace and run_id = :run_id;
-- together: run_id, namespace, status
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
select :namespace, 'run', i.value, 'running', :status, 'finish', {now}
  from json_each(:run_id) as i;
-- together: run_id, namespace, status
{fire:run_id};

-- name: endings_of_runs
-- How runs ended and under which token: tells a repeat from a lost claim.
select r.id, r.status, r.token, r.result_hash from {rows:runs.id:ids};

-- name: children_of_run
-- The runs that a run has started, each with the step that did.
select r.id, r.parent_step from runs r where r.namespace = :namespace and r.parent = :parent;

-- name: standings_of_runs
-- Whether claims still hold, whether a person wants their runs paused, and whether something has come they wait for.
select r.id, r.status, r.token, r.held,
       exists (select 1 from steps s
                where s.namespace = r.namespace and s.run_id = r.id and s.status = 'waiting' and s.awaits is not null
                  and s.dropped = 0
                  and (exists (select 1 from inbox b
                                where b.namespace = s.namespace and b.run_id = s.run_id and b.kind = s.kind
                                  and b.name = case when s.kind = 'event' then s.awaits else s.step_key end
                                  and b.taken_by is null)
                       or (s.kind = 'child'
                           and exists (select 1 from runs c
                                        where c.namespace = s.namespace and c.id = s.awaits and c.parent = s.run_id
                                          and c.finished_at is not null)))) as has_news
  from {rows:runs.id:ids};

-- name: outcomes_of_runs
-- Where runs stand, with the result of those that have one.
select r.id, r.status,
       (select p.output from payloads p where p.namespace = r.namespace and p.run_id = r.id) as output,
       (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id) as failure
  from {rows:runs.id:ids};

-- name: view_run
-- One run with its payloads.
select {run}, p.start_key, p.input, p.output, p.failure
  from runs r
  join payloads p on p.namespace = r.namespace and p.run_id = r.id
 where r.namespace = :namespace and r.id = :id;

-- name: list_runs
-- One page, newest first: ids sort by creation, and the page is a range of the primary key.
select {run} from runs r
 where r.namespace = :namespace and r.id < :before
   and (cast(:status as text) is null or r.status = :status)
   and (cast(:name as text) is null or r.name = :name)
   and (cast(:queue as text) is null or r.queue = :queue)
   and (cast(:created_after as bigint) is null or r.created_at >= :created_after)
 order by r.id desc
 limit :limit;

-- name: list_children
-- One page of the runs that a run has started, newest first. They are few, and sorted: an id with nothing added to it
-- is an expression, so that no planner walks the whole namespace in the order of ids to find them.
select {run} from runs r
 where r.namespace = :namespace and r.parent = :parent and r.id || '' < :before
   and (cast(:status as text) is null or r.status = :status)
   and (cast(:name as text) is null or r.name = :name)
   and (cast(:queue as text) is null or r.queue = :queue)
   and (cast(:created_after as bigint) is null or r.created_at >= :created_after)
 order by r.id || '' desc
 limit :limit;

-- name: list_runs_of_schedule
-- One page of the runs that a schedule has started, newest first: a range of their index.
select {run} from runs r
 where r.namespace = :namespace and r.schedule = :schedule and r.id < :before
   and (cast(:status as text) is null or r.status = :status)
   and (cast(:name as text) is null or r.name = :name)
   and (cast(:queue as text) is null or r.queue = :queue)
   and (cast(:created_after as bigint) is null or r.created_at >= :created_after)
   and (cast(:parent as text) is null or r.parent = :parent)
 order by r.id desc
 limit :limit;

-- name: set_run_failure
-- Say why a run is held, or take that back.
update payloads set failure = :failure where namespace = :namespace and run_id = :id;

-- name: set_unretrieved
-- Keep the error of a task that no other task has retrieved, for people who ask.
update payloads set unretrieved = :unretrieved where namespace = :namespace and run_id = :id;

-- name: unretrieved_of_run
-- What was kept of that, with the token under which it was so.
select p.unretrieved from payloads p where p.namespace = :namespace and p.run_id = :id;

-- name: relatives_of_runs
-- Whom the end of these runs may concern.
select r.id, r.parent, r.schedule, case when r.kind in ('job', 'group') then r.parent_step end
  from {rows:runs.id:ids};

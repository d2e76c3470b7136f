-- name: lock_graphs
-- Graphs by their ids, locked in the order of ids until this transaction ends: before any of their jobs.
select {graph} from {rows:graphs.id:ids} order by g.id || '' {lock_graph};

-- name: load_graph
-- One graph as it stands.
select {graph} from graphs g where g.namespace = :namespace and g.id = :id;

-- name: create_graph
-- Make a run a graph that has no jobs yet.
insert into graphs (namespace, id, name, parent, schedule, created_at)
select r.namespace, r.id, r.name, r.parent, r.schedule, {now}
  from runs r
 where r.namespace = :namespace and r.id = :id
on conflict do nothing;

-- name: mark_graph
-- From now on this run is a graph: it waits for its jobs.
update runs
   set kind = 'graph', status = :status, available_at = null, worker = null, recoveries = 0, held = 0, unmet = 0
 where namespace = :namespace and id = :id and token = :token and status = :was;

-- name: create_jobs
-- Insert jobs: due now, waiting for what they need, or over already because they are copied.
insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, started_at, finished_at,
                  expires_at, parent, parent_step, follows_parent, unmet, kind, ready_at, retry_of, origin, begun_at)
values (:namespace, :id, :workflow, :version, :queue, :priority, :status,
        case when :status = 'pending' then {now} end, {now}, null,
        case when :status in ('completed', 'failed', 'cancelled', 'skipped') then {now} end,
        case when :status in ('pending', 'paused') then {now} + :timeout_for end, :graph, :name, 1 - :is_cleanup, :unmet, :kind,
        case when :unmet = 0 then {now} end, :retry_of, :origin, :begun_at);
insert into payloads (namespace, run_id, input, output) values (:namespace, :id, :input, :output);
insert into jobs (namespace, graph, name, run_id, position, is_group, is_cleanup, group_name, matrix, max_parallel,
                  fail_fast, is_held, timeout_for)
values (:namespace, :graph, :name, :id, :position, :is_group, :is_cleanup, :group_name, :matrix, :max_parallel,
        :fail_fast, :is_held, :timeout_for);
-- together: id, namespace, status, cause
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
select :namespace, 'run', i.value, null, :status, :cause, {now}
  from json_each(:id) as i;
-- together: id, namespace, status, cause
{fire:id};

-- name: create_edges
-- Insert who waits for whom. The same edge twice is one.
insert into edges (namespace, graph, job, upstream, accepts, is_group, is_resolved)
values (:namespace, :graph, :job, :upstream, :accepts, :is_group, :is_resolved)
on conflict do nothing;

-- name: resolve_edges
-- The members of a group have edges of their own now.
update edges set is_resolved = 1
 where namespace = :namespace and graph = :graph and upstream = :upstream and is_group = 1;

-- name: jobs_below
-- Who waits for these jobs: the edges, with the jobs that wait and what they were started with, locked in the order of the
-- ids of their runs until this transaction ends.
select {edge}, p.input, {job}, {run}
  from {rows:edges.upstream:names:graph}
 cross join jobs j on j.namespace = e.namespace and j.graph = e.graph and j.name = e.job
 cross join runs r on r.namespace = j.namespace and r.id = j.run_id
 cross join payloads p on p.namespace = r.namespace and p.run_id = r.id
 where e.is_resolved = 0
 order by r.id || '' {for_update};

-- name: edges_below_skipped
-- The open edges of those who wait for these jobs, and of those who wait for whoever is skipped because of that, to the end.
with recursive skipped (name) as (
    select i.value from json_each(:names) as i
    union
    select e.job from skipped s
      join edges e on e.namespace = :namespace and e.graph = :graph and e.upstream = s.name
     where e.is_resolved = 0 and e.accepts not like '%skipped%'
)
select {edge} from skipped s
 cross join edges e on e.namespace = :namespace and e.graph = :graph and e.upstream = s.name and e.is_resolved = 0;

-- name: edges_of_jobs
-- What these jobs wait for.
select {edge} from {rows:edges.job:names:graph};

-- name: edges_of_graph
-- All of them.
select {edge} from edges e where e.namespace = :namespace and e.graph = :graph;

-- name: lock_jobs
-- Jobs by their names, locked in the order of the ids of their runs until this transaction ends.
select {job}, {run}
  from {rows:jobs.name:names:graph}
 cross join runs r on r.namespace = j.namespace and r.id = j.run_id
 order by r.id || '' {for_update};

-- name: jobs_of_graph
-- What a graph knows of all its jobs, in the order they were written.
select j.name, j.run_id, j.position, j.is_group, j.is_cleanup, j.group_name, j.matrix, j.max_parallel, j.fail_fast,
       j.timeout_for
  from jobs j
 where j.namespace = :namespace and j.graph = :graph and j.position >= 0
 order by j.position;

-- name: held_jobs
-- Jobs that wait for a sibling of their matrix, in their order.
select j.matrix, j.name from {rows:jobs.matrix:names:graph} where j.is_held = 1 order by j.position;

-- name: lock_open_jobs
-- Jobs of a graph that are not over, locked in the order of the ids of their runs.
select {job}, {run}
  from runs r
  join jobs j on j.namespace = r.namespace and j.graph = r.parent and j.name = r.parent_step
 where r.namespace = :namespace and r.parent = :graph and r.finished_at is null
 order by r.id || '' {for_update};

-- name: ends_of_jobs
-- Where jobs of a graph stand.
select r.parent_step, r.status
  from jobs j
 cross join runs r on r.namespace = j.namespace and r.id = j.run_id
 where j.namespace = :namespace and j.graph = :graph;

-- name: skip_jobs
-- End jobs that will never begin, and note because of which one.
update runs
   set status = 'skipped', available_at = null, finished_at = {now}, unmet = 0, held = 0
 where namespace = :namespace and id = :id and status = :was and attempts = 0;
update jobs set decided_by = :because, is_held = 0 where namespace = :namespace and graph = :graph and name = :name;
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)
values (:namespace, 'run', :id, :was, 'skipped', 'skip', {now}, :data);
{fire_one:id};

-- name: meet_needs
-- Some of what a job needs is over, and there is more.
update runs set unmet = unmet - :met
 where namespace = :namespace and id = :id and attempts = 0 and finished_at is null and unmet > :met;

-- name: add_needs
-- A job needs more than it did: the members of a group instead of the group.
update runs set unmet = unmet + :more
 where namespace = :namespace and id = :id and attempts = 0 and finished_at is null;

-- name: release_jobs
-- Jobs that need nothing any more: due now, or when they are resumed. Their time-outs begin to count.
update runs
   set unmet = 0, status = :status, available_at = case when :status = 'pending' then {now} end,
       ready_at = coalesce(ready_at, {now}), expires_at = {now} + :timeout_for
 where namespace = :namespace and id = :id and attempts = 0 and status = :was;
-- together: id, namespace, was, status, cause
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
select :namespace, 'run', i.value, :was, :status, :cause, {now}
  from json_each(:id) as i
 where :was <> :status;
-- together: id, namespace, was, status, cause
{fire:id};

-- name: dispatch_jobs
-- The same, and claimed already, by the worker named. Whoever sends this has looked at the gates :queue and :workflow.
update runs
   set unmet = 0, status = 'running', ready_at = coalesce(ready_at, {now}), token = token + 1, worker = :worker,
       poll = :poll, attempts = attempts + 1, started_at = {now}, expires_at = {now} + :timeout_for,
       available_at = {now} + min(:claim_for, coalesce(:timeout_for, :claim_for))
 where namespace = :namespace and id = :id and attempts = 0 and status = :was and queue = :queue and name = :workflow;
-- together: id, namespace, was
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at)
select :namespace, 'run', i.value, :was, 'running', 'dispatch', {now}
  from json_each(:id) as i;
-- together: id, namespace, was
{fire:id};

-- name: steer_jobs
-- Pause jobs that this transaction has locked, or let them go on.
update runs
   set status = :status, available_at = :available_at, held = :held, worker = :worker, recoveries = :recoveries,
       unmet = :unmet
 where namespace = :namespace and id = :id and token = :token and status = :was;
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)
values (:namespace, 'run', :id, :was, :status, :cause, {now}, :data);
{fire_one:id};

-- name: contents_of_runs
-- What runs were started with, and what they returned.
select p.run_id, p.input, p.output from {rows:payloads.run_id:ids};

-- name: grant_turns
-- These jobs wait for no sibling any more.
update jobs set is_held = 0 where namespace = :namespace and graph = :graph and name = :name;

-- name: count_graph
-- What became of jobs, and how many there are.
update graphs
   set jobs = jobs + :jobs, open = open + :open, completed = completed + :completed, failed = failed + :failed,
       cancelled = cancelled + :cancelled, skipped = skipped + :skipped, held = held + :held
 where namespace = :namespace and id = :id;

-- name: lock_counted_graph
-- One graph, locked until this transaction ends by counting what is about to end in it: one statement for both.
update graphs
   set open = open + :open, completed = completed + :completed, failed = failed + :failed,
       cancelled = cancelled + :cancelled
 where namespace = :namespace and id = :id
returning namespace, id, name, jobs, open, completed, failed, cancelled, skipped, held, is_paused, ending, parent,
          schedule, created_at;

-- name: bound_jobs
-- What is open of a graph that ends, and may begin or has begun, gets no more time than this.
update runs set expires_at = {least}({now} + :most_for, coalesce(expires_at, {now} + :most_for))
 where namespace = :namespace and parent = :graph and finished_at is null and unmet = 0;

-- name: steer_graph
-- It is paused, goes on, or ends once its cleanup jobs are over.
update graphs set is_paused = :is_paused, ending = :ending where namespace = :namespace and id = :id;

-- name: end_graph
-- The last job is over.
update runs
   set status = :status, available_at = null, worker = null, finished_at = {now}, held = 0, unmet = 0
 where namespace = :namespace and id = :id and status = :was;

-- name: store_end_of_graph
-- What it came to.
update payloads set output = :output, failure = :failure where namespace = :namespace and run_id = :id;

-- name: failed_jobs
-- The first jobs of a graph that failed, with their failures.
select r.parent_step, p.failure
  from runs r
  join payloads p on p.namespace = r.namespace and p.run_id = r.id
 where r.namespace = :namespace and r.parent = :graph and r.status = 'failed'
 order by r.finished_at, r.parent_step
 limit :limit;

-- name: needs_of_claims
-- Of jobs that are held: what their graph was started with, once for each graph, how their upstreams ended, and what
-- those returned.
with held as (
    select r.id, r.token, r.parent, r.parent_step, row_number() over (partition by r.parent order by r.id) as place
      from {rows:runs.id:ids}
     where r.status = 'running' and r.kind in ('job', 'group')
)
select h.id, h.token, h.parent, h.parent_step, p.input, null as name, g.name as workflow, g.version, null as status,
       null as is_group, null as group_name, null as matrix, null as output, null as failure, -1 as position
  from held h
 cross join runs g on g.namespace = :namespace and g.id = h.parent
  left join payloads p on p.namespace = :namespace and p.run_id = h.parent and h.place = 1
union all
select h.id, h.token, h.parent, h.parent_step, null, j.name, r.name, r.version, r.status, e.is_group, j.group_name,
       j.matrix, p.output, p.failure, j.position
  from held h
 cross join edges e on e.namespace = :namespace and e.graph = h.parent and e.job = h.parent_step
 cross join jobs j on j.namespace = e.namespace and j.graph = e.graph and j.name = e.upstream
 cross join runs r on r.namespace = j.namespace and r.id = j.run_id
 cross join payloads p on p.namespace = r.namespace and p.run_id = r.id
 order by 1, 15;

-- name: page_of_jobs
-- Jobs of a graph with their runs and failures, in the order they were written.
select {job}, {run}, (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id)
  from jobs j
 cross join runs r on r.namespace = j.namespace and r.id = j.run_id
 where j.namespace = :namespace and j.graph = :graph and j.position > :after and j.position >= 0
 order by j.position
 limit :limit;

-- name: some_jobs
-- The same of jobs by their names.
select {job}, {run}, (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id)
  from {rows:jobs.name:names:graph}
 cross join runs r on r.namespace = j.namespace and r.id = j.run_id
 order by j.position;

-- name: page_of_graphs
-- One page, newest first, each with its run.
select {graph}, {run}, (select p.failure from payloads p where p.namespace = r.namespace and p.run_id = r.id)
  from graphs g
 cross join runs r on r.namespace = g.namespace and r.id = g.id
 where g.namespace = :namespace and g.id < :before
   and (cast(:name as text) is null or g.name = :name)
   and (cast(:is_open as bigint) is null or (g.open > 0) = (:is_open = 1))
 order by g.id desc
 limit :limit;

-- name: waiting_jobs
-- Jobs that wait for what they need, behind a place, of every namespace; and what their edges come to: how many of their
-- upstreams are not over, how many ended in a way that is not accepted, and whether a sibling has to end first.
select r.namespace, r.parent, r.parent_step, r.unmet,
       (select count(*) from edges e
         where e.namespace = r.namespace and e.graph = r.parent and e.job = r.parent_step and e.is_resolved = 0
           and (select x.finished_at from runs x
                 where x.namespace = e.namespace and x.parent = e.graph and x.parent_step = e.upstream) is null) as open,
       (select count(*) from edges e
         where e.namespace = r.namespace and e.graph = r.parent and e.job = r.parent_step and e.is_resolved = 0
           and (select x.finished_at from runs x
                 where x.namespace = e.namespace and x.parent = e.graph and x.parent_step = e.upstream
                   and e.accepts not like '%' || x.status || '%'
                   and not (e.is_group = 1 and x.status = 'completed')) is not null) as refused,
       (select j.is_held from jobs j
         where j.namespace = r.namespace and j.graph = r.parent and j.name = r.parent_step) as held
  from runs r
 where r.unmet > 0 and r.attempts = 0 and r.finished_at is null and r.parent is not null
   and (r.namespace, r.parent, r.parent_step) > (:namespace, :graph, :name)
 order by r.namespace, r.parent, r.parent_step
 limit :limit;

-- name: stranded_jobs
-- Jobs that wait for nothing, are not due and were never claimed, of every namespace: no claim finds them, nor does the end
-- of another job.
select r.namespace, r.parent, r.parent_step
  from runs r {by_stranded}
 where r.status = 'waiting' and r.unmet = 0 and r.attempts = 0 and r.parent is not null and r.kind in ('job', 'group')
 order by r.namespace, r.parent, r.parent_step
 limit :limit;

-- name: open_graphs
-- Graphs that are not over, behind a place, of every namespace.
select g.namespace, g.id, g.name, (select r.version from runs r where r.namespace = g.namespace and r.id = g.id)
  from graphs g
 where g.open > 0 and (g.namespace, g.id) > (:namespace, :graph)
 order by g.namespace, g.id
 limit :limit;

-- name: unclaimed_jobs
-- Jobs of a graph that have been due for a while, and that nobody has claimed yet: some of them, the first.
select r.id, r.parent_step, r.name, r.version from runs r
 where r.namespace = :namespace and r.parent = :graph and r.status = 'pending' and r.attempts = 0
   and r.available_at <= (select {now} - :due_for)
 order by r.parent_step
 limit :limit;

-- name: remove_edges
-- Who waited for whom.
delete from edges where namespace = :namespace and graph = :id;

-- name: remove_jobs
-- What a graph knew of its jobs.
delete from jobs where namespace = :namespace and graph = :id;

-- name: remove_graph
-- A graph whose run goes.
delete from graphs where namespace = :namespace and id = :id;

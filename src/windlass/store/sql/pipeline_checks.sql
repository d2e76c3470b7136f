-- Read-only: everything that stands in pipelines, and what they must look like whatever happened, for doctor and for tests.

-- name: every_pipeline
-- All pipelines, by name.
select {pipeline} from pipelines p order by p.namespace, p.name;

-- name: every_handler
-- All handlers in the order they were declared, each with its state.
select h.state, {handler} from handlers h order by h.namespace, h.pipeline, h.position, h.name;

-- name: every_handler_run
-- All attempts, the oldest first, each with what it has prepared and what its effect returned.
select h.data, h.result, {handler_run} from handler_runs h order by h.namespace, h.id;

-- name: every_event
-- All events in the order they came.
select e.pipeline, {event} from events e order by e.namespace, e.pipeline, e.seq;

-- name: every_effect
-- The whole ledger, in the order of calls.
select {effect} from effects f order by f.namespace, f.created_at, f.owner, f.step_key, f.attempt;

-- name: every_cause
-- Which input has caused which event.
select c.pipeline, c.input, c.topic, c.event from causes c order by c.namespace, c.pipeline, c.input, c.topic, c.event;

-- name: count_stale_inputs
-- Inputs that came long ago and are not done, by pipeline.
select n.namespace, n.pipeline, count(*) from inputs n
 where n.skipped_at is null and n.created_at < {now} - :stale_for
   and (not exists (select 1 from causes c
                     where c.namespace = n.namespace and c.pipeline = n.pipeline and c.input = n.id)
        or exists (select 1 from causes c
                     {probe:events e:namespace = c.namespace, pipeline = c.pipeline, topic = c.topic, id = c.event}
                    where c.namespace = n.namespace and c.pipeline = n.pipeline and c.input = n.id
                      and e.status in ('pending', 'reserved')))
 group by n.namespace, n.pipeline;

-- name: unheard_topics
-- What is published to by handlers that are declared, and nobody subscribes to.
select distinct t.namespace, t.name from topics t
  join pipelines p on p.namespace = t.namespace and p.name = t.pipeline and p.is_declared = 1
 where t.is_subscribed = 0
   and not exists (select 1 from topics s where s.namespace = t.namespace and s.name = t.name and s.is_subscribed = 1)
 order by t.namespace, t.name;

-- name: inconsistencies_of_pipelines
-- What cannot be in a pipeline, whatever crashed: a row for each rule that is broken, with the subject that breaks it.
-- Only what holds at every commit. Attempts that are over may be removed, each with the events it has dealt with.
with held as not materialized ( -- pipelines with the attempt they go by
    select p.namespace, p.name, p.status, p.issue, p.run_id, h.id, h.phase, h.status as stands, h.outcome, h.failure,
           h.retry_of
      from pipelines p
      left join handler_runs h on h.namespace = p.namespace and h.id = p.run_id and h.pipeline = p.name
),
taken as not materialized ( -- events that are reserved, with who has reserved them
    select e.namespace, e.pipeline, e.pipeline || ' ' || e.topic || ' ' || e.id as subject, e.reserved_by, h.id, h.phase,
           h.status as stands, h.outcome, h.failure, p.run_id
      from events e
      left join handler_runs h on h.namespace = e.namespace and h.id = e.reserved_by
      left join pipelines p on p.namespace = e.namespace and p.name = e.pipeline
     where e.status = 'reserved'
),
entries as not materialized (
    select g.namespace, g.subject_id, max(g.seq) as seq from log g
     where g.subject_kind = 'pipeline'
     group by g.namespace, g.subject_id
)
select 'a pipeline goes by an attempt that does not exist' as rule, v.namespace, v.name as subject from held v
 where v.run_id is not null and v.id is null
union all
select 'a pipeline goes by an attempt that is committed', v.namespace, v.name from held v
 where v.stands = 'committed'
union all
select 'a pipeline is at work or waits, and has no attempt', v.namespace, v.name from held v
 where v.status <> 'idle' and v.run_id is null
union all
select 'a pipeline waits for something else than its attempt', v.namespace, v.name from held v
 where (v.status = 'backoff' and v.stands <> 'paused:transient')
    or (v.status = 'fixing' and v.stands <> 'failed:logic')
    or (v.status = 'reconciling' and v.stands <> 'paused:reconciliation')
    or (v.status = 'attention' and v.issue = 'approval' and v.stands <> 'paused:approval')
    or (v.status = 'attention' and v.issue = 'indeterminate' and v.stands <> 'paused:reconciliation')
union all
select 'a running pipeline has no holder', p.namespace, p.name from pipelines p
 where p.status = 'running' and (p.worker is null or p.available_at is null)
union all
select 'a pipeline that nobody executes has a holder', p.namespace, p.name from pipelines p
 where p.status <> 'running' and p.worker is not null
union all
select 'a pipeline has an issue and needs nobody, or the other way round', p.namespace, p.name from pipelines p
 where (p.status = 'attention') <> (p.issue is not null)
union all
select 'a pipeline that begins nothing is due', p.namespace, p.name from pipelines p
 where p.status <> 'running' and p.available_at is not null
   and (p.is_paused = 1 or p.is_declared = 0 or p.status = 'attention')
union all
select 'two attempts of a pipeline are active', h.namespace, h.pipeline from handler_runs h
 where h.status = 'active'
 group by h.namespace, h.pipeline
having count(*) > 1
union all
select 'an active attempt is not the one its pipeline goes by', h.namespace, h.id from handler_runs h
 where h.status = 'active'
   and not exists (select 1 from pipelines p
                    where p.namespace = h.namespace and p.name = h.pipeline and p.run_id = h.id
                      and p.status = 'running')
union all
select 'phase and status of an attempt disagree', h.namespace, h.id from handler_runs h
 where (h.phase = 'committed') <> (h.status = 'committed') or (h.status = 'active') <> (h.ended_at is null)
    or (h.kind = 'producer' and h.phase not in ('executing', 'committed')) or (h.kind = 'consumer' and h.phase = 'executing')
union all
select 'phase and outcome of an attempt disagree', h.namespace, h.id from handler_runs h
 where h.kind = 'consumer'
   and (h.phase in ('mutated', 'emitting', 'committed')) <> (coalesce(h.outcome, '') in ('success', 'skipped', 'none'))
    or h.outcome = 'failure' and h.phase <> 'mutating'
    or h.kind = 'producer' and h.outcome is not null
union all
select 'an attempt was written under a token nobody had', h.namespace, h.id
  from handler_runs h join pipelines p on p.namespace = h.namespace and p.name = h.pipeline
 where h.token > p.token
union all
select 'an attempt was followed twice', h.namespace, h.retry_of from handler_runs h
 where h.retry_of is not null
 group by h.namespace, h.retry_of
having count(*) > 1
union all
select 'an attempt does not follow the one it names', h.namespace, h.id
  from handler_runs h join handler_runs o on o.namespace = h.namespace and o.id = h.retry_of
 where o.pipeline <> h.pipeline or o.handler <> h.handler or h.attempt <> o.attempt + 1
    or o.status in ('active', 'committed')
union all
select 'an event is reserved by nobody who goes on with it', t.namespace, t.subject from taken t
 where t.id is null or t.run_id is null or t.run_id <> t.reserved_by
union all
select 'an attempt is committed and its events are still reserved', t.namespace, t.subject from taken t
 where t.stands = 'committed'
union all
select 'an attempt that begins anew has kept its events', t.namespace, t.subject from taken t
 where t.phase in ('executing', 'preparing')
    or (t.outcome is null and t.stands in ('paused:transient', 'failed:logic', 'failed:internal', 'crashed'))
    or (t.outcome is null and t.stands = 'paused:approval' and t.failure is not null)
    or (t.outcome = 'failure' and t.stands <> 'paused:approval')
union all
select 'an event is over without a committed attempt', e.namespace, e.pipeline || ' ' || e.topic || ' ' || e.id
  from events e
 where (e.status = 'consumed' and e.reserved_by is null)
    or (e.status in ('consumed', 'skipped') and e.reserved_by is not null
        and not exists (select 1 from handler_runs h
                         where h.namespace = e.namespace and h.id = e.reserved_by and h.status = 'committed'
                           and (h.outcome = 'skipped') = (e.status = 'skipped')))
union all
select 'a pending event belongs to an attempt', e.namespace, e.pipeline || ' ' || e.topic || ' ' || e.id from events e
 where e.status = 'pending' and (e.reserved_by is not null or e.pinned is not null)
union all
select 'an event was published by an attempt that is not committed', e.namespace, e.pipeline || ' ' || e.topic || ' ' || e.id
  from events e join handler_runs h on h.namespace = e.namespace and h.id = e.created_by
 where h.status <> 'committed'
union all
select 'an event is numbered beyond its pipeline', e.namespace, e.pipeline || ' ' || e.topic || ' ' || e.id
  from events e join pipelines p on p.namespace = e.namespace and p.name = e.pipeline
 where e.seq > p.seq or e.version > p.seq or e.version < e.seq
union all
select 'a handler has heard of events that do not exist', h.namespace, h.pipeline || ' ' || h.name
  from handlers h join pipelines p on p.namespace = h.namespace and p.name = h.pipeline
 where h.news > p.seq or h.seen > p.seq
union all
select 'a row belongs to no pipeline', o.namespace, o.pipeline
  from (select namespace, pipeline from handlers
         union select namespace, pipeline from handler_runs
         union select namespace, pipeline from events
         union select namespace, pipeline from topics
         union select namespace, pipeline from inputs) as o
 where not exists (select 1 from pipelines p where p.namespace = o.namespace and p.name = o.pipeline)
union all
select 'nobody goes on with an effect that may have happened', f.namespace, f.subject || ' ' || f.owner from effects f
 where f.subject_kind = 'pipeline' and f.status in ('in_flight', 'needs_reconcile', 'indeterminate')
   and not exists (select 1 from held v where v.namespace = f.namespace and v.name = f.subject and v.id = f.owner)
union all
select 'the ledger and an attempt disagree', f.namespace, f.subject || ' ' || f.owner
  from effects f join handler_runs h on h.namespace = f.namespace and h.id = f.owner
 where f.subject_kind = 'pipeline'
   and coalesce(h.outcome, '') <> case when f.status = 'applied' then 'success'
                                       when f.status = 'failed' and f.resolution = 'skip' then 'skipped'
                                       when f.status = 'failed' then 'failure'
                                       else '' end
union all
select 'an attempt is at an effect that the ledger does not know', v.namespace, v.id from held v
 where v.phase = 'mutating'
   and not exists (select 1 from effects f
                    where f.namespace = v.namespace and f.owner = v.id and f.subject_kind = 'pipeline')
union all
select 'the ledger of an effect contradicts itself', f.namespace, f.subject || ' ' || f.owner from effects f
 where (f.status = 'needs_reconcile' and f.next_at is null)
    or (f.status in ('applied', 'failed')) <> (f.resolved_by is not null)
    or (f.status = 'applied') <> (f.result is not null)
    or (f.status = 'needs_reconcile' and f.has_reconcile = 0)
union all
select 'the log ends elsewhere than the pipeline', p.namespace, p.name
  from entries n
  join log g on g.seq = n.seq
  join pipelines p on p.namespace = n.namespace and p.name = n.subject_id
 where g.to_status <> p.status
 order by 1, 2, 3;

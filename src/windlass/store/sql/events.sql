-- name: known_events
-- Those of these events of a topic that a pipeline has.
select {event} from {rows:events.id:ids:pipeline,topic};

-- name: insert_events
-- Events a pipeline did not have.
insert into events (namespace, pipeline, topic, id, seq, version, payload, status, created_by, causes, created_at, updated_at)
values (:namespace, :pipeline, :topic, :id, :seq, :seq, :payload, 'pending', :created_by, :causes, {now}, {now});

-- name: replace_events
-- The last payload that was published counts. A run that has reserved the event keeps the one it was given.
update events
   set pinned = case when status = 'reserved' then coalesce(pinned, payload) end, payload = :payload, version = :version,
       causes = :causes, updated_at = {now}
 where namespace = :namespace and pipeline = :pipeline and topic = :topic and id = :id;

-- name: take_events
-- Reserve events for an attempt. `coalesce` keeps it away from the index of what is pending: planned on an empty database, a
-- walk through all of that looks as cheap as the primary key.
update events set status = 'reserved', reserved_by = :run_id, updated_at = {now}
 where namespace = :namespace and pipeline = :pipeline and topic = :topic and id = :id
   and coalesce(status, '') = 'pending';

-- name: take_oldest_events
-- Reserve the pending events of a topic for an attempt, up to one of them.
update events set status = 'reserved', reserved_by = :run_id, updated_at = {now}
 where namespace = :namespace and pipeline = :pipeline and topic = :topic and status = 'pending' and seq <= :last;

-- name: end_events
-- An attempt is committed: what it has reserved is consumed, or skipped.
update events set status = :status, updated_at = {now}
 where namespace = :namespace and reserved_by = :run_id and status = 'reserved';

-- name: release_events
-- An attempt has come to nothing: what it has reserved is pending again, with the payload that was published last.
update events set status = 'pending', reserved_by = null, pinned = null, attempt = attempt + 1, updated_at = {now}
 where namespace = :namespace and reserved_by = :run_id and status = 'reserved';

-- name: put_back_events
-- A person has rejected an attempt: what it has reserved is pending again, behind everything that is.
update events
   set status = 'pending', reserved_by = null, pinned = null, attempt = attempt + 1, seq = :seq, version = :seq,
       updated_at = {now}
 where namespace = :namespace and pipeline = :pipeline and topic = :topic and id = :id
   and coalesce(status, '') = 'reserved';

-- name: hand_over_events
-- The next attempt goes on with what the one before it has reserved.
update events set reserved_by = :run_id, updated_at = {now}
 where namespace = :namespace and reserved_by = :former and status = 'reserved';

-- name: skip_events
-- A person lets go of events: pending ones, or reserved ones whose attempt has ended in the same transaction.
update events set status = 'skipped', updated_at = {now}
 where namespace = :namespace and pipeline = :pipeline and topic = :topic and id = :id
   and coalesce(status, '') = 'pending';

-- name: events_of_run
-- What an attempt has reserved, or had until it was over, with the payloads that were given to it.
select {event} from events e where e.namespace = :namespace and e.reserved_by = :run_id order by e.seq;

-- name: count_reserved
-- How many events of each topic these attempts have reserved now: one that stopped may have given back what it had.
select e.pipeline, e.topic, count(*)
  from {rows:events.reserved_by:run_ids}
 where e.status = 'reserved'
 group by e.pipeline, e.topic;

-- name: events_by_run
-- What an attempt has published.
select {event} from events e where e.namespace = :namespace and e.created_by = :run_id order by e.seq limit :limit;

-- name: pending_events
-- Pending events of a topic, the oldest first.
select {event} from events e
 where e.namespace = :namespace and e.pipeline = :pipeline and e.topic = :topic and e.status = 'pending'
 order by e.seq
 limit :limit;

-- name: oldest_pending
-- The age of the first pending event in each of these topics of pipelines; null where there is none.
select k.value ->> 0, k.value ->> 1,
       (select e.created_at from events e
         where e.namespace = :namespace and e.pipeline = k.value ->> 0 and e.topic = k.value ->> 1
           and e.status = 'pending'
         order by e.seq limit 1)
  from {elements:topics} as k;

-- name: count_pending
-- How many events of a topic wait in a pipeline, up to a limit.
select count(*) from (
    select 1 from events e
     where e.namespace = :namespace and e.pipeline = :pipeline and e.topic = :topic and e.status = 'pending'
     limit :limit
) as a;

-- name: page_of_events
-- Events of a pipeline in the order they came.
select {event} from events e
 where e.namespace = :namespace and e.pipeline = :pipeline and e.seq > :after and e.seq >= 0
   and (cast(:topic as text) is null or e.topic = :topic) and (cast(:status as text) is null or e.status = :status)
 order by e.seq
 limit :limit;

-- name: enter_inputs
-- Something outside that causes events; one that is known stays as it was.
insert into inputs (namespace, pipeline, id, source, type, external_id, title, created_at)
values (:namespace, :pipeline, :id, :source, :type, :external_id, :title, {now})
on conflict do nothing;

-- name: enter_causes
-- Which input has caused an event.
insert into causes (namespace, pipeline, input, topic, event) values (:namespace, :pipeline, :input, :topic, :event)
on conflict do nothing;

-- name: forget_causes
-- An event was published anew, for other reasons.
delete from causes
 where namespace = :namespace and pipeline = :pipeline and topic = :topic and event = :event and topic <> '';

-- name: load_input
-- One input, and how many of its events are not over.
select {input} from inputs n where n.namespace = :namespace and n.pipeline = :pipeline and n.id = :id;

-- name: inputs_by_ids
-- What is known of inputs, for another pipeline that gets what they have caused.
select n.id, n.source, n.type, n.external_id, n.title from {rows:inputs.id:ids:pipeline};

-- name: page_of_inputs
-- Inputs of a pipeline, the newest first, behind one of them.
select {input} from inputs n
 where n.namespace = :namespace and n.pipeline = :pipeline and n.created_at >= 0
   and (n.created_at, n.id) < (
           coalesce((select o.created_at from inputs o
                      where o.namespace = :namespace and o.pipeline = :pipeline and o.id = :before), :newest), :before)
 order by n.created_at desc, n.id desc
 limit :limit;

-- name: count_pending_inputs
-- How many inputs that came before a time have an event that waits, among the first of those that do.
select count(distinct c.value)
  from (select e.causes from events e
         where e.namespace = :namespace and e.pipeline = :pipeline and e.status = 'pending'
         limit :limit) as w
 cross join {texts:w.causes} as c
 where (select n.created_at from inputs n
         where n.namespace = :namespace and n.pipeline = :pipeline and n.id = c.value) <= :before;

-- name: events_of_input
-- Every event that an input has caused, in the order they came.
select {event}
  from causes c {probe:events e:namespace = c.namespace, pipeline = c.pipeline, topic = c.topic, id = c.event}
 where c.namespace = :namespace and c.pipeline = :pipeline and c.input = :input
 order by e.seq;

-- name: mark_input_skipped
-- A person has let go of an input.
update inputs set skipped_by = :by, skipped_at = {now}
 where namespace = :namespace and pipeline = :pipeline and id = :id and skipped_at is null;

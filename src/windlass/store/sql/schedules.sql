-- name: insert_schedule
-- A new schedule; a name that exists is left as it is.
insert into schedules (namespace, name, workflow, version, queue, input, input_hash, timeout_for, cron, every_for, tz, anchor,
                       catch_up, max_catch_up, overlap, jitter, status, declared_in, is_declared, revision, last_slot,
                       available_at, error, fired, skipped, dropped, paused_by, note, paused_at, created_at, changed_at)
values (:namespace, :name, :workflow, :version, :queue, :input, :input_hash, :timeout_for, :cron, :every_for, :tz, :anchor,
        :catch_up, :max_catch_up, :overlap, :jitter, :status, :declared_in, :is_declared, :revision, :last_slot,
        :available_at, :error, :fired, :skipped, :dropped, :paused_by, :note, :paused_at, :created_at, :changed_at)
on conflict do nothing;

-- name: save_schedule
-- Everything about a schedule, unless it was changed or fired since it was read.
update schedules
   set workflow = :workflow, version = :version, queue = :queue, input = :input, input_hash = :input_hash,
       timeout_for = :timeout_for,
       cron = :cron, every_for = :every_for, tz = :tz, anchor = :anchor, catch_up = :catch_up,
       max_catch_up = :max_catch_up, overlap = :overlap, jitter = :jitter, status = :status,
       declared_in = :declared_in, is_declared = :is_declared, revision = :revision, last_slot = :last_slot,
       available_at = :available_at, error = :error, fired = :fired, skipped = :skipped, dropped = :dropped,
       paused_by = :paused_by, note = :note, paused_at = :paused_at, changed_at = :changed_at
 where namespace = :namespace and name = :name and revision = :was_revision and last_slot = :was_last_slot;

-- name: load_schedule
-- One schedule as it stands.
select {schedule} from schedules r where r.namespace = :namespace and r.name = :name;

-- name: lock_schedule
-- One schedule, held against everyone who fires it, changes it, or ends one of its runs.
select {schedule} from schedules r where r.namespace = :namespace and r.name = :name {for_update};

-- name: lock_free_schedule
-- The same, unless somebody else is at it.
select {schedule} from schedules r where r.namespace = :namespace and r.name = :name {skip_locked};

-- name: list_schedules
-- All schedules of a namespace, by name.
select {schedule} from schedules r where r.namespace = :namespace order by r.name;

-- name: due_schedules
-- Schedules of every enabled namespace that have a slot to decide on, the most urgent first. The time is a scalar
-- subselect: a clock that is read anew for each row is no bound of an index.
select {schedule} from schedules r
 where r.available_at <= (select {now})
   and coalesce((select n.is_enabled from namespaces n where n.name = r.namespace), 1) = 1
 order by r.available_at
 limit :limit;

-- name: next_schedule
-- When the next one of an enabled namespace is due after an instant.
select min(r.available_at) from schedules r
 where r.available_at > :after
   and coalesce((select n.is_enabled from namespaces n where n.name = r.namespace), 1) = 1;

-- name: schedules_of_program
-- What a program has declared and not taken back.
select {schedule} from schedules r
 where r.namespace = :namespace and r.declared_in = :program and r.is_declared = 1
 order by r.name;

-- name: delete_schedule
-- Forget a schedule. Its runs stay.
delete from schedules where namespace = :namespace and name = :name;

-- name: create_slot_runs
-- Insert runs of schedules: due at a time, or waiting for the one before. A slot that was fired is left as it is.
insert into runs (namespace, id, name, version, queue, priority, status, available_at, created_at, expires_at,
                  starts_at, unmet, schedule, slot, scheduled_at)
values (:namespace, :id, :name, :version, :queue, 0,
        case when :unmet > 0 then 'waiting' else 'pending' end, case when :unmet > 0 then null else :at end,
        {now}, :at + :timeout_for, case when :at > {now} then :at end, :unmet, :schedule, :slot, :scheduled_at)
on conflict do nothing;
insert into payloads (namespace, run_id, input) values (:namespace, :id, :input);
insert into log (namespace, subject_kind, subject_id, from_status, to_status, cause, at, data)
values (:namespace, 'run', :id, null, case when :unmet > 0 then 'waiting' else 'pending' end, :cause, {now}, :data);
{fire_one:id};

-- name: fired_slots
-- The slots of a schedule, from one to another, that have a run.
select r.slot from runs r
 where r.namespace = :namespace and r.schedule = :schedule and r.slot between :first and :last
 order by r.slot;

-- name: open_runs_of_schedule
-- Runs of a schedule that are not over, and whether they wait for one before them: a few of either kind, the oldest
-- first. A pile of the one must not hide the other.
select * from (
    select r.id, 0 as queued from runs r
     where r.namespace = :namespace and r.schedule = :schedule and r.finished_at is null
       and not (r.unmet > 0 and r.attempts = 0)
     order by r.id
     limit :limit
) as a
union all
select * from (
    select r.id, 1 as queued from runs r
     where r.namespace = :namespace and r.schedule = :schedule and r.finished_at is null
       and r.unmet > 0 and r.attempts = 0
     order by r.id
     limit :limit
) as a;

-- name: lock_queued_runs
-- Runs of a schedule that wait for one before them, the oldest first.
select {run} from runs r
 where r.namespace = :namespace and r.schedule = :schedule and r.finished_at is null
   and r.unmet > 0 and r.attempts = 0
 order by r.id
 limit :limit {for_update};

-- name: release_queued_run
-- Nothing is before it any more: due now, or when it was to begin. A time-out counts from when a run is due.
update runs
   set unmet = 0, status = :status, available_at = :available_at, starts_at = :due_at,
       expires_at = expires_at - coalesce(starts_at, created_at) + :due_at
 where namespace = :namespace and id = :id and unmet > 0 and attempts = 0 and finished_at is null;

-- name: last_run_of_schedule
-- The newest of its runs.
select r.id from runs r where r.namespace = :namespace and r.schedule = :schedule order by r.id desc limit 1;

-- name: ended_signals
-- Signals that are over since long ago, and that no code declares, of every namespace, the first of them first, and whether something they have fired
-- is not over.
select s.namespace, s.id, s.changed_at,
       exists (select 1 from firings f
                where f.namespace = s.namespace and f.signal_id = s.id and f.ended_at is null) as is_needed
  from signals s
 where s.is_live = 0 and s.is_declared = 0 and s.changed_at >= :from_at and s.changed_at <= (select {now} - :keep_for)
 order by s.changed_at
 limit :limit;

-- name: ended_firings
-- Firings that are over since long ago, the first of them first, and whether their signal still goes by them: one that failed
-- is tried again when it is resumed, and one that is done is why a signal does not fire for the same subject again.
select f.namespace, f.signal_id, f.cause, f.ended_at,
       exists (select 1 from signals s
                where s.namespace = f.namespace and s.id = f.signal_id and coalesce(s.is_live, 0) = 1
                  and (f.status = 'failed'
                       or (s.repeats = 0 and s.subject_kind = 'workflow' and f.status = 'done'
                           and exists (select 1 from runs r where r.namespace = f.namespace and r.id = f.subject_id))
                       or (s.repeats = 0 and s.subject = '*' and f.status = 'done'
                           and exists (select 1 from items t where t.namespace = f.namespace and t.id = f.subject_id))
                      )) as is_needed
  from firings f
 where f.ended_at >= :from_at and f.ended_at <= (select {now} - :keep_for)
 order by f.ended_at
 limit :limit;

-- name: remove_ended_firings
-- What a signal that is over has fired.
delete from firings where namespace = :namespace and signal_id = :id;

-- name: remove_ended_signal
-- A signal that is over, unless somebody has armed it anew since it was looked at.
delete from signals where namespace = :namespace and id = :id and coalesce(is_live, 1) = 0 and changed_at = :at;

-- name: remove_firing
-- A firing that is over, unless it is tried again since it was looked at.
delete from firings
 where namespace = :namespace and signal_id = :signal_id and cause = :cause and coalesce(ended_at, 0) = :at;

-- name: look_at_signals
-- How many signals are live, how many of them are paused because something failed, how many firings should have been worked by
-- now, and how many failed; each counted up to a limit.
select (select count(*) from (select 1 from signals s where s.is_live = 1 limit :limit) as x),
       (select count(*) from (select 1 from signals s
                               where s.is_live = 1 and s.status = 'paused'
                                 and exists (select 1 from firings f
                                              where f.namespace = s.namespace and f.signal_id = s.id
                                                and f.status = 'failed') limit :limit) as x),
       (select count(*) from (select 1 from firings f
                               where f.available_at <= (select {now} - :late_for)
                                 and coalesce((select n.is_enabled from namespaces n where n.name = f.namespace), 1) = 1
                               limit :limit) as x);

-- name: failed_signals
-- The first signals that are paused because something failed, and why.
select s.namespace, s.id, s.reason from signals s
 where s.is_live = 1 and s.status = 'paused'
   and exists (select 1 from firings f where f.namespace = s.namespace and f.signal_id = s.id and f.status = 'failed')
 order by s.namespace, s.id
 limit :limit;

-- name: broken_signals
-- Live signals that nobody can read, or that can never fire: of a kind there is not, for no state, on what is not there.
select s.namespace, s.id,
       case when s.kind not in ('work_item.status.transition', 'run.status.transition', 'job.status.transition',
                                'graph.status.transition', 'pipeline.status.transition', 'workflow.status.transition', 'time')
            then 'is of a kind there is not'
            when s.kind <> 'time' and length(s.enters) < 3 then 'waits for no state'
            else 'watches what is not there' end as problem
  from signals s
 where s.is_live = 1
   and (s.kind not in ('work_item.status.transition', 'run.status.transition', 'job.status.transition',
                       'graph.status.transition', 'pipeline.status.transition', 'workflow.status.transition', 'time')
        or (s.kind <> 'time' and length(s.enters) < 3)
        or (s.subject_kind = 'run'
            and not exists (select 1 from runs r where r.namespace = s.namespace and r.id = s.subject))
        or (s.subject_kind = 'item' and s.subject <> '*'
            and not exists (select 1 from items t where t.namespace = s.namespace and t.id = s.subject))
        or (s.subject_kind = 'pipeline'
            and not exists (select 1 from pipelines p where p.namespace = s.namespace and p.name = s.subject)))
 order by s.namespace, s.id
 limit :limit;

-- name: live_signals
-- What live signals wait for and what they do, for a check-up that tries to read it.
select s.namespace, s.id, s.kind, s.enters, s.action from signals s where s.is_live = 1 order by s.namespace, s.id;

-- name: insert_effects
-- An effect is about to be called.
insert into effects (namespace, owner, step_key, attempt, subject_kind, subject, name, params, idempotency_key, status, result,
                     failure, token, asked, has_reconcile, reconcile_after, next_at, title, resolved_by, resolution, note,
                     created_at, updated_at)
values (:namespace, :owner, :step_key, :attempt, :subject_kind, :subject, :name, :params, :idempotency_key, :status, :result,
        :failure, :token, :asked, :has_reconcile, :reconcile_after, :next_at, :title, :resolved_by, :resolution, :note,
        :created_at, :updated_at);

-- name: save_effects
-- What became of effects; one that is known to have happened, or not to have, stays so. What it returned by the word of a
-- person may be said anew.
update effects
   set owner = :owner, status = :status, result = :result, failure = :failure, asked = :asked,
       reconcile_after = :reconcile_after, next_at = :next_at, resolved_by = :resolved_by, resolution = :resolution,
       note = :note, updated_at = :updated_at
 where namespace = :namespace and owner = :was_owner and step_key = :step_key and attempt = :attempt
   and (status not in ('applied', 'failed')
        or (status = 'applied' and resolution = 'happened' and :status = 'applied' and :resolution = 'happened'));

-- name: effects_of_owners
-- The ledger of attempts, or of runs, the newest call last.
select {effect} from {rows:effects.owner:owners} order by f.owner, f.step_key, f.attempt;

-- name: open_effects
-- Effects of which nobody knows whether they happened.
select {effect} from effects f {by_subject}
 where f.namespace = :namespace and f.status in ('in_flight', 'needs_reconcile', 'indeterminate')
 order by f.subject, f.step_key;

-- name: effects_left_open
-- Those of one subject.
select {effect} from effects f {by_subject}
 where f.namespace = :namespace and f.subject = :subject and f.status in ('in_flight', 'needs_reconcile', 'indeterminate')
 order by f.step_key, f.attempt;

-- name: apply_effects
-- Steps that are effects have been completed, in the same transaction: they happened. `coalesce` here and below keeps
-- PostgreSQL away from the index of what is open: planned on an empty database, a walk through it looks as cheap as a key.
update effects
   set status = 'applied', result = :output, resolved_by = coalesce(resolved_by, 'call'), updated_at = {now}
 where namespace = :namespace and owner = :run_id and step_key = :key
   and coalesce(status, '') in ('in_flight', 'needs_reconcile', 'indeterminate');

-- name: end_calls
-- Whoever has called these, under this claim, is dead: nobody is inside any more. One who had it before may still be.
update effects set reconcile_after = {now}, next_at = case when next_at is null then null else {now} end, updated_at = {now}
 where namespace = :namespace and owner = :owner and token = :token
   and coalesce(status, '') in ('in_flight', 'needs_reconcile', 'indeterminate')
   and reconcile_after > {now};

-- name: hand_over_effects
-- The run that tries another one again takes over what may have happened, and what is known to without its step having
-- been completed: a worker has not heard of it yet. Its tokens are its own: none of them is the one under which the call
-- was begun.
update effects
   set owner = :run_id, subject = :run_id, token = 0, updated_at = {now}
 where namespace = :namespace and owner = :former
   and (coalesce(status, '') in ('in_flight', 'needs_reconcile', 'indeterminate')
        or ((status = 'applied' or resolution = 'skip')
            and not exists (select 1 from steps s
                             where s.namespace = :namespace and s.run_id = :former and s.step_key = effects.step_key
                               and s.status = 'completed')));

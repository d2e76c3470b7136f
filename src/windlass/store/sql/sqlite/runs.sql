-- name: standings_of_runs
-- Differs: without statistics SQLite would rather read all steps and messages of the run by their primary key.
select r.id, r.status, r.token, r.held,
       exists (select 1 from steps s indexed by steps_awaits
                where s.namespace = r.namespace and s.run_id = r.id and s.status = 'waiting' and s.awaits is not null
                  and s.dropped = 0
                  and (exists (select 1 from inbox b indexed by inbox_unread
                                where b.namespace = s.namespace and b.run_id = s.run_id and b.kind = s.kind
                                  and b.name = case when s.kind = 'event' then s.awaits else s.step_key end
                                  and b.taken_by is null)
                       or (s.kind = 'child'
                           and exists (select 1 from runs c
                                        where c.namespace = s.namespace and c.id = s.awaits and c.parent = s.run_id
                                          and c.finished_at is not null)))) as has_news
  from {rows:runs.id:ids};

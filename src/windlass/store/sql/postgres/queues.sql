-- name: count_ended_runs
-- Differs: the log lies here in the order of its namespaces, so the last entries of one are read, and of no other.
select case when g.at > {now} - :span::bigint and g.subject_kind = 'run'
             and g.to_status in ('completed', 'failed', 'cancelled', 'skipped')
             and g.from_status is distinct from g.to_status
            then (select r.queue from runs r where r.namespace = g.namespace and r.id = g.subject_id) end as queue,
       count(*) as entries, min(g.at) as earliest
  from (select h.namespace, h.subject_kind, h.subject_id, h.from_status, h.to_status, h.at
          from log h where h.namespace = :namespace order by h.seq desc limit :entries::bigint) as g
 group by 1;

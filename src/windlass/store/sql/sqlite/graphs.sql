-- name: jobs_below
-- Differs: without statistics SQLite would rather read all edges of the graph by their primary key.
select {edge}, p.input, {job}, {run}
  from json_each(:names) as i
 cross join edges as e indexed by edges_upstream
    on e.namespace = :namespace and e.graph = :graph and e.upstream = i.value and e.is_resolved = 0
 cross join jobs j on j.namespace = e.namespace and j.graph = e.graph and j.name = e.job
 cross join runs r on r.namespace = j.namespace and r.id = j.run_id
 cross join payloads p on p.namespace = r.namespace and p.run_id = r.id;

-- name: edges_below_skipped
-- Differs: the same, at every step of the walk.
with recursive skipped (name) as (
    select i.value from json_each(:names) as i
    union
    select e.job from skipped s
     cross join edges e indexed by edges_upstream
        on e.namespace = :namespace and e.graph = :graph and e.upstream = s.name and e.is_resolved = 0
     where e.accepts not like '%skipped%'
)
select {edge} from skipped s
 cross join edges e indexed by edges_upstream
    on e.namespace = :namespace and e.graph = :graph and e.upstream = s.name and e.is_resolved = 0;

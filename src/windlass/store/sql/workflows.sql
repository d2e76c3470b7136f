-- name: keep_workflow
-- Note how long ended runs of a workflow are kept.
insert into workflows (namespace, name, keep_for) values (:namespace, :name, :keep_for)
on conflict (namespace, name) do update
   set keep_for = excluded.keep_for
 where workflows.keep_for <> excluded.keep_for;

-- name: forget_workflow
-- Its runs are kept as long as all the others.
delete from workflows where namespace = :namespace and name = :name;

-- name: kept_workflows
-- How long ended runs are kept, wherever code says so.
select w.namespace, w.name, w.keep_for from workflows w order by w.namespace, w.name;

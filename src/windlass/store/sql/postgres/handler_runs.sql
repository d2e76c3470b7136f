-- name: page_of_handler_runs
-- Differs: in the order of the index that begins with the pipeline, and cut off behind it. With some statistics the order
-- of ids alone leads through all that the other pipelines did.
select * from (
    select {handler_run} from handler_runs h
     where h.namespace = :namespace and h.attempt > 0
       and h.pipeline <= :pipeline and (h.pipeline, h.id) < (:pipeline, :before)
     order by h.pipeline desc, h.id desc
     limit :limit
) as h
 where h.pipeline = :pipeline
 order by h.id desc;

-- name: page_of_handler
-- Differs: for the same reason.
select * from (
    select {handler_run} from handler_runs h
     where h.namespace = :namespace and h.attempt > 0
       and h.pipeline <= :pipeline and (h.pipeline, h.handler, h.id) < (:pipeline, :handler, :before)
     order by h.pipeline desc, h.handler desc, h.id desc
     limit :limit
) as h
 where h.pipeline = :pipeline and h.handler = :handler
 order by h.id desc;

-- Jobs that wait for nothing and are not due. There are none unless there is a bug, so nothing is written here; without it,
-- whoever looks for them would read every job there is.
create index runs_stranded on runs (namespace, parent, parent_step)
 where status = 'waiting' and unmet = 0 and attempts = 0 and parent is not null;

-- What pages for people are made from: runs that wait for somebody, and how many ended in each minute.

-- Few, whatever the history is; led by the status, so that it is taken for nothing else.
create index runs_failed on runs (namespace, status, id) where status = 'failed';
create index runs_failed_alone on runs (namespace, status, id) where status = 'failed' and parent is null;
create index runs_paused on runs (namespace, status, id) where status = 'paused';
-- By status, so that whoever only asks whether a run has a time of its end goes by other indexes.
create index runs_ended on runs (finished_at, namespace, queue)
    where status in ('completed', 'failed', 'cancelled', 'skipped');
-- With all that is asked of it: without statistics SQLite prefers the primary key to what holds only a part.
create index steps_approvals on steps (namespace, kind, status, run_id, step_key)
    where kind = 'approval' and status = 'waiting';

create index signals_paused on signals (namespace, status, id) where status = 'paused';

create table minutes (
    namespace text collate "C" not null,
    minute    bigint           not null,
    ended     bigint           not null,
    failed    bigint           not null,
    started   bigint           not null,
    took_sum  bigint           not null,
    took_max  bigint           not null,
    primary key (namespace, minute)
);

create index minutes_age on minutes (minute);

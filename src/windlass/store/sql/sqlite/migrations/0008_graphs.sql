-- Graphs: runs whose work is done by other runs, their jobs, which need each other.

alter table runs add column kind text not null default 'workflow';
alter table runs add column ready_at integer;

-- Jobs that wait for what they need, and no others: whoever looks after graphs reads these, not what is over.
create index runs_needs on runs (namespace, parent, parent_step)
 where unmet > 0 and attempts = 0 and finished_at is null and parent is not null;

-- Locked before any job of the graph is: whatever ends two of them at once comes one after the other.
create table graphs (
    namespace  text    not null,
    id         text    not null,
    name       text    not null,
    jobs       integer not null default 0,
    open       integer not null default 0,
    completed  integer not null default 0,
    failed     integer not null default 0,
    cancelled  integer not null default 0,
    skipped    integer not null default 0,
    held       integer not null default 0,
    is_paused  integer not null default 0,
    ending     text,
    parent     text,
    schedule   text,
    created_at integer not null,
    primary key (namespace, id)
) strict, without rowid;

-- Of every namespace: coordinators belong to none.
create index graphs_open on graphs (namespace, id) where open > 0;

-- What a graph knows of its jobs beside their runs, by their names in it.
create table jobs (
    namespace    text    not null,
    graph        text    not null,
    name         text    not null,
    run_id       text    not null,
    position     integer not null,
    is_group     integer not null,
    is_cleanup   integer not null,
    group_name   text,
    matrix       text,
    max_parallel integer,
    fail_fast    integer not null,
    is_held      integer not null,
    timeout_for  integer,
    decided_by   text,
    primary key (namespace, graph, name)
) strict, without rowid;

-- Partial, though it holds every job: whoever looks for jobs by their names must not be led to it.
create unique index jobs_position on jobs (namespace, graph, position) where position >= 0;
create index jobs_held on jobs (namespace, graph, matrix, position) where is_held = 1;

-- Who waits for whom. The edge to a group that is not resolved has the name of its generator.
create table edges (
    namespace   text    not null,
    graph       text    not null,
    job         text    not null,
    upstream    text    not null,
    accepts     text    not null default 'completed',
    is_group    integer not null default 0,
    is_resolved integer not null default 0,
    primary key (namespace, graph, job, upstream)
) strict, without rowid;

-- The same: whoever looks for edges by their jobs must not be led to it.
create index edges_upstream on edges (namespace, graph, upstream) where is_resolved = 0;

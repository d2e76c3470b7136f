-- Graphs: runs whose work is done by other runs, their jobs, which need each other.

alter table runs add column kind text collate "C" not null default 'workflow';
alter table runs add column ready_at bigint;

-- Jobs that wait for what they need, and no others: whoever looks after graphs reads these, not what is over.
create index runs_needs on runs (namespace, parent, parent_step)
 where unmet > 0 and attempts = 0 and finished_at is null and parent is not null;

-- Locked before any job of the graph is: whatever ends two of them at once comes one after the other.
create table graphs (
    namespace    text collate "C" not null,
    id           text collate "C" not null,
    name         text collate "C" not null,
    jobs         bigint not null default 0,
    open         bigint not null default 0,
    completed    bigint not null default 0,
    failed       bigint not null default 0,
    cancelled    bigint not null default 0,
    skipped      bigint not null default 0,
    held         bigint not null default 0,
    is_paused    bigint not null default 0,
    ending       text collate "C",
    parent       text collate "C",
    schedule     text collate "C",
    created_at   bigint not null,
    primary key (namespace, id)
);

-- Of every namespace: coordinators belong to none.
create index graphs_open on graphs (namespace, id) where open > 0;

-- What a graph knows of its jobs beside their runs, by their names in it.
create table jobs (
    namespace    text collate "C" not null,
    graph        text collate "C" not null,
    name         text collate "C" not null,
    run_id       text collate "C" not null,
    position     bigint not null,
    is_group     bigint not null,
    is_cleanup   bigint not null,
    group_name   text collate "C",
    matrix       text collate "C",
    max_parallel bigint,
    fail_fast    bigint not null,
    is_held      bigint not null,
    timeout_for  bigint,
    decided_by   text collate "C",
    primary key (namespace, graph, name)
);

-- Partial, though it holds every job: whoever looks for jobs by their names must not be led to it.
create unique index jobs_position on jobs (namespace, graph, position) where position >= 0;
create index jobs_held on jobs (namespace, graph, matrix, position) where is_held = 1;

-- Who waits for whom. The edge to a group that is not resolved has the name of its generator.
create table edges (
    namespace    text collate "C" not null,
    graph        text collate "C" not null,
    job          text collate "C" not null,
    upstream     text collate "C" not null,
    accepts      text collate "C" not null default 'completed',
    is_group     bigint not null default 0,
    is_resolved  bigint not null default 0,
    primary key (namespace, graph, job, upstream)
);

-- The same: whoever looks for edges by their jobs must not be led to it. Without the namespace, which the primary key
-- begins with: whoever looks for edges by their upstreams must not be led to that.
create index edges_upstream on edges (graph, upstream) where is_resolved = 0;

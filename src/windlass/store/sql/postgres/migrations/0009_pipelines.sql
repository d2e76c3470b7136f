-- Pipelines: producers and consumers around topics, and effects with their ledger.

-- One row, claimed as a whole: that is what makes the handlers of a pipeline take turns.
create table pipelines (
    namespace      text collate "C" not null,
    name           text collate "C" not null,
    queue          text collate "C" not null,
    revision       text collate "C" not null,
    status         text collate "C" not null check (status in ('idle', 'running', 'backoff', 'reconciling', 'fixing', 'attention')),
    issue          text collate "C",
    run_id         text collate "C",
    available_at   bigint,
    token          bigint not null default 0,
    worker         text collate "C",
    poll           bigint not null default 0,
    recoveries     bigint not null default 0,
    seq            bigint not null default 0,
    failures       bigint not null default 0,
    fixes          bigint not null default 0,
    streak         bigint not null default 0,
    retry          bytea not null,
    visibility_for bigint,
    has_fixer      bigint not null default 0,
    is_paused      bigint not null default 0,
    paused_by      text collate "C",
    note           text collate "C",
    paused_at      bigint,
    declared_in    text collate "C" not null,
    is_declared    bigint not null default 1,
    created_at     bigint not null,
    changed_at     bigint not null,
    primary key (namespace, name),
    check (status <> 'running' or available_at is not null),
    check (status <> 'attention' or (available_at is null and issue is not null))
);

create index pipelines_held on pipelines (namespace, worker) where worker is not null;

create table handlers (
    namespace   text collate "C" not null,
    pipeline    text collate "C" not null,
    name        text collate "C" not null,
    position    bigint not null,
    spec        bytea not null,
    next_at     bigint,
    is_queued   bigint not null default 0,
    wake_at     bigint,
    news        bigint not null default 0,
    seen        bigint not null default 0,
    is_declared bigint not null default 1,
    state       bytea,
    primary key (namespace, pipeline, name)
);

-- Who publishes to a topic, and who subscribes to it.
create table topics (
    namespace     text collate "C" not null,
    name          text collate "C" not null,
    pipeline      text collate "C" not null,
    handler       text collate "C" not null,
    is_subscribed bigint not null,
    primary key (namespace, name, pipeline, handler, is_subscribed)
);

-- Every subscribing pipeline has its own row. `pinned` is the payload as a run has reserved it, if it was replaced since.
create table events (
    namespace   text collate "C" not null,
    pipeline    text collate "C" not null,
    topic       text collate "C" not null,
    id          text collate "C" not null,
    seq         bigint not null,
    version     bigint not null,
    payload     bytea not null,
    pinned      bytea,
    status      text collate "C" not null check (status in ('pending', 'reserved', 'consumed', 'skipped')),
    attempt     bigint not null default 1,
    reserved_by text collate "C",
    created_by  text collate "C",
    causes      text collate "C",
    created_at  bigint not null,
    updated_at  bigint not null,
    primary key (namespace, pipeline, topic, id),
    check (status <> 'reserved' or reserved_by is not null)
);

create index events_pending on events (namespace, pipeline, topic, seq) where status = 'pending';
create index events_taken on events (namespace, reserved_by) where reserved_by is not null;
create index events_created on events (namespace, created_by) where created_by is not null;
create index events_let_go on events (namespace, pipeline, updated_at) where status = 'skipped' and reserved_by is null;
-- Partial, though it holds every event: whoever looks for events by their ids must not be led to it. So with the others.
create unique index events_seq on events (namespace, pipeline, seq) where seq >= 0;

-- What outside has caused events, and which ones.
create table inputs (
    namespace   text collate "C" not null,
    pipeline    text collate "C" not null,
    id          text collate "C" not null,
    source      text collate "C" not null,
    type        text collate "C" not null,
    external_id text collate "C" not null,
    title       text collate "C" not null,
    created_at  bigint not null,
    skipped_by  text collate "C",
    skipped_at  bigint,
    primary key (namespace, pipeline, id)
);

create index inputs_newest on inputs (namespace, pipeline, created_at, id) where created_at >= 0;

create table causes (
    namespace text collate "C" not null,
    pipeline  text collate "C" not null,
    input     text collate "C" not null,
    topic     text collate "C" not null,
    event     text collate "C" not null,
    primary key (namespace, pipeline, input, topic, event)
);

create index causes_event on causes (namespace, pipeline, topic, event) where topic <> '';

-- One record for each attempt of a handler.
create table handler_runs (
    namespace  text collate "C" not null,
    id         text collate "C" not null,
    pipeline   text collate "C" not null,
    handler    text collate "C" not null,
    kind       text collate "C" not null check (kind in ('producer', 'consumer')),
    retry_of   text collate "C",
    attempt    bigint not null,
    phase      text collate "C" not null,
    status     text collate "C" not null,
    outcome    text collate "C",
    token      bigint not null,
    worker     text collate "C",
    news       bigint not null,
    reserved   text collate "C",
    title      text collate "C" not null default '',
    effect     text collate "C" not null default '',
    warning    text collate "C",
    failure    bytea,
    decided_by text collate "C",
    note       text collate "C",
    created_at bigint not null,
    updated_at bigint not null,
    ended_at   bigint,
    data       bytea,
    result     bytea,
    primary key (namespace, id)
);

create index handler_runs_newest on handler_runs (namespace, pipeline, id) where attempt > 0;
create index handler_runs_handler on handler_runs (namespace, pipeline, handler, id) where attempt > 0;
create index handler_runs_titled on handler_runs (namespace, pipeline, id) where title <> '' and status = 'committed';
create index handler_runs_ended on handler_runs (ended_at) where ended_at is not null;
create unique index handler_runs_retry on handler_runs (namespace, retry_of) where retry_of is not null;

-- The ledger: a row before each call to the outside world, and what became of it.
create table effects (
    namespace       text collate "C" not null,
    owner           text collate "C" not null,
    step_key        text collate "C" not null,
    attempt         bigint not null,
    subject_kind    text collate "C" not null check (subject_kind in ('run', 'pipeline')),
    subject         text collate "C" not null,
    name            text collate "C" not null,
    params          bytea not null,
    idempotency_key text collate "C" not null,
    status          text collate "C" not null
                    check (status in ('in_flight', 'applied', 'failed', 'needs_reconcile', 'indeterminate')),
    result          bytea,
    failure         bytea,
    token           bigint not null,
    asked           bigint not null default 0,
    has_reconcile   bigint not null,
    reconcile_after bigint not null,
    next_at         bigint,
    title           text collate "C" not null default '',
    resolved_by     text collate "C",
    resolution      text collate "C",
    note            text collate "C",
    created_at      bigint not null,
    updated_at      bigint not null,
    primary key (namespace, owner, step_key, attempt)
);

-- Of which nobody knows whether they happened.
create index effects_open on effects (namespace, subject) where status in ('in_flight', 'needs_reconcile', 'indeterminate');

-- Which pipelines a worker can execute; none said of one that knows of none.
alter table workers add column pipelines bytea;

-- Which poll of a worker from afar for pipelines counts; those for runs have another.
alter table workers add column pipeline_poll bigint not null default 0;

-- Every event that is taken leaves a dead entry among those that wait, every effect one among those in doubt, and both are
-- kept for long: as for runs, these are removed at a twentieth of the table, because whoever looks steps over them.
alter table events set (autovacuum_vacuum_scale_factor = 0.05);
alter table effects set (autovacuum_vacuum_scale_factor = 0.05);

-- Pipelines: producers and consumers around topics, and effects with their ledger.

-- One row, claimed as a whole: that is what makes the handlers of a pipeline take turns.
create table pipelines (
    namespace      text    not null,
    name           text    not null,
    queue          text    not null,
    revision       text    not null,
    status         text    not null check (status in ('idle', 'running', 'backoff', 'reconciling', 'fixing', 'attention')),
    issue          text,
    run_id         text,
    available_at   integer,
    token          integer not null default 0,
    worker         text,
    poll           integer not null default 0,
    recoveries     integer not null default 0,
    seq            integer not null default 0,
    failures       integer not null default 0,
    fixes          integer not null default 0,
    streak         integer not null default 0,
    retry          blob    not null,
    visibility_for integer,
    has_fixer      integer not null default 0,
    is_paused      integer not null default 0,
    paused_by      text,
    note           text,
    paused_at      integer,
    declared_in    text    not null,
    is_declared    integer not null default 1,
    created_at     integer not null,
    changed_at     integer not null,
    primary key (namespace, name),
    check (status <> 'running' or available_at is not null),
    check (status <> 'attention' or (available_at is null and issue is not null))
) strict, without rowid;

create index pipelines_held on pipelines (namespace, worker) where worker is not null;

create table handlers (
    namespace   text    not null,
    pipeline    text    not null,
    name        text    not null,
    position    integer not null,
    spec        blob    not null,
    next_at     integer,
    is_queued   integer not null default 0,
    wake_at     integer,
    news        integer not null default 0,
    seen        integer not null default 0,
    is_declared integer not null default 1,
    state       blob,
    primary key (namespace, pipeline, name)
) strict, without rowid;

-- Who publishes to a topic, and who subscribes to it.
create table topics (
    namespace     text    not null,
    name          text    not null,
    pipeline      text    not null,
    handler       text    not null,
    is_subscribed integer not null,
    primary key (namespace, name, pipeline, handler, is_subscribed)
) strict, without rowid;

-- Every subscribing pipeline has its own row. `pinned` is the payload as a run has reserved it, if it was replaced since.
create table events (
    namespace   text    not null,
    pipeline    text    not null,
    topic       text    not null,
    id          text    not null,
    seq         integer not null,
    version     integer not null,
    payload     blob    not null,
    pinned      blob,
    status      text    not null check (status in ('pending', 'reserved', 'consumed', 'skipped')),
    attempt     integer not null default 1,
    reserved_by text,
    created_by  text,
    causes      text,
    created_at  integer not null,
    updated_at  integer not null,
    primary key (namespace, pipeline, topic, id),
    check (status <> 'reserved' or reserved_by is not null)
) strict;

create index events_pending on events (namespace, pipeline, topic, seq) where status = 'pending';
create index events_taken on events (namespace, reserved_by) where reserved_by is not null;
create index events_created on events (namespace, created_by) where created_by is not null;
create index events_let_go on events (namespace, pipeline, updated_at) where status = 'skipped' and reserved_by is null;
-- Partial, though it holds every event: whoever looks for events by their ids must not be led to it. So with the others.
create unique index events_seq on events (namespace, pipeline, seq) where seq >= 0;

-- What outside has caused events, and which ones.
create table inputs (
    namespace   text    not null,
    pipeline    text    not null,
    id          text    not null,
    source      text    not null,
    type        text    not null,
    external_id text    not null,
    title       text    not null,
    created_at  integer not null,
    skipped_by  text,
    skipped_at  integer,
    primary key (namespace, pipeline, id)
) strict, without rowid;

create index inputs_newest on inputs (namespace, pipeline, created_at, id) where created_at >= 0;

create table causes (
    namespace text not null,
    pipeline  text not null,
    input     text not null,
    topic     text not null,
    event     text not null,
    primary key (namespace, pipeline, input, topic, event)
) strict, without rowid;

create index causes_event on causes (namespace, pipeline, topic, event) where topic <> '';

-- One record for each attempt of a handler.
create table handler_runs (
    namespace  text    not null,
    id         text    not null,
    pipeline   text    not null,
    handler    text    not null,
    kind       text    not null check (kind in ('producer', 'consumer')),
    retry_of   text,
    attempt    integer not null,
    phase      text    not null,
    status     text    not null,
    outcome    text,
    token      integer not null,
    worker     text,
    news       integer not null,
    reserved   text,
    title      text    not null default '',
    effect     text    not null default '',
    warning    text,
    failure    blob,
    decided_by text,
    note       text,
    created_at integer not null,
    updated_at integer not null,
    ended_at   integer,
    data       blob,
    result     blob,
    primary key (namespace, id)
) strict;

create index handler_runs_newest on handler_runs (namespace, pipeline, id) where attempt > 0;
create index handler_runs_handler on handler_runs (namespace, pipeline, handler, id) where attempt > 0;
create index handler_runs_titled on handler_runs (namespace, pipeline, id) where title <> '' and status = 'committed';
create index handler_runs_ended on handler_runs (ended_at) where ended_at is not null;
create unique index handler_runs_retry on handler_runs (namespace, retry_of) where retry_of is not null;

-- The ledger: a row before each call to the outside world, and what became of it.
create table effects (
    namespace       text    not null,
    owner           text    not null,
    step_key        text    not null,
    attempt         integer not null,
    subject_kind    text    not null check (subject_kind in ('run', 'pipeline')),
    subject         text    not null,
    name            text    not null,
    params          blob    not null,
    idempotency_key text    not null,
    status          text    not null
                    check (status in ('in_flight', 'applied', 'failed', 'needs_reconcile', 'indeterminate')),
    result          blob,
    failure         blob,
    token           integer not null,
    asked           integer not null default 0,
    has_reconcile   integer not null,
    reconcile_after integer not null,
    next_at         integer,
    title           text    not null default '',
    resolved_by     text,
    resolution      text,
    note            text,
    created_at      integer not null,
    updated_at      integer not null,
    primary key (namespace, owner, step_key, attempt)
) strict, without rowid;

-- Of which nobody knows whether they happened.
create index effects_open on effects (namespace, subject) where status in ('in_flight', 'needs_reconcile', 'indeterminate');

-- Which pipelines a worker can execute; none said of one that knows of none.
alter table workers add column pipelines blob;

-- Which poll of a worker from afar for pipelines counts; those for runs have another.
alter table workers add column pipeline_poll integer not null default 0;

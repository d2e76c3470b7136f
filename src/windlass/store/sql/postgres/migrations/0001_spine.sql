-- Runs, their payloads, steps, start keys, the log and workers.
-- Text is compared by code point: the same order as on SQLite and in Python, whatever the locale of the cluster.

create table meta (
    key   text collate "C" not null primary key,
    value text collate "C" not null
);

create table runs (
    namespace    text collate "C" not null,
    id           text collate "C" not null,
    name         text collate "C" not null,
    version      text collate "C" not null,
    queue        text collate "C" not null,
    priority     bigint           not null,
    status       text collate "C" not null check (status in ('waiting', 'pending', 'running', 'sleeping', 'paused',
                                                    'completed', 'failed', 'cancelled', 'skipped')),
    available_at bigint,
    token        bigint           not null default 0,
    worker       text collate "C",
    poll         bigint           not null default 0,
    attempts     bigint           not null default 0,
    recoveries   bigint           not null default 0,
    created_at   bigint           not null,
    started_at   bigint,
    finished_at  bigint,
    result_hash  bytea,
    primary key (namespace, id),
    check (status not in ('pending', 'running', 'sleeping') or available_at is not null),
    check (status not in ('completed', 'failed', 'cancelled', 'skipped') or available_at is null)
);

-- Driven by what a worker serves, so work that only others can execute is never touched.
create index runs_claim on runs (namespace, queue, name, version, priority, available_at, id)
 where available_at is not null;

-- What a worker holds: small, because a run that is over belongs to nobody.
create index runs_worker on runs (namespace, worker, poll) where worker is not null;

create table payloads (
    namespace text collate "C" not null,
    run_id    text collate "C" not null,
    start_key text collate "C",
    input     bytea            not null,
    output    bytea,
    failure   bytea,
    primary key (namespace, run_id)
);

create table steps (
    namespace   text collate "C" not null,
    run_id      text collate "C" not null,
    step_key    text collate "C" not null,
    attempt     bigint           not null,
    kind        text collate "C" not null,
    status      text collate "C" not null check (status in ('running', 'waiting', 'completed', 'failed')),
    step_order  bigint,
    token       bigint           not null,
    failures    bigint           not null,
    input_hash  bytea            not null,
    output      bytea,
    failure     bytea,
    due_at      bigint,
    started_at  bigint,
    finished_at bigint,
    primary key (namespace, run_id, step_key, attempt)
);

create table keys (
    namespace  text collate "C" not null,
    key        text collate "C" not null,
    name       text collate "C" not null,
    version    text collate "C" not null,
    input_hash bytea            not null,
    run_id     text collate "C" not null,
    created_at bigint           not null,
    expires_at bigint,
    primary key (namespace, key)
);

-- Numbers are given in another order than transactions commit in, so readers also go by the transaction.
create table log (
    seq          bigint generated always as identity,
    namespace    text collate "C" not null,
    subject_kind text collate "C" not null,
    subject_id   text collate "C" not null,
    from_status  text collate "C",
    to_status    text collate "C" not null,
    cause        text collate "C" not null,
    at           bigint           not null,
    data         bytea,
    xid          bigint           not null default (pg_current_xact_id()::text::bigint),
    primary key (namespace, seq)
);

create index log_subject on log (namespace, subject_kind, subject_id, seq);

create table workers (
    namespace  text collate "C" not null,
    id         text collate "C" not null,
    host       text collate "C" not null,
    pid        bigint           not null,
    served     bytea            not null,
    slots      bigint           not null,
    active     bigint           not null default 0,
    completed  bigint           not null default 0,
    failed     bigint           not null default 0,
    started_at bigint           not null,
    seen_at    bigint           not null,
    stopped_at bigint,
    primary key (namespace, id)
);

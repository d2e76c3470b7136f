-- Runs, their payloads, steps, start keys, the log and workers.

create table meta (
    key   text not null primary key,
    value text not null
) strict, without rowid;

create table runs (
    namespace    text    not null,
    id           text    not null,
    name         text    not null,
    version      text    not null,
    queue        text    not null,
    priority     integer not null,
    status       text    not null check (status in ('waiting', 'pending', 'running', 'sleeping', 'paused',
                                                    'completed', 'failed', 'cancelled', 'skipped')),
    available_at integer,
    token        integer not null default 0,
    worker       text,
    poll         integer not null default 0,
    attempts     integer not null default 0,
    recoveries   integer not null default 0,
    created_at   integer not null,
    started_at   integer,
    finished_at  integer,
    result_hash  blob,
    primary key (namespace, id),
    check (status not in ('pending', 'running', 'sleeping') or available_at is not null),
    check (status not in ('completed', 'failed', 'cancelled', 'skipped') or available_at is null)
) strict;

-- Driven by what a worker serves, so work that only others can execute is never touched.
create index runs_claim on runs (namespace, queue, name, version, priority, available_at, id)
 where available_at is not null;

-- What a worker holds: small, because a run that is over belongs to nobody.
create index runs_worker on runs (namespace, worker, poll) where worker is not null;

create table payloads (
    namespace text not null,
    run_id    text not null,
    start_key text,
    input     blob not null,
    output    blob,
    failure   blob,
    primary key (namespace, run_id)
) strict, without rowid;

create table steps (
    namespace   text    not null,
    run_id      text    not null,
    step_key    text    not null,
    attempt     integer not null,
    kind        text    not null,
    status      text    not null check (status in ('running', 'waiting', 'completed', 'failed')),
    step_order  integer,
    token       integer not null,
    failures    integer not null,
    input_hash  blob    not null,
    output      blob,
    failure     blob,
    due_at      integer,
    started_at  integer,
    finished_at integer,
    primary key (namespace, run_id, step_key, attempt)
) strict, without rowid;

create table keys (
    namespace  text    not null,
    key        text    not null,
    name       text    not null,
    version    text    not null,
    input_hash blob    not null,
    run_id     text    not null,
    created_at integer not null,
    expires_at integer,
    primary key (namespace, key)
) strict, without rowid;

-- autoincrement: a reader's cursor is seq alone, so a number is never given twice.
create table log (
    seq          integer primary key autoincrement,
    namespace    text    not null,
    subject_kind text    not null,
    subject_id   text    not null,
    from_status  text,
    to_status    text    not null,
    cause        text    not null,
    at           integer not null,
    data         blob
) strict;

create index log_subject on log (namespace, subject_kind, subject_id, seq);

create table workers (
    namespace  text    not null,
    id         text    not null,
    host       text    not null,
    pid        integer not null,
    served     blob    not null,
    slots      integer not null,
    active     integer not null default 0,
    completed  integer not null default 0,
    failed     integer not null default 0,
    started_at integer not null,
    seen_at    integer not null,
    stopped_at integer,
    primary key (namespace, id)
) strict;

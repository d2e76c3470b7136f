-- Schedules, how long runs are kept, and workers that are asked to leave.

alter table runs add column schedule text collate "C";
alter table runs add column slot bigint;
alter table runs add column scheduled_at bigint;

-- A slot is fired once, whoever looks and however often.
create unique index runs_slot on runs (namespace, schedule, slot) where slot is not null;
create index runs_schedule on runs (namespace, schedule, id) where schedule is not null;
create index runs_schedule_open on runs (namespace, schedule, id) where schedule is not null and finished_at is null;

-- What is not over and has a time-out: whoever looks after the database finds what nobody claims.
create index runs_expires on runs (expires_at) where expires_at is not null and finished_at is null;

-- What waits for somebody, without a time: counted without reading what is over.
create index runs_parked on runs (namespace, queue, status) where available_at is null and finished_at is null;

create index keys_expires on keys (expires_at) where expires_at is not null;

alter table workers add column draining bigint not null default 0;

create index workers_stopped on workers (stopped_at) where stopped_at is not null;

create table schedules (
    namespace    text collate "C" not null,
    name         text collate "C" not null,
    workflow     text collate "C" not null,
    version      text collate "C" not null,
    queue        text collate "C" not null,
    input        bytea  not null,
    input_hash   bytea  not null,
    timeout_for  bigint,
    cron         text collate "C",
    every_for    bigint,
    tz           text collate "C" not null,
    anchor       bigint not null,
    catch_up     text collate "C" not null check (catch_up in ('none', 'latest', 'all')),
    max_catch_up bigint not null,
    overlap      text collate "C" not null check (overlap in ('allow', 'skip', 'queue')),
    jitter       bigint not null,
    status       text collate "C" not null check (status in ('active', 'paused')),
    declared_in  text collate "C",
    is_declared  bigint not null,
    revision     bigint not null,
    last_slot    bigint not null,
    available_at bigint,
    error        text collate "C",
    fired        bigint not null default 0,
    skipped      bigint not null default 0,
    dropped      bigint not null default 0,
    paused_by    text collate "C",
    note         text collate "C",
    paused_at    bigint,
    created_at   bigint not null,
    changed_at   bigint not null,
    primary key (namespace, name),
    check ((cron is null) <> (every_for is null)),
    check (status = 'active' or available_at is null)
);

-- Of every namespace: coordinators belong to none.
create index schedules_due on schedules (available_at) where available_at is not null;

-- How long ended runs of a workflow are kept, where its code says so.
create table workflows (
    namespace text collate "C" not null,
    name      text collate "C" not null,
    keep_for  bigint not null,
    primary key (namespace, name)
);

-- How far readers of the log have come that must not miss anything: nothing behind them is removed.
create table cursors (
    namespace text collate "C" not null,
    name      text collate "C" not null,
    seq       bigint not null,
    moved_at  bigint not null,
    primary key (namespace, name)
);

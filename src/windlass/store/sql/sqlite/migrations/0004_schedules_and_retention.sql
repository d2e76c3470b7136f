-- Schedules, how long runs are kept, and workers that are asked to leave.

alter table runs add column schedule text;
alter table runs add column slot integer;
alter table runs add column scheduled_at integer;

-- A slot is fired once, whoever looks and however often.
create unique index runs_slot on runs (namespace, schedule, slot) where slot is not null;
create index runs_schedule on runs (namespace, schedule, id) where schedule is not null;
create index runs_schedule_open on runs (namespace, schedule, id) where schedule is not null and finished_at is null;

-- What is not over and has a time-out: whoever looks after the database finds what nobody claims.
create index runs_expires on runs (expires_at) where expires_at is not null and finished_at is null;

-- What waits for somebody, without a time: counted without reading what is over.
create index runs_parked on runs (namespace, queue, status) where available_at is null and finished_at is null;

create index keys_expires on keys (expires_at) where expires_at is not null;

alter table workers add column draining integer not null default 0;

create index workers_stopped on workers (stopped_at) where stopped_at is not null;

create table schedules (
    namespace    text    not null,
    name         text    not null,
    workflow     text    not null,
    version      text    not null,
    queue        text    not null,
    input        blob    not null,
    input_hash   blob    not null,
    timeout_for  integer,
    cron         text,
    every_for    integer,
    tz           text    not null,
    anchor       integer not null,
    catch_up     text    not null check (catch_up in ('none', 'latest', 'all')),
    max_catch_up integer not null,
    overlap      text    not null check (overlap in ('allow', 'skip', 'queue')),
    jitter       integer not null,
    status       text    not null check (status in ('active', 'paused')),
    declared_in  text,
    is_declared  integer not null,
    revision     integer not null,
    last_slot    integer not null,
    available_at integer,
    error        text,
    fired        integer not null default 0,
    skipped      integer not null default 0,
    dropped      integer not null default 0,
    paused_by    text,
    note         text,
    paused_at    integer,
    created_at   integer not null,
    changed_at   integer not null,
    primary key (namespace, name),
    check ((cron is null) <> (every_for is null)),
    check (status = 'active' or available_at is null)
) strict, without rowid;

-- Of every namespace: coordinators belong to none.
create index schedules_due on schedules (available_at) where available_at is not null;

-- How long ended runs of a workflow are kept, where its code says so.
create table workflows (
    namespace text    not null,
    name      text    not null,
    keep_for  integer not null,
    primary key (namespace, name)
) strict, without rowid;

-- How far readers of the log have come that must not miss anything: nothing behind them is removed.
create table cursors (
    namespace text    not null,
    name      text    not null,
    seq       integer not null,
    moved_at  integer not null,
    primary key (namespace, name)
) strict, without rowid;

-- Work items with their tasks; signals that watch them, runs, pipelines and times; and what those have fired.

-- Grows with every change of what watches the row: whoever changes its status, in one statement, knows by it whether that
-- statement can have seen all that does.
alter table runs add column armed integer not null default 0;
alter table pipelines add column armed integer not null default 0;

create table items (
    namespace  text    not null,
    id         text    not null,
    title      text    not null,
    status     text    not null check (status in ('backlog', 'ready', 'doing', 'blocked', 'done', 'failed', 'cancelled')),
    priority   integer not null,
    data       blob,
    key        text,
    armed      integer not null default 0,
    created_at integer not null,
    changed_at integer not null,
    ended_at   integer,
    primary key (namespace, id)
) strict;

create unique index items_key on items (namespace, key) where key is not null;
-- Planned on an empty database, PostgreSQL takes any index that begins with a namespace for as short as the primary key, and
-- the last one created for the best. One that is partial by its own column, here and below, is used where that is asked for,
-- and nowhere else.
create index items_status on items (namespace, status, id) where status is not null;

create table tasks (
    namespace  text    not null,
    id         text    not null,
    item_id    text    not null,
    title      text    not null,
    status     text    not null check (status in ('queued', 'completed', 'failed', 'cancelled', 'skipped')),
    data       blob,
    firing_id  text,
    created_at integer not null,
    ended_at   integer,
    ended_by   text,
    note       text,
    primary key (namespace, id)
) strict;

create index tasks_item on tasks (namespace, item_id) where item_id is not null;

-- `enters` begins and ends with a comma, so that a state is found in it as it is.
create table signals (
    namespace     text    not null,
    id            text    not null,
    key           text,
    kind          text    not null,
    subject_kind  text    not null,
    subject       text    not null,
    enters        text    not null,
    at            integer,
    every_for     integer,
    action        blob    not null,
    payload       blob,
    repeats       integer not null,
    status        text    not null check (status in ('armed', 'paused', 'fired', 'resolved', 'cancelled')),
    is_live       integer not null,
    reason        text,
    fired         integer not null default 0,
    last_fired_at integer,
    available_at  integer,
    declared_in   text,
    is_declared   integer not null,
    armed_xid     integer not null,
    armed_seq     integer not null,
    changed_by    text,
    created_at    integer not null,
    changed_at    integer not null,
    primary key (namespace, id),
    check (is_live = (status in ('armed', 'paused'))),
    check (available_at is null or (kind = 'time' and status = 'armed'))
) strict;

create unique index signals_key on signals (namespace, key) where key is not null;
create index signals_subject on signals (namespace, subject_kind, subject) where subject is not null;
-- Whether anything is watched at all, and by whom: a transition looks here first, and mostly has nothing more to do.
create index signals_live on signals (namespace, subject_kind, subject) where is_live = 1;
-- Of every namespace: coordinators belong to none.
create index signals_due on signals (available_at) where available_at is not null;
create index signals_over on signals (changed_at) where is_live = 0;
create index signals_program on signals (namespace, declared_in) where declared_in is not null;

-- Its id is made from the signal and the cause, so both make it unique.
create table firings (
    namespace    text    not null,
    signal_id    text    not null,
    cause        text    not null,
    subject_kind text    not null,
    subject_id   text    not null,
    from_status  text,
    to_status    text    not null,
    happened_at  integer not null,
    status       text    not null check (status = 'queued' or status = 'running' or status = 'done' or status = 'failed'
                                         or status = 'superseded'),
    available_at integer,
    token        integer not null default 0,
    worker       text,
    attempt      integer not null default 0,
    error        text,
    depth        integer not null default 0,
    run_id       text,
    task_id      text,
    created_at   integer not null,
    ended_at     integer,
    primary key (namespace, signal_id, cause),
    check (cause <> ''),
    check (status <> 'running' or available_at is not null),
    check ((ended_at is null) = (status = 'queued' or status = 'running')),
    check (ended_at is null or available_at is null)
) strict;

create index firings_due on firings (available_at) where available_at is not null;
-- Those of a signal that are not over, and those that wait because it is, or was, paused. What is null in all of them is a
-- column nevertheless: by it, SQLite takes them for shorter than an index of all.
create index firings_open on firings (namespace, signal_id, ended_at) where ended_at is null;
create index firings_held on firings (namespace, signal_id, available_at) where status = 'queued' and available_at is null;
create index firings_failed on firings (namespace, signal_id, cause) where status = 'failed';
create index firings_subject on firings (namespace, signal_id, subject_id) where subject_id is not null;
create index firings_created on firings (namespace, created_at, signal_id, cause) where created_at is not null;
create index firings_signal on firings (namespace, signal_id, created_at, cause) where created_at is not null;
create index firings_run on firings (namespace, run_id) where run_id is not null;
create index firings_ended on firings (ended_at) where ended_at is not null;

-- How far the log was examined for signals on whole workflows and on all items: a transition whose statement began before
-- such a signal was committed may have overlooked it.
create table signal_cursors (
    namespace text    not null primary key,
    xid       integer not null,
    seq       integer not null
) strict, without rowid;

-- Events, approvals and children to wait for; time-outs, pauses and retries of whole runs.

alter table runs add column expires_at integer;
alter table runs add column held integer not null default 0;
alter table runs add column parent text;
alter table runs add column parent_step text;
alter table runs add column follows_parent integer not null default 0;
alter table runs add column unmet integer not null default 0;
alter table runs add column starts_at integer;
alter table runs add column retry_of text;
alter table runs add column origin text;
alter table runs add column begun_at integer;

-- A child is created once per step of its parent, and a run is retried once.
create unique index runs_parent on runs (namespace, parent, parent_step) where parent is not null;
create unique index runs_retry on runs (namespace, retry_of) where retry_of is not null;

alter table steps add column awaits text;
alter table steps add column detail blob;
alter table steps add column dropped integer not null default 0;

-- What open waits are for: whoever brings it finds them without reading the history.
create index steps_awaits on steps (namespace, run_id, kind, awaits) where status = 'waiting' and awaits is not null;

-- What was sent to runs, in the order it was accepted.
create table inbox (
    namespace    text    not null,
    run_id       text    not null,
    seq          integer not null,
    kind         text    not null check (kind in ('event', 'approval')),
    name         text    not null,
    id           text    not null,
    payload      blob    not null,
    payload_hash blob    not null,
    sent_at      integer not null,
    taken_by     text,
    primary key (namespace, run_id, seq)
) strict, without rowid;

create unique index inbox_id on inbox (namespace, run_id, kind, id);
create index inbox_unread on inbox (namespace, run_id, kind, name, seq) where taken_by is null;

-- What is paused as a whole. A row exists from the first worker on, so that a claim has something to lock.
create table gates (
    namespace text    not null,
    kind      text    not null check (kind in ('namespace', 'queue', 'workflow')),
    name      text    not null,
    is_paused integer not null default 0,
    paused_by text,
    note      text,
    paused_at integer,
    primary key (namespace, name, kind)
) strict, without rowid;

-- Events, approvals and children to wait for; time-outs, pauses and retries of whole runs.

alter table runs add column expires_at bigint;
alter table runs add column held bigint not null default 0;
alter table runs add column parent text collate "C";
alter table runs add column parent_step text collate "C";
alter table runs add column follows_parent bigint not null default 0;
alter table runs add column unmet bigint not null default 0;
alter table runs add column starts_at bigint;
alter table runs add column retry_of text collate "C";
alter table runs add column origin text collate "C";
alter table runs add column begun_at bigint;

-- A child is created once per step of its parent, and a run is retried once.
create unique index runs_parent on runs (namespace, parent, parent_step) where parent is not null;
create unique index runs_retry on runs (namespace, retry_of) where retry_of is not null;

alter table steps add column awaits text collate "C";
alter table steps add column detail bytea;
alter table steps add column dropped bigint not null default 0;

-- What open waits are for: whoever brings it finds them without reading the history.
create index steps_awaits on steps (namespace, run_id, kind, awaits) where status = 'waiting' and awaits is not null;

-- What was sent to runs, in the order it was accepted.
create table inbox (
    namespace    text collate "C" not null,
    run_id       text collate "C" not null,
    seq          bigint           not null,
    kind         text collate "C" not null check (kind in ('event', 'approval')),
    name         text collate "C" not null,
    id           text collate "C" not null,
    payload      bytea            not null,
    payload_hash bytea            not null,
    sent_at      bigint           not null,
    taken_by     text collate "C",
    primary key (namespace, run_id, seq)
);

create unique index inbox_id on inbox (namespace, run_id, kind, id);
create index inbox_unread on inbox (namespace, run_id, kind, name, seq) where taken_by is null;

-- What is paused as a whole. A row exists from the first worker on, so that a claim has something to lock.
create table gates (
    namespace text collate "C" not null,
    kind      text collate "C" not null check (kind in ('namespace', 'queue', 'workflow')),
    name      text collate "C" not null,
    is_paused bigint           not null default 0,
    paused_by text collate "C",
    note      text collate "C",
    paused_at bigint,
    primary key (namespace, name, kind)
);

-- Who shares this database, who may do what in it, and what was done from outside.

create table namespaces (
    name        text    not null primary key,
    is_enabled  integer not null default 1,
    closes_gate integer not null default 0,
    note        text,
    created_at  integer not null,
    disabled_at integer
) strict, without rowid;

-- What was in use before there was a table of them, since nobody knows when.
insert into namespaces (name, created_at)
with recursive found (name) as (
    select (select r.namespace from runs r where r.namespace > '' order by r.namespace limit 1)
    union all
    select (select r.namespace from runs r where r.namespace > f.name order by r.namespace limit 1)
      from found f
     where f.name is not null
)
select f.name, 0 from found f where f.name is not null
union select s.namespace, 0 from schedules s
union select g.namespace, 0 from gates g
union select w.namespace, 0 from workers w
union select 'default', 0;

-- Of the secret there is only its hash. Whoever comes with one is known by its id alone.
create table api_keys (
    namespace   text    not null,
    id          text    not null,
    roles       text    not null,
    queues      text    not null,
    note        text,
    secret_hash blob    not null,
    created_at  integer not null,
    created_by  text,
    expires_at  integer,
    revoked_at  integer,
    primary key (namespace, id)
) strict, without rowid;

create unique index api_keys_id on api_keys (id);

-- Rows are added, and never changed. autoincrement: a number is never given twice.
create table audit (
    seq        integer primary key autoincrement,
    namespace  text    not null,
    at         integer not null,
    actor      text    not null,
    action     text    not null,
    subject    text    not null,
    request_id text    not null,
    was        text,
    became     text
) strict;

create index audit_namespace on audit (namespace, seq);

-- The last poll of a worker: what an older one asks for comes too late.
alter table workers add column poll integer not null default 0;

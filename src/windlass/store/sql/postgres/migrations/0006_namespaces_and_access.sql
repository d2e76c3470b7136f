-- Who shares this database, who may do what in it, and what was done from outside.

create table namespaces (
    name        text collate "C" not null primary key,
    is_enabled  bigint           not null default 1,
    closes_gate bigint           not null default 0,
    note        text collate "C",
    created_at  bigint           not null,
    disabled_at bigint
);

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
    namespace   text collate "C" not null,
    id          text collate "C" not null,
    roles       text collate "C" not null,
    queues      text collate "C" not null,
    note        text collate "C",
    secret_hash bytea            not null,
    created_at  bigint           not null,
    created_by  text collate "C",
    expires_at  bigint,
    revoked_at  bigint,
    primary key (namespace, id)
);

create unique index api_keys_id on api_keys (id);

-- Rows are added, and never changed.
create table audit (
    seq        bigint generated always as identity,
    namespace  text collate "C" not null,
    at         bigint           not null,
    actor      text collate "C" not null,
    action     text collate "C" not null,
    subject    text collate "C" not null,
    request_id text collate "C" not null,
    was        text collate "C",
    became     text collate "C",
    primary key (namespace, seq)
);

create unique index audit_seq on audit (seq);

-- The last poll of a worker: what an older one asks for comes too late.
alter table workers add column poll bigint not null default 0;

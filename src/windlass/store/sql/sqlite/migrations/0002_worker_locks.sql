-- How the death of a worker can be noticed, and workers that have not stopped without those that have.

alter table workers add column lock_kind text;

create index workers_open on workers (namespace, id) where stopped_at is null;

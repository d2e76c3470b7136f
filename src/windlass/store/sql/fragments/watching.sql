-- How a transition finds those who watch it. These fragments stand in every statement that notes one in the log: $1, $2 and
-- $3 are what the statement gives them. A firing has the number of the entry as its cause, so that there is one for each,
-- whoever finds it.

-- fragment: live
-- SQLite: whether anything is live at all. Where nothing is, the next one is not even sent: the driver keeps a statement for as
-- long as a hundred others are sent, and prepares this one anew for every large batch, which takes as long as twenty rows.
select 1 from signals x indexed by signals_live where x.namespace > '' and x.is_live = 1 limit 1

-- fragment: fire
-- SQLite, behind the note: a firing for every live signal on one of these subjects, or on the workflow of a run among them,
-- that waits for the state it has entered. $1: the subjects, as rows of one column `value`; $2: their kind; $3: how a signal
-- names one of them. The newest entry about each is the one; where none was written just now, it has had its firings. Whether
-- anything of that kind is live is looked at first: where nothing is, no subject is read. The index is named because without
-- statistics another looks as short, and would be a walk through what is over.
insert into firings (namespace, signal_id, cause, subject_kind, subject_id, from_status, to_status, happened_at, status,
                     available_at, created_at)
select w.namespace, w.id, cast(n.seq as text), n.subject_kind, n.subject_id, n.from_status, n.to_status, n.at, 'queued',
       case when w.status = 'armed' then n.at end, n.at
  from (select 1 from signals x indexed by signals_live
         where x.namespace = :namespace and x.subject_kind = $2 and x.is_live = 1 limit 1) as a
 cross join $1 as i
 cross join signals w indexed by signals_live
    on w.namespace = :namespace and w.subject_kind = $2 and w.subject $3 and w.is_live = 1
 cross join log n on n.seq = (select max(l.seq) from log l
                               where l.namespace = :namespace and l.subject_kind = $2 and l.subject_id = i.value)
 where w.enters like '%,' || n.to_status || ',%' and n.seq > w.armed_seq
union all
select w.namespace, w.id, cast(n.seq as text), n.subject_kind, n.subject_id, n.from_status, n.to_status, n.at, 'queued',
       case when w.status = 'armed' then n.at end, n.at
  from (select 1 from signals x indexed by signals_live
         where x.namespace = :namespace and x.subject_kind = 'workflow' and x.is_live = 1 and $2 = 'run' limit 1) as a
 cross join $1 as i
 cross join runs r on r.namespace = :namespace and r.id = i.value
 cross join signals w indexed by signals_live
    on w.namespace = :namespace and w.subject_kind = 'workflow' and w.subject = r.name and w.is_live = 1
 cross join log n on n.seq = (select max(l.seq) from log l
                               where l.namespace = :namespace and l.subject_kind = $2 and l.subject_id = i.value)
 where w.enters like '%,' || n.to_status || ',%' and n.seq > w.armed_seq
on conflict do nothing

-- fragment: runs_at
-- SQLite: the runs at the places of the table in the list $1.
(select x.id as value from json_each(:$1) as j cross join runs x on x.rowid = j.value)

-- fragment: returned
-- What the fragments below need of an entry.
returning namespace, subject_kind, subject_id, from_status, to_status, at, seq

-- fragment: fire_noted
-- PostgreSQL, a part of the statement that notes: the same for the entries that $1 returns. Each probe is a lateral, planned
-- alike whatever the statistics say; where nothing is live none is made.
insert into firings (namespace, signal_id, cause, subject_kind, subject_id, from_status, to_status, happened_at, status,
                     available_at, created_at)
select n.namespace, s.id, n.seq::text, n.subject_kind, n.subject_id, n.from_status, n.to_status, n.at, 'queued',
       case when s.status = 'armed' then n.at end, n.at
  from $1 n
 cross join lateral (
       select w.id, w.status from signals w
        where w.namespace = n.namespace and w.subject_kind = n.subject_kind and w.subject = n.subject_id and w.is_live = 1
          and w.enters like '%,' || n.to_status || ',%'
       union all
       select w.id, w.status from signals w
        where n.subject_kind = 'item' and w.namespace = n.namespace and w.subject_kind = 'item' and w.subject = '*'
          and w.is_live = 1 and w.enters like '%,' || n.to_status || ',%'
       union all
       select w.id, w.status
         from (select r.name from runs r
                where n.subject_kind = 'run' and r.namespace = n.namespace and r.id = n.subject_id offset 0) r
        cross join lateral (
              select * from signals v
               where v.namespace = n.namespace and v.subject_kind = 'workflow' and v.subject = r.name and v.is_live = 1
              offset 0) w
        where w.enters like '%,' || n.to_status || ',%'
       offset 0) s
 where exists (select 1 from signals x where x.is_live = 1)
on conflict do nothing

-- fragment: fire_heard
-- The same on the hot path, for runs only, and only those that somebody may watch: to prepare for more takes PostgreSQL longer
-- than to end a run.
insert into firings (namespace, signal_id, cause, subject_kind, subject_id, from_status, to_status, happened_at, status,
                     available_at, created_at)
select n.namespace, s.id, n.seq::text, n.subject_kind, n.subject_id, n.from_status, n.to_status, n.at, 'queued',
       case when s.status = 'armed' then n.at end, n.at
  from $1 n
 cross join lateral (
       select w.id, w.status from signals w
        where w.namespace = n.namespace and w.subject_kind = 'run' and w.subject = n.subject_id and w.is_live = 1
          and w.enters like '%,' || n.to_status || ',%'
       union all
       select w.id, w.status
         from (select r.name from runs r where r.namespace = n.namespace and r.id = n.subject_id offset 0) r
        cross join lateral (
              select * from signals v
               where v.namespace = n.namespace and v.subject_kind = 'workflow' and v.subject = r.name and v.is_live = 1
              offset 0) w
        where w.enters like '%,' || n.to_status || ',%'
       offset 0) s
on conflict do nothing

-- fragment: fire_new
-- The same for runs that $2 has made just now: nobody watches one of them, and no other part of the statement sees their
-- names.
insert into firings (namespace, signal_id, cause, subject_kind, subject_id, from_status, to_status, happened_at, status,
                     available_at, created_at)
select n.namespace, w.id, n.seq::text, n.subject_kind, n.subject_id, n.from_status, n.to_status, n.at, 'queued',
       case when w.status = 'armed' then n.at end, n.at
  from $1 n
  join $2 c on c.namespace = n.namespace and c.id = n.subject_id
 cross join lateral (
       select * from signals v
        where v.namespace = n.namespace and v.subject_kind = 'workflow' and v.subject = c.name and v.is_live = 1
       offset 0) w
 where exists (select 1 from signals x where x.is_live = 1) and w.enters like '%,' || n.to_status || ',%'
on conflict do nothing

-- fragment: watched
-- PostgreSQL: the workflows that anybody watches, of the namespaces in $1.
watched as materialized (
    select w.namespace, w.subject as name
      from (select distinct i.namespace from $1 i) d
     cross join lateral (
           select p.namespace, p.subject from signals p
            where p.namespace = d.namespace and p.subject_kind = 'workflow' and p.is_live = 1
           offset 0) w
)

-- fragment: is_watched
-- Whether anybody may watch the run in the row $1.
($1.armed > 0 or ($1.namespace, $1.name) in (select x.namespace, x.name from watched x))

-- fragment: is_fresh
-- Whether this statement can have seen all who watch the run that it has locked as $1, of the namespace $2 and the id $3:
-- nobody has begun to since its snapshot.
($1.armed = 0 or $1.armed = (select o.armed from runs o where o.namespace = $2 and o.id = $3))

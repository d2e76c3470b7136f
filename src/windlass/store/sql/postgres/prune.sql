-- name: note_removed_runs
-- Differs: the last in the order of the feed, and one probe for each run.
insert into removed_log (namespace, xid, seq)
select :namespace, g.xid, g.seq
  from unnest(:ids::text[]) as i (value)
 cross join lateral (
     select l.xid, l.seq from log l
      where l.namespace = :namespace and l.subject_kind = 'run' and l.subject_id = i.value
     offset 0
 ) as g
 order by g.xid desc, g.seq desc
 limit 1
on conflict (namespace) do update
   set xid = greatest(removed_log.xid, excluded.xid),
       seq = case when removed_log.xid > excluded.xid then removed_log.seq
                  when removed_log.xid < excluded.xid then excluded.seq
                  else greatest(removed_log.seq, excluded.seq) end;

-- name: remove_remark
-- Differs: what is removed and the note of it in one statement.
with gone as (
    delete from log
     where namespace = :namespace and subject_kind = :subject_kind and subject_id = :subject_id and seq = :seq
       and (to_status = 'deleted'
            or (subject_kind = 'worker'
                and not exists (select 1 from workers w where w.namespace = :namespace and w.id = :subject_id))
            or (subject_kind = 'signal'
                and not exists (select 1 from signals w where w.namespace = :namespace and w.id = :subject_id))
            or seq < (select max(n.seq) from log n
                       where n.namespace = :namespace and n.subject_kind = :subject_kind
                         and n.subject_id = :subject_id))
    returning xid, seq
)
update removed_log r set xid = g.xid, seq = g.seq
  from gone g
 where r.namespace = :namespace and (r.xid, r.seq) < (g.xid, g.seq);

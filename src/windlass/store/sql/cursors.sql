-- name: move_cursor
-- Note how far a reader of the log has come. It never goes back.
insert into cursors (namespace, name, seq, moved_at) values (:namespace, :name, :seq, {now})
on conflict (namespace, name) do update
   set seq = excluded.seq, moved_at = excluded.moved_at
 where cursors.seq < excluded.seq;

-- name: load_cursor
-- How far a reader of the log has come.
select c.seq from cursors c where c.namespace = :namespace and c.name = :name;

-- name: drop_cursor
-- Nobody reads on from there any more.
delete from cursors where namespace = :namespace and name = :name;

-- name: slowest_cursor
-- How far the last of the readers of a namespace has come; there are few. What examines the log for signals on many subjects is
-- one of them, while there is such a signal.
select min(c.seq)
  from (select x.seq from cursors x where x.namespace = :namespace
        union all
        select y.seq from signal_cursors y
         where y.namespace = :namespace
           and (exists (select 1 from signals s
                         where s.namespace = :namespace and s.subject_kind = 'workflow' and s.is_live = 1)
                or exists (select 1 from signals s
                            where s.namespace = :namespace and s.subject_kind = 'item' and s.subject = '*'
                              and s.is_live = 1))) as c;

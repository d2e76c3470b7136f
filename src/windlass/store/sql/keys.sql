-- name: take_keys
-- Take start keys that are free or expired. A key that is not answered for belongs to another run.
insert into keys (namespace, key, name, version, input_hash, run_id, created_at, expires_at)
values (:namespace, :key, :name, :version, :input_hash, :run_id, {now}, {now} + :expires_for)
on conflict (namespace, key) do update
   set name = excluded.name, version = excluded.version, input_hash = excluded.input_hash,
       run_id = excluded.run_id, created_at = excluded.created_at, expires_at = excluded.expires_at
 where keys.expires_at <= {now};

-- name: owners_of_keys
-- Which run each key belongs to, and what it was started with.
select k.key, k.run_id, k.name, k.version, k.input_hash
  from {rows:keys.key:keys};

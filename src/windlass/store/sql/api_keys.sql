-- name: insert_api_key
-- A new key; an id that is taken is left as it is.
insert into api_keys (namespace, id, roles, queues, note, secret_hash, created_at, created_by, expires_at)
values (:namespace, :id, :roles, :queues, :note, :secret_hash, :created_at, :created_by, :expires_at)
on conflict do nothing;

-- name: find_api_key
-- One key by its id, whatever namespace it is good for.
select k.namespace, k.id, k.roles, k.queues, k.note, k.secret_hash, k.created_at, k.created_by, k.expires_at, k.revoked_at
  from api_keys k
 where k.id = :id;

-- name: list_api_keys
-- Those of one namespace, or all, the newest first.
select k.namespace, k.id, k.roles, k.queues, k.note, k.secret_hash, k.created_at, k.created_by, k.expires_at, k.revoked_at
  from api_keys k
 where cast(:namespace as text) is null or k.namespace = cast(:namespace as text)
 order by k.created_at desc, k.id desc;

-- name: revoke_api_key
-- Nobody gets in with it any more. One that was revoked keeps the time of that.
update api_keys set revoked_at = {now} where id = :id and revoked_at is null;

-- name: revoke_api_keys_of_namespace
-- The same, of all keys that are good for one namespace.
update api_keys set revoked_at = {now} where namespace = :namespace and revoked_at is null;

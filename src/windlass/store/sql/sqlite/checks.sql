-- name: damage
-- Differs: SQLite can be asked, and answers with a row per finding.
select c.integrity_check as message from pragma_integrity_check as c where c.integrity_check <> 'ok'
union all
select 'a row of ' || f."table" || ' refers to nothing in ' || f.parent from pragma_foreign_key_check as f;

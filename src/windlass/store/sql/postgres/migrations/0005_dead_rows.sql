-- Every claim and every end leaves a dead entry in the claim index, and whoever looks for work steps over them until they
-- are removed. By default that waits for a fifth of the table, however many have ended; so it is done for a twentieth.

alter table runs set (autovacuum_vacuum_scale_factor = 0.05);

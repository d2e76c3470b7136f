-- name: limit_lock
-- Differs: whoever waits for the lock below holds up all claims that come after it. A claim that does not end, because its
-- process is stopped, must not stop the others: this gives way, and is tried again.
select set_config('lock_timeout', '1s', true);

-- name: lock_gates
-- Differs: a row that is shared by one claim after the other would never be free for whoever wants to close it. The lock
-- of the table is fair: claims that come later queue behind it.
lock table gates in exclusive mode;

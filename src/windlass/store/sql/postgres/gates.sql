-- name: lock_gates
-- Differs: a row that is shared by one claim after the other would never be free for whoever wants to close it. The lock
-- of the table is fair: claims that come later queue behind it.
lock table gates in exclusive mode;

-- Which bodies are at work. A body that ends within a moment never has such a row, so most steps pay nothing for this.

-- With all that is asked of it: without statistics SQLite prefers the primary key to what holds only a part.
create index steps_running on steps (namespace, run_id, status, started_at, step_key) where status = 'running';

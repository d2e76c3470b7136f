-- Nothing to do here: PostgreSQL prepares the list of a check once. The number is taken because SQLite needed it.
select 1;

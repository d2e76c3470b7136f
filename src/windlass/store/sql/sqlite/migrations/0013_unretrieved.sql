-- What a run's holder says of a task that ended with an error and that no other task has retrieved: for people who ask.

alter table payloads add column unretrieved blob;

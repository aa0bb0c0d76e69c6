-- name: lock
-- One migration at a time, however many processes start together.
SELECT pg_advisory_xact_lock(7236843);

-- name: applied
SELECT part, name, sha256 FROM kernel.migration;

-- name: record
INSERT INTO kernel.migration (part, name, sha256) VALUES (%(part)s, %(name)s, %(sha256)s);

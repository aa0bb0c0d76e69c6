-- name: lock
-- One migration at a time, however many processes start together.
SELECT pg_advisory_xact_lock(7236843);

-- name: applied
SELECT part, name, sha256 FROM kernel.migration;

-- name: record
INSERT INTO kernel.migration (part, name, sha256) VALUES (%(part)s, %(name)s, %(sha256)s);

-- name: unguarded
-- Tables of these schemas without forced row-level security that hold, or may hold, a tenant's rows.
SELECT n.nspname || '.' || c.relname
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = ANY (%(schemas)s) AND c.relkind IN ('r', 'p')
   AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
   AND (EXISTS (SELECT 1 FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)
        OR coalesce(obj_description(c.oid, 'pg_class'), '') NOT LIKE 'untenanted: %%')
 ORDER BY 1;

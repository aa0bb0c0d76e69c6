-- name: applied
SELECT part, name, sha256 FROM kernel.migration ORDER BY part, name;

-- name: tables
-- Every table of ours with rows of its own. The seal and the list of migrations are made anew.
SELECT n.nspname || '.' || c.relname AS name, n.nspname AS in_schema, c.relname AS in_table,
       ARRAY(SELECT a.attname::text FROM pg_attribute a
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
              ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
   AND n.nspname NOT IN ('public', 'information_schema') AND n.nspname NOT LIKE 'pg\_%%'
   AND (n.nspname, c.relname) NOT IN (('kernel', 'seal'), ('kernel', 'migration'))
 ORDER BY 1;

-- name: is_empty
SELECT NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'kernel');

-- name: in_order
-- Tables that are referred to come first: a foreign key is checked as each statement ends.
WITH RECURSIVE ours AS (
    SELECT c.oid, n.nspname || '.' || c.relname AS name, n.nspname AS in_schema, c.relname AS in_table,
           c.relforcerowsecurity AS is_forced
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname || '.' || c.relname = ANY (%(names)s)
), referring AS (
    SELECT DISTINCT conrelid AS child, confrelid AS parent FROM pg_constraint
     WHERE contype = 'f' AND conrelid <> confrelid
), depths AS (
    SELECT oid, 0 AS depth FROM ours
    UNION
    SELECT r.child, d.depth + 1 FROM depths d JOIN referring r ON r.parent = d.oid WHERE d.depth < 50
)
SELECT o.name, o.in_schema, o.in_table, o.is_forced
  FROM ours o JOIN depths d ON d.oid = o.oid
 GROUP BY 1, 2, 3, 4 ORDER BY max(d.depth), 1;

-- name: advance_sequences
-- Identity columns go on after the highest number that came back.
DO $$
DECLARE
    found record;
    highest bigint;
BEGIN
    FOR found IN
        SELECT n.nspname, c.relname, a.attname,
               pg_get_serial_sequence(format('%%I.%%I', n.nspname, c.relname), a.attname) AS sequence
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
           AND n.nspname NOT IN ('public', 'information_schema') AND n.nspname NOT LIKE 'pg\_%%'
           AND pg_get_serial_sequence(format('%%I.%%I', n.nspname, c.relname), a.attname) IS NOT NULL
    LOOP
        EXECUTE format('SELECT max(%%I) FROM %%I.%%I', found.attname, found.nspname, found.relname) INTO highest;
        IF highest IS NOT NULL THEN
            PERFORM setval(found.sequence, highest);
        END IF;
    END LOOP;
END
$$;

-- name: renew_clocks
-- The copy goes its own way from here: indexes of the original must not be taken for its own.
UPDATE kernel.tenant_clock SET epoch = gen_random_uuid();

-- name: forget_nodes
-- Those that follow the original do not follow the copy.
DELETE FROM kernel.index_node;

-- name: forget_workers
-- Nor do its workers run for the copy: a job that one of them had is waiting again.
DELETE FROM jobs.procrastinate_workers;

-- name: tenant_tables
-- What belongs to one tenant, table by table. Chunks and vectors are made of the texts, and the change
-- log is for indexes: none of them says anything that the rest does not. What is sealed stays here, and so
-- does what waits for a person: it shows commands to the letter and is over in minutes.
SELECT n.nspname || '.' || c.relname AS name, n.nspname AS in_schema, c.relname AS in_table,
       CASE WHEN c.oid = 'kernel.tenant'::regclass THEN 'id' ELSE 'tenant_id' END AS tenant_column
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
   AND (c.oid = 'kernel.tenant'::regclass
        OR EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id'))
   AND n.nspname || '.' || c.relname NOT IN (
       'kernel.secret', 'kernel.chunk', 'kernel.vector', 'kernel.tick', 'kernel.change',
       'kernel.tenant_clock', 'kernel.index_node', 'kernel.confirmation')
   AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'ciphertext')
 ORDER BY 1;

-- name: tenant_id
SELECT id FROM kernel.tenant WHERE name = %(name)s;

-- name: spaces
-- The spaces that the caller may see. Whoever sees a whole space may see its other files too.
SELECT id AS source_id, coalesce(config ->> 'name', substr(id, 6)) AS name, config ->> 'folder' AS folder, enabled,
       coalesce((config ->> 'confined')::boolean, false) AS is_confined,
       kernel.is_admin() OR trim_mode = 'open' OR kernel.holds_role(id, ARRAY['owner', 'writer'])
       OR (trim_mode = 'source_only' AND kernel.holds_role(id, ARRAY['reader'])) AS is_whole,
       trim_mode = 'per_file' AS is_trimmed, wiki.has_unfiled(id) AS is_behind
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki' AND config ->> 'folder' IS NOT NULL ORDER BY id;

-- name: is_confined
-- System: whether a space must lie below a root of its tenant.
SELECT coalesce((config ->> 'confined')::boolean, false) FROM kernel.source
 WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s;

-- name: visible_keys
SELECT key FROM kernel.file WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s;

-- name: visible_paths
-- Which of these paths the caller may see, whether or not there is a file.
SELECT key FROM unnest(%(keys)s::text[]) AS key WHERE wiki.sees_path(%(source_id)s, key);

-- name: spaces_with_file
-- Which of these files the caller sees, one per space.
SELECT source_id FROM unnest(%(source_ids)s::text[], %(keys)s::text[]) AS wanted (source_id, key)
  JOIN kernel.file USING (source_id, key) WHERE tenant_id = kernel.tenant() GROUP BY source_id;

-- name: may_write
SELECT kernel.may_write(%(source_id)s, %(key)s);

-- name: writable_keys
SELECT key FROM unnest(%(keys)s::text[]) AS key WHERE kernel.may_write(%(source_id)s, key);

-- name: may_not_write
-- The first of these files that the caller may not write.
SELECT key FROM unnest(%(keys)s::text[]) AS key WHERE NOT kernel.may_write(%(source_id)s, key) LIMIT 1;

-- name: lock_space
-- Advisory lock: one writer per space across processes, until its transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('wiki ' || %(tenant_id)s || ' ' || %(source_id)s, 0));

-- name: database_id
-- A database that was restored from a backup is another one.
SELECT (SELECT system_identifier FROM pg_control_system()) || '.' || oid
  FROM pg_database WHERE datname = current_database();

-- name: this_transaction
SELECT pg_current_xact_id()::text;

-- name: was_committed
-- A transaction id from a journal is checked only if it is plausible.
SELECT coalesce(CASE WHEN %(transaction)s::xid8 < pg_snapshot_xmax(pg_current_snapshot())
                     THEN pg_xact_status(%(transaction)s::xid8) END = 'committed', false);

-- name: known_files
-- System: the files of a space in the store.
SELECT key, etag FROM kernel.file WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: known_among
-- System: those of these files that the store has.
SELECT key FROM kernel.file
 WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s AND key = ANY (%(keys)s::text[]);

-- name: drop_stale_rows
-- Rows at the places of files that move there, and that no file moves from: what the lake read of an earlier file.
DELETE FROM kernel.file
 WHERE tenant_id = COALESCE(kernel.tenant(), %(tenant_id)s) AND source_id = %(source_id)s
   AND key = ANY (%(new)s::text[]) AND key <> ALL (%(old)s::text[]);

-- name: row_title
SELECT title FROM kernel.file
 WHERE tenant_id = COALESCE(kernel.tenant(), %(tenant_id)s) AND source_id = %(source_id)s AND key = %(key)s;

-- name: indexed_now
UPDATE kernel.source SET last_indexed_at = now() WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s;

-- name: my_config
SELECT wiki.my_config();

-- name: set_my_config
SELECT wiki.set_my_config(%(yaml)s);

-- name: users
-- Names of writers of versions; row-level security decides whom the caller may know.
SELECT id, name FROM kernel.user_account WHERE tenant_id = kernel.tenant();

-- name: every_space
-- System: all enabled spaces whose readers see all of them.
SELECT tenant_id, id AS source_id, config ->> 'folder' AS folder,
       coalesce((config ->> 'confined')::boolean, false) AS is_confined FROM kernel.source
 WHERE protocol = 'wiki' AND enabled AND trim_mode <> 'per_file' AND config ->> 'folder' IS NOT NULL
 ORDER BY tenant_id, id;

-- name: spaces
-- The spaces that the caller may see. Whoever sees a space whole may see files of it that are no documents.
SELECT id AS source_id, coalesce(config ->> 'name', substr(id, 6)) AS name, config ->> 'folder' AS folder, enabled,
       coalesce((config ->> 'confined')::boolean, false) AS is_confined,
       kernel.is_admin() OR trim_mode = 'open' OR kernel.holds_role(id, ARRAY['owner', 'writer'])
       OR (trim_mode = 'source_only' AND kernel.holds_role(id, ARRAY['reader'])) AS is_whole,
       wiki.has_unfiled(id) AS is_behind
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND protocol = 'wiki' AND config ->> 'folder' IS NOT NULL ORDER BY id;

-- name: is_confined
-- For the house: whether a space must lie below a root of its tenant.
SELECT coalesce((config ->> 'confined')::boolean, false) FROM kernel.source
 WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s;

-- name: visible_keys
SELECT key FROM kernel.file WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s;

-- name: may_write
SELECT kernel.may_write(%(source_id)s, %(key)s);

-- name: lock_space
-- One writer at a time in a space, whichever process it is in, until its transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('wiki ' || %(tenant_id)s || ' ' || %(source_id)s, 0));

-- name: this_transaction
SELECT pg_current_xact_id()::text;

-- name: was_committed
-- A number from a journal in the folder is asked for only where it can be one of ours.
SELECT coalesce(CASE WHEN %(transaction)s::xid8 < pg_snapshot_xmax(pg_current_snapshot())
                     THEN pg_xact_status(%(transaction)s::xid8) END = 'committed', false);

-- name: known_files
-- For the house: what the store knows of a space.
SELECT key, etag FROM kernel.file WHERE tenant_id = %(tenant_id)s AND source_id = %(source_id)s;

-- name: indexed_now
UPDATE kernel.source SET last_indexed_at = now() WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s;

-- name: my_config
SELECT wiki.my_config();

-- name: set_my_config
SELECT wiki.set_my_config(%(yaml)s);

-- name: users
-- Who the writers of versions are; the policy says whom the caller may know.
SELECT id, name FROM kernel.user_account WHERE tenant_id = kernel.tenant();

-- name: every_space
-- For the house: all spaces that are on, and whose readers see all of them.
SELECT tenant_id, id AS source_id, config ->> 'folder' AS folder,
       coalesce((config ->> 'confined')::boolean, false) AS is_confined FROM kernel.source
 WHERE protocol = 'wiki' AND enabled AND trim_mode <> 'per_file' AND config ->> 'folder' IS NOT NULL
 ORDER BY tenant_id, id;

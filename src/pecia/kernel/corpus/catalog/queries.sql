-- name: sources
SELECT id AS source_id, protocol, trim_mode, enabled,
       CASE WHEN kernel.sees_all_files(id, trim_mode, protocol) THEN last_indexed_at END AS last_indexed_at
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id > %(after)s ORDER BY id LIMIT %(limit)s;

-- name: source
SELECT id AS source_id, protocol, trim_mode, enabled,
       CASE WHEN kernel.sees_all_files(id, trim_mode, protocol) THEN last_indexed_at END AS last_indexed_at
  FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: add_source
INSERT INTO kernel.source (tenant_id, id, protocol, trim_mode, config)
VALUES (kernel.tenant(), %(source_id)s, %(protocol)s, %(trim_mode)s, %(config)s);

-- name: set_source
UPDATE kernel.source SET trim_mode = COALESCE(%(trim_mode)s, trim_mode), enabled = COALESCE(%(enabled)s, enabled)
 WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: remove_source
DELETE FROM kernel.source WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: overlapping_sources
-- Sources whose folder lies around this one, or inside it.
SELECT f.id AS source_id, f.folder
  FROM (SELECT id, rtrim(coalesce(config ->> 'folder', config -> 'origin' ->> 'folder'), '/') AS folder
          FROM kernel.source WHERE tenant_id = kernel.tenant()) AS f
 WHERE f.id <> %(source_id)s
   AND (starts_with(%(folder)s || '/', f.folder || '/') OR starts_with(f.folder || '/', %(folder)s || '/'))
 ORDER BY f.id LIMIT 5;

-- name: files
-- A range on the key, never LIKE: under row-level security only a range keeps its index.
SELECT key, size_bytes, modified_at, etag, content_type FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key > %(after)s
   AND key >= %(prefix)s AND (%(before)s::text IS NULL OR key < %(before)s)
 ORDER BY key LIMIT %(limit)s;

-- name: file
SELECT source_id, key, size_bytes, modified_at, etag, content_type, storage_class, owner, posix_mode, posix_uid, posix_gid
  FROM kernel.file WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key = %(key)s;

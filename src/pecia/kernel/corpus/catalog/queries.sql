-- name: sources
SELECT id AS source_id, protocol, trim_mode, enabled, last_indexed_at FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id > %(after)s ORDER BY id LIMIT %(limit)s;

-- name: source
SELECT id AS source_id, protocol, trim_mode, enabled, last_indexed_at FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: add_source
INSERT INTO kernel.source (tenant_id, id, protocol, trim_mode, config)
VALUES (kernel.tenant(), %(source_id)s, %(protocol)s, %(trim_mode)s, %(config)s);

-- name: set_source
UPDATE kernel.source SET trim_mode = COALESCE(%(trim_mode)s, trim_mode), enabled = COALESCE(%(enabled)s, enabled)
 WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: remove_source
DELETE FROM kernel.source WHERE tenant_id = kernel.tenant() AND id = %(source_id)s;

-- name: files
-- A range on the key, never LIKE: under row-level security only a range keeps its index.
SELECT key, size_bytes, modified_at, etag, content_type FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key > %(after)s
   AND key >= %(prefix)s AND (%(before)s::text IS NULL OR key < %(before)s)
 ORDER BY key LIMIT %(limit)s;

-- name: file
SELECT source_id, key, size_bytes, modified_at, etag, content_type, storage_class, owner, posix_mode, posix_uid, posix_gid
  FROM kernel.file WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key = %(key)s;

-- name: ready_class
SELECT kernel.ready_class(%(source_id)s, %(key)s);

-- name: put_file
INSERT INTO kernel.file (tenant_id, source_id, key, size_bytes, modified_at, etag, content_type, storage_class, owner,
                         posix_mode, posix_uid, posix_gid)
VALUES (kernel.tenant(), %(source_id)s, %(key)s, %(size_bytes)s, %(modified_at)s, %(etag)s, %(content_type)s,
        %(storage_class)s, %(owner)s, %(posix_mode)s, %(posix_uid)s, %(posix_gid)s)
ON CONFLICT (tenant_id, source_id, key) DO UPDATE
   SET size_bytes = EXCLUDED.size_bytes, modified_at = EXCLUDED.modified_at, etag = EXCLUDED.etag,
       content_type = EXCLUDED.content_type, storage_class = EXCLUDED.storage_class, owner = EXCLUDED.owner,
       posix_mode = EXCLUDED.posix_mode, posix_uid = EXCLUDED.posix_uid, posix_gid = EXCLUDED.posix_gid;

-- name: remove_file
DELETE FROM kernel.file WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key = %(key)s;

-- name: move_file
UPDATE kernel.file SET key = %(to)s WHERE tenant_id = kernel.tenant() AND source_id = %(source_id)s AND key = %(key)s;

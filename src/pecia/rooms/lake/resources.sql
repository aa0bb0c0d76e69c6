-- name: files_after
SELECT source_id, key, title, content_type, size_bytes FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND (source_id, key) > (%(source_id)s, %(key)s)
 ORDER BY source_id, key LIMIT %(limit)s;

-- name: sources_beginning
SELECT id FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id >= %(prefix)s AND (%(before)s::text IS NULL OR id < %(before)s)
 ORDER BY id LIMIT %(limit)s;

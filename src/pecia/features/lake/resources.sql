-- name: files_after
SELECT source_id, key, title, content_type, size_bytes FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND (source_id, key) > (%(source_id)s, %(key)s)
 ORDER BY source_id, key LIMIT %(limit)s;

-- name: sources_beginning
SELECT id FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id >= %(prefix)s AND (%(before)s::text IS NULL OR id < %(before)s)
 ORDER BY id LIMIT %(limit)s;

-- name: revisions
SELECT f.source_id, f.key, f.revision_id FROM unnest(%(sources)s::text[], %(keys)s::text[]) AS a (source_id, key)
  JOIN kernel.file f ON f.tenant_id = kernel.tenant() AND f.source_id = a.source_id AND f.key = a.key
 WHERE f.revision_id IS NOT NULL;

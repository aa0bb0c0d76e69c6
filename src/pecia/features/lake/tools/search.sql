-- name: with_originals
-- Those of the sources that have originals: files elsewhere or uploaded. Sources written by a feature have none.
SELECT id FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id = ANY (%(sources)s) AND (config ? 'origin' OR config ? 'folder');

-- name: words_only
-- Whether the tenant switched semantic search off, and the visible sources that did.
SELECT NOT lake.hybrid_enabled() AS everywhere,
       ARRAY (SELECT id FROM kernel.source
               WHERE tenant_id = kernel.tenant() AND config->'hybrid' = 'false'
                 AND (%(source_id)s::text IS NULL OR id = %(source_id)s) ORDER BY id) AS sources;

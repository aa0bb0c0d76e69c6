-- name: sources
-- Which of the sources have originals: files elsewhere or uploaded. Sources written by a feature have none.
SELECT id, protocol, config ? 'origin' OR config ? 'folder' AS has_originals
  FROM kernel.source WHERE tenant_id = kernel.tenant() AND id = ANY (%(sources)s);

-- name: extractors
SELECT id, extractor FROM kernel.revision WHERE tenant_id = kernel.tenant() AND id = ANY (%(revisions)s);

-- name: unread_sources
SELECT source_id, is_crawling FROM lake.unread_sources(%(source_id)s);

-- name: words_only
-- Whether the tenant switched semantic search off, and the visible sources that did.
SELECT NOT lake.hybrid_enabled() AS everywhere,
       ARRAY (SELECT id FROM kernel.source
               WHERE tenant_id = kernel.tenant() AND config->'hybrid' = 'false'
                 AND (%(source_id)s::text IS NULL OR id = %(source_id)s) ORDER BY id) AS sources;

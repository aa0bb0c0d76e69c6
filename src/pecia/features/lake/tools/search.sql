-- name: sources
-- Which of the sources have originals: files elsewhere or uploaded. Sources written by a feature have none.
SELECT id, protocol, config ? 'origin' OR config ? 'folder' AS has_originals
  FROM kernel.source WHERE tenant_id = kernel.tenant() AND id = ANY (%(sources)s);

-- name: extractors
SELECT id, extractor FROM kernel.revision WHERE tenant_id = kernel.tenant() AND id = ANY (%(revisions)s);

-- name: users_named
-- What files of an author by this name have, as kernel.authors says it; of users, as far as the caller may know them.
SELECT 'name:' || lower(%(name)s) AS author
UNION ALL
SELECT id::text FROM kernel.user_account WHERE tenant_id = kernel.tenant() AND lower(name) = lower(%(name)s);

-- name: user_names
SELECT id::text AS id, name FROM kernel.user_account
 WHERE tenant_id = kernel.tenant() AND id = ANY (%(users)s::uuid[]) ORDER BY name;

-- name: owners
SELECT id, owner FROM kernel.file WHERE tenant_id = kernel.tenant() AND id = ANY (%(files)s) AND owner <> '';

-- name: unread_sources
SELECT source_id, is_crawling, config FROM lake.unread_sources(%(source_id)s);

-- name: words_only
-- Whether the tenant switched semantic search off, and the visible sources that did.
SELECT NOT lake.hybrid_enabled() AS everywhere,
       ARRAY (SELECT id FROM kernel.source
               WHERE tenant_id = kernel.tenant() AND config->'hybrid' = 'false'
                 AND (%(source_id)s::text IS NULL OR id = %(source_id)s) ORDER BY id) AS sources;

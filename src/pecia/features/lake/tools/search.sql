-- name: with_originals
-- Those of the sources whose files lie somewhere else, or were sent here. A room that writes its own has no others.
SELECT id FROM kernel.source
 WHERE tenant_id = kernel.tenant() AND id = ANY (%(sources)s) AND (config ? 'origin' OR config ? 'folder');

-- name: words_only
-- Whether the tenant switched search by meaning off, and the sources the caller may see that did.
SELECT NOT lake.by_meaning() AS everywhere,
       ARRAY (SELECT id FROM kernel.source
               WHERE tenant_id = kernel.tenant() AND config->'hybrid' = 'false'
                 AND (%(source_id)s::text IS NULL OR id = %(source_id)s) ORDER BY id) AS sources;

-- Statements about what a caller may see.

-- name: visible_classes
-- The ACL classes the caller may see. Policies have removed the others.
SELECT COALESCE(array_agg(id), '{}') AS classes, COALESCE(sum(chunks), 0)::bigint AS chunks,
       kernel.corpus_size() AS of_chunks, kernel.own_clock() AS own, kernel.clock() AS clock,
       kernel.has_vectors() AS has_vectors
  FROM kernel.acl WHERE tenant_id = (SELECT kernel.tenant()) AND chunks > 0;

-- name: visible_classes_in
-- The same of some sources, and of all: IDF does not depend on the filter. A statement of its
-- own: one for both is planned anew at every call.
SELECT COALESCE(array_agg(id) FILTER (WHERE source_id = ANY (%(sources)s::text[])), '{}') AS classes,
       COALESCE(sum(chunks) FILTER (WHERE source_id = ANY (%(sources)s::text[])), 0)::bigint AS chunks,
       kernel.corpus_size() AS of_chunks, kernel.own_clock() AS own, kernel.clock() AS clock,
       kernel.has_vectors() AS has_vectors,
       COALESCE(array_agg(id), '{}') AS all_classes, COALESCE(sum(chunks), 0)::bigint AS all_chunks
  FROM kernel.acl WHERE tenant_id = (SELECT kernel.tenant()) AND chunks > 0;

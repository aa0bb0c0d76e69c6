-- Statements about vectors. Only where the database can hold them.

-- name: has_vectors
SELECT kernel.has_vectors();

-- name: visible_classes
-- What the caller may see, in classes. Policies have removed the others.
SELECT COALESCE(array_agg(id), '{}') AS classes, COALESCE(sum(chunks), 0)::bigint AS chunks,
       kernel.corpus_size() AS of_chunks, kernel.own_clock() AS own, kernel.clock() AS clock,
       kernel.has_vectors() AS has_vectors
  FROM kernel.acl WHERE tenant_id = (SELECT kernel.tenant()) AND chunks > 0;

-- name: visible_classes_in
-- The same of some sources. A statement of its own: one for both is planned anew at every call.
SELECT COALESCE(array_agg(id), '{}') AS classes, COALESCE(sum(chunks), 0)::bigint AS chunks,
       kernel.corpus_size() AS of_chunks, kernel.own_clock() AS own, kernel.clock() AS clock,
       kernel.has_vectors() AS has_vectors
  FROM kernel.acl WHERE tenant_id = (SELECT kernel.tenant()) AND chunks > 0 AND source_id = ANY (%(sources)s::text[]);

-- name: nearest
SELECT chunk_id, cosine
  FROM kernel.nearest(%(query)s, %(dims)s, %(model)s, %(most)s, %(filter)s, %(reach)s);

-- name: cosines
SELECT chunk_id, 1 - (embedding OPERATOR(public.<=>) %(query)s::public.halfvec) AS cosine FROM kernel.vector
 WHERE tenant_id = (SELECT kernel.tenant()) AND model = %(model)s AND chunk_id = ANY (%(ids)s::bigint[]) AND dims = %(dims)s;

-- name: candidates
-- Chunks of files the caller may see, what those are called, and how near each is; no cosine without a vector.
SELECT a.chunk_id, 1 - (v.embedding OPERATOR(public.<=>) %(query)s::public.halfvec) AS cosine,
       f.id AS file_id, f.key, f.title, f.chunk_count AS chunks
  FROM unnest(%(ids)s::bigint[], %(files)s::bigint[]) AS a (chunk_id, file_id)
  JOIN kernel.file f ON f.tenant_id = (SELECT kernel.tenant()) AND f.id = a.file_id
  LEFT JOIN kernel.vector v ON v.tenant_id = (SELECT kernel.tenant()) AND v.model = %(model)s AND v.chunk_id = a.chunk_id
   AND v.dims = %(dims)s;

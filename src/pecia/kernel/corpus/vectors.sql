-- Statements about vectors. Only where the database can hold them.

-- name: has_vectors
SELECT kernel.has_vectors();

-- name: visible_classes
-- What the caller may see, in classes. Policies have removed the others.
SELECT COALESCE(array_agg(id), '{}') AS classes, COALESCE(sum(chunks), 0)::bigint AS chunks,
       kernel.corpus_size() AS of_chunks, kernel.own_clock() AS own, kernel.has_vectors() AS has_vectors
  FROM kernel.acl
 WHERE tenant_id = (SELECT kernel.tenant()) AND chunks > 0 AND (%(sources)s::text[] IS NULL OR source_id = ANY (%(sources)s));

-- name: nearest
SELECT chunk_id, cosine
  FROM kernel.nearest(%(query)s, %(dims)s, %(model)s, %(most)s, %(filter)s, %(reach)s);

-- name: cosines
SELECT chunk_id, 1 - (embedding OPERATOR(public.<=>) %(query)s::public.halfvec) AS cosine FROM kernel.vector
 WHERE tenant_id = (SELECT kernel.tenant()) AND model = %(model)s AND chunk_id = ANY (%(ids)s::bigint[]) AND dims = %(dims)s;

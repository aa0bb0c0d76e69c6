-- Statements about vectors. Only where the database can hold them.

-- name: has_vectors
SELECT kernel.has_vectors();

-- name: visible_classes
-- What the caller may see, in classes. Policies have removed the others.
SELECT COALESCE(array_agg(id), '{}') AS classes, COALESCE(sum(chunks), 0)::bigint AS chunks,
       kernel.corpus_size() AS of_chunks, kernel.own_clock() AS own, kernel.has_vectors() AS has_vectors
  FROM kernel.acl
 WHERE tenant_id = kernel.tenant() AND chunks > 0 AND (%(sources)s::text[] IS NULL OR source_id = ANY (%(sources)s));

-- name: nearest
SELECT chunk_id, cosine
  FROM kernel.nearest(%(query)s, %(dims)s, %(model)s, %(most)s, %(classes)s, %(filter)s, %(reach)s);

-- name: cosines
-- Chunks the caller may see, and how near each is; NULL where none of this model is there yet.
SELECT c.id, (SELECT 1 - (v.embedding OPERATOR(public.<=>) %(query)s::public.halfvec) FROM kernel.vector v
               WHERE v.tenant_id = kernel.tenant() AND v.model = %(model)s AND v.chunk_id = c.id AND v.dims = %(dims)s) AS cosine
  FROM kernel.chunk c WHERE c.tenant_id = kernel.tenant() AND c.id = ANY (%(ids)s::bigint[]);

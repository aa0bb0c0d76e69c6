-- Statements about vectors. Only where the database can hold them.

-- name: has_vectors
SELECT kernel.has_vectors();

-- name: nearest
SELECT chunk_id, cosine
  FROM kernel.nearest(%(query)s, %(dims)s, %(model)s, %(most)s, %(filter)s, %(reach)s);

-- name: is_behind
SELECT kernel.is_behind(%(node)s);

-- name: newest_lack
-- Whether any of the newest chunks that the caller may see has no vector yet.
SELECT EXISTS (
    SELECT 1 FROM (SELECT c.tenant_id, c.id, c.file_id FROM kernel.chunk c WHERE c.tenant_id = (SELECT kernel.tenant())
                    ORDER BY c.id DESC LIMIT %(most)s) AS c
      JOIN kernel.file f ON f.tenant_id = c.tenant_id AND f.id = c.file_id
      JOIN kernel.source s ON s.tenant_id = f.tenant_id AND s.id = f.source_id AND s.config->'hybrid' IS DISTINCT FROM 'false'
     WHERE NOT EXISTS (SELECT 1 FROM kernel.vector v
                        WHERE v.tenant_id = c.tenant_id AND v.chunk_id = c.id AND v.model = %(model)s));

-- name: embeds
-- Whether any of these sources is embedded.
SELECT EXISTS (SELECT 1 FROM kernel.source WHERE tenant_id = (SELECT kernel.tenant()) AND id = ANY (%(sources)s::text[])
                  AND config->'hybrid' IS DISTINCT FROM 'false');

-- name: cosines
SELECT chunk_id, 1 - (embedding OPERATOR(public.<=>) %(query)s::public.halfvec) AS cosine FROM kernel.vector
 WHERE tenant_id = (SELECT kernel.tenant()) AND model = %(model)s AND chunk_id = ANY (%(ids)s::bigint[]) AND dims = %(dims)s;

-- name: nearest_inside
-- Not by the index over all vectors: its nearest are of other files.
WITH inside AS MATERIALIZED (
    SELECT v.chunk_id, v.embedding OPERATOR(public.<=>) %(query)s::public.halfvec AS distance FROM kernel.vector v
     WHERE v.tenant_id = (SELECT kernel.tenant()) AND v.file_id = ANY (%(files)s::bigint[]) AND v.model = %(model)s
       AND v.dims = %(dims)s)
SELECT chunk_id, 1 - distance AS cosine FROM inside ORDER BY distance, chunk_id LIMIT %(most)s;

-- name: candidates
-- Chunks of files the caller may see, the names of those, and each cosine; NULL without a vector.
SELECT a.chunk_id, 1 - (v.embedding OPERATOR(public.<=>) %(query)s::public.halfvec) AS cosine,
       f.id AS file_id, f.key, f.title, f.chunk_count AS chunks
  FROM unnest(%(ids)s::bigint[], %(files)s::bigint[]) AS a (chunk_id, file_id)
  JOIN kernel.file f ON f.tenant_id = (SELECT kernel.tenant()) AND f.id = a.file_id
  LEFT JOIN kernel.vector v ON v.tenant_id = (SELECT kernel.tenant()) AND v.model = %(model)s AND v.chunk_id = a.chunk_id
   AND v.dims = %(dims)s;

-- The embedding job, all in system transactions.

-- name: index_vectors
SELECT kernel.index_vectors(%(dims)s);

-- name: newest_files
-- As one row: a row for each of a million files would take hundreds of megabytes.
SELECT COALESCE(array_agg(id ORDER BY revision_id DESC), '{}') FROM kernel.file
 WHERE tenant_id = %(tenant_id)s AND chunk_count > 0;

-- name: came
-- How many files changed after that commit, and the number of the last one.
SELECT count(c.file_id) AS files, COALESCE(max(t.n), %(after)s) AS n FROM kernel.tick t
  JOIN kernel.change c ON c.tenant_id = t.tenant_id AND c.tick_id = t.id
 WHERE t.tenant_id = %(tenant_id)s AND t.n > %(after)s;

-- name: waiting
-- Chunks of these files that have no vector of this model yet, but for sources that want none.
SELECT c.id, f.title, c.headings, c.prefix, c.text
  FROM unnest(%(file_ids)s::bigint[]) WITH ORDINALITY AS a (id, place)
  JOIN kernel.file f ON f.tenant_id = %(tenant_id)s AND f.id = a.id
  JOIN kernel.source s ON s.tenant_id = f.tenant_id AND s.id = f.source_id
  JOIN kernel.chunk c ON c.tenant_id = f.tenant_id AND c.file_id = f.id
 WHERE s.config->'hybrid' IS DISTINCT FROM 'false' AND NOT EXISTS (SELECT 1 FROM kernel.vector v
                    WHERE v.tenant_id = c.tenant_id AND v.model = %(model)s AND v.chunk_id = c.id)
 ORDER BY a.place, c.seq LIMIT %(most)s;

-- name: copy_known
-- What was embedded before, for equal texts of the same tenant. Files and chunks are held: what goes
-- meanwhile must find its vector to take along. One that is going already is left out: to wait for
-- a writer who may come to wait for us would end in the failure of one of us.
INSERT INTO kernel.vector (tenant_id, chunk_id, file_id, model, text_hash, dims, embedding)
SELECT c.tenant_id, c.id, c.file_id, %(model)s, decode(a.text_hash, 'hex'), k.dims, k.embedding
  FROM unnest(%(ids)s::bigint[], %(hashes)s::text[]) AS a (id, text_hash)
  JOIN kernel.chunk c ON c.tenant_id = %(tenant_id)s AND c.id = a.id
  JOIN kernel.file f ON f.tenant_id = c.tenant_id AND f.id = c.file_id
  JOIN LATERAL (SELECT v.dims, v.embedding FROM kernel.vector v
                 WHERE v.tenant_id = %(tenant_id)s AND v.model = %(model)s AND v.text_hash = decode(a.text_hash, 'hex')
                 LIMIT 1) AS k ON true
   FOR KEY SHARE OF f, c SKIP LOCKED
ON CONFLICT DO NOTHING
RETURNING chunk_id;

-- name: add_vectors
INSERT INTO kernel.vector (tenant_id, chunk_id, file_id, model, text_hash, dims, embedding)
SELECT c.tenant_id, c.id, c.file_id, %(model)s, decode(a.text_hash, 'hex'), %(dims)s, a.embedding::public.halfvec
  FROM unnest(%(ids)s::bigint[], %(hashes)s::text[], %(embeddings)s::text[]) AS a (id, text_hash, embedding)
  JOIN kernel.chunk c ON c.tenant_id = %(tenant_id)s AND c.id = a.id
  JOIN kernel.file f ON f.tenant_id = c.tenant_id AND f.id = c.file_id
   FOR KEY SHARE OF f, c SKIP LOCKED
ON CONFLICT DO NOTHING;

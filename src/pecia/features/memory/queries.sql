-- Statements of the memory feature. Everything is read under the caller's rights.

-- name: claim
SELECT memory.claim(%(folder)s);

-- name: hold
-- One writer per user at a time, so that a retried call is idempotent.
SELECT pg_advisory_xact_lock(hashtextextended(kernel.tenant() || 'memory' || kernel.user_id(), 1));

-- name: note
SELECT memory.note(%(items)s);

-- name: files_with_words
SELECT memory.files_with_words(%(hashes)s::text[]) AS id;

-- name: linked_files
SELECT memory.linked_files(%(id)s) AS id;

-- name: neighbours
SELECT of_file, file_id, place FROM memory.neighbours(%(files)s::bigint[], %(reach)s);

-- name: files
SELECT memory.files(%(ids)s::uuid[]) AS id;

-- name: memories
-- The memories in these files, with their texts. The RLS policies on files and texts apply besides the
-- function. OFFSET 0 forces a lookup by key: there are few rows, which the planner cannot know.
SELECT i.file_id, f.key, r.text, i.id, i.facts, i.said_at, i.last_said_at, i.times, i.valid_from, i.valid_to,
       i.superseded_by, i.same_as, i.changed_at
  FROM memory.items(%(files)s::bigint[]) AS i,
       LATERAL (SELECT key, revision_id FROM kernel.file
                 WHERE tenant_id = kernel.tenant() AND id = i.file_id OFFSET 0) AS f,
       LATERAL (SELECT text FROM kernel.revision
                 WHERE tenant_id = kernel.tenant() AND id = f.revision_id OFFSET 0) AS r;

-- name: chunks
-- The chunks of files that were just written, to store their vectors.
SELECT c.id, f.title, c.headings, c.prefix, c.text FROM kernel.file f
  JOIN kernel.chunk c ON c.tenant_id = f.tenant_id AND c.file_id = f.id
 WHERE f.tenant_id = kernel.tenant() AND f.id = ANY (%(files)s::bigint[]);

-- name: add_vectors
SELECT memory.add_vectors(%(model)s, %(dims)s, %(ids)s::bigint[], %(hashes)s::text[], %(vectors)s::text[]);

-- name: files_of
-- The files of these chunks.
SELECT id, file_id FROM kernel.chunk WHERE tenant_id = kernel.tenant() AND id = ANY (%(ids)s::bigint[]);

-- name: chunk_texts
SELECT id, prefix || text AS text FROM kernel.chunk
 WHERE tenant_id = kernel.tenant() AND id = ANY (%(ids)s::bigint[]);

-- name: standing
SELECT chunk_id, file_id FROM memory.standing(%(most)s);

-- name: unindexed
SELECT chunk_id, file_id FROM memory.unindexed(%(after)s, %(most)s);

-- name: page
-- Files of a key range, by key.
SELECT id, key FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND source_id = 'memory' AND key > %(after)s AND key >= %(prefix)s
   AND key < %(before)s AND key ~ %(pattern)s
 ORDER BY key LIMIT %(most)s;

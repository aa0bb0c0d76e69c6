-- Statements of the memory feature. Everything is read under the caller's rights.

-- name: claim
SELECT memory.claim(%(folder)s);

-- name: hold
-- One writer per user at a time, so that a retried call is idempotent.
SELECT pg_advisory_xact_lock(hashtextextended(kernel.tenant() || 'memory' || kernel.user_id(), 1));

-- name: latest
-- The same text, written a moment ago in the same folder.
SELECT f.id FROM kernel.file f
  JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id AND r.text = %(text)s
 WHERE f.tenant_id = kernel.tenant() AND f.source_id = 'memory' AND f.key >= %(prefix)s AND f.key < %(before)s
   AND f.modified_at > now() - interval '10 minutes'
 ORDER BY f.id LIMIT 50;

-- name: history
-- Earlier texts of a memory, oldest first. Readable with the memory, by its RLS policy.
SELECT text, created_at AS since, next AS until FROM (
    SELECT id, text, created_at, lead(created_at) OVER (ORDER BY id) AS next FROM kernel.revision
     WHERE tenant_id = kernel.tenant() AND file_id = %(file)s) AS r
 WHERE next IS NOT NULL ORDER BY id;

-- name: note
SELECT memory.note(%(key)s, %(id)s, %(facts)s, %(created_at)s);

-- name: files
SELECT memory.files(%(ids)s::uuid[]) AS id;

-- name: memories
-- The memories in these files, with their texts. The RLS policies on files and texts apply besides the
-- function. OFFSET 0 forces a lookup by key: there are few rows, which the planner cannot know.
SELECT i.file_id, f.key, r.text, i.id, i.facts, i.created_at, i.changed_at FROM memory.items(%(files)s::bigint[]) AS i,
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

-- name: newest
-- The latest writes in a key range, for when the index does not hold them yet.
SELECT c.id, c.file_id FROM (
    SELECT id, tenant_id, revision_id FROM kernel.file
     WHERE tenant_id = kernel.tenant() AND source_id = 'memory' AND key >= %(prefix)s AND key < %(before)s
       AND key ~ %(pattern)s
     ORDER BY revision_id DESC LIMIT %(most)s) AS f
  JOIN kernel.chunk c ON c.tenant_id = f.tenant_id AND c.file_id = f.id;

-- name: page
-- Files of a key range, by key.
SELECT id, key FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND source_id = 'memory' AND key > %(after)s AND key >= %(prefix)s
   AND key < %(before)s AND key ~ %(pattern)s
 ORDER BY key LIMIT %(most)s;

-- name: clock
-- The commit that the index must have reached to hold every memory.
SELECT kernel.clock();

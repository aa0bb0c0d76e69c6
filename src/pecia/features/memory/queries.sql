-- Statements of the memory feature. Everything is read under the caller's rights.

-- name: add
SELECT memory.add(%(folders)s::text[], %(files)s, %(chunks)s, %(items)s, %(model)s, %(dims)s, %(keys)s::text[],
                  %(hashes)s::text[], %(vectors)s::text[]);

-- name: hold
SELECT id, file_id, key, text, facts, said_at, last_said_at, times, valid_from, valid_to, superseded_by, same_as, changed_at
  FROM memory.hold(%(ids)s::uuid[], %(hashes)s::text[]);

-- name: note
SELECT memory.note(%(items)s);

-- name: linked_files
SELECT memory.linked_files(%(id)s) AS id;

-- name: neighbours
SELECT of_file, file_id, place FROM memory.neighbours(%(files)s::bigint[], %(reach)s);

-- name: find
SELECT id, file_id, key, text, facts, said_at, last_said_at, times, valid_from, valid_to, superseded_by, same_as, changed_at
  FROM memory.find(%(files)s::bigint[], %(ids)s::uuid[], %(hashes)s::text[]);

-- name: recall
SELECT (memory).id, (memory).file_id, (memory).key, (memory).text, (memory).facts, (memory).said_at,
       (memory).last_said_at, (memory).times, (memory).valid_from, (memory).valid_to, (memory).superseded_by,
       (memory).same_as, (memory).changed_at, chunks, cosines
  FROM memory.recall(%(ids)s::bigint[], %(query)s, %(dims)s, %(model)s);

-- name: chunk_texts
SELECT id, prefix || text AS text FROM kernel.chunk
 WHERE tenant_id = kernel.tenant() AND id = ANY (%(ids)s::bigint[]);

-- name: standing
SELECT chunk_id, file_id FROM memory.standing(%(most)s, %(patterns)s::text[]);

-- name: unindexed
SELECT chunk_id, file_id FROM memory.unindexed(%(after)s, %(most)s);

-- name: newest
-- Chunks of the memories that were written last, as far as the caller may see them.
SELECT c.id AS chunk_id, c.file_id
  FROM (SELECT id FROM kernel.file WHERE tenant_id = kernel.tenant() AND source_id = 'memory'
         ORDER BY id DESC LIMIT %(most)s) AS f
       JOIN kernel.chunk c ON c.tenant_id = kernel.tenant() AND c.file_id = f.id;

-- name: page
-- Files of a key range, by key.
SELECT id, key FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND source_id = 'memory' AND key > %(after)s AND key >= %(prefix)s
   AND key < %(before)s AND key ~ %(pattern)s
 ORDER BY key LIMIT %(most)s;

-- name: latest
-- The file that was written last: keys end in an id that is a time.
SELECT id FROM kernel.file
 WHERE tenant_id = kernel.tenant() AND source_id = 'memory' AND key >= %(prefix)s AND key < %(before)s
 ORDER BY key DESC LIMIT 1;

-- name: analyze_grown
SELECT memory.analyze_grown();

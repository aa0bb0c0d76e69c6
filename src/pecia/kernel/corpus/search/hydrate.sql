-- Statements that read chunks for a caller. The policies decide, for every row, whatever the index said.
-- The tenant is looked up once a statement, not once a row.

-- name: file
SELECT id AS file_id, source_id, key, title, content_type, modified_at, revision_id, chunk_count, status, reason
  FROM kernel.file WHERE tenant_id = (SELECT kernel.tenant()) AND source_id = %(source_id)s AND key = %(key)s;

-- name: window
SELECT id, seq, char_start AS start, char_end AS "end", text, prefix, headings, unit_label, page_no, ts_start_ms, ts_end_ms
  FROM kernel.chunk
 WHERE tenant_id = (SELECT kernel.tenant()) AND file_id = %(file_id)s AND seq >= %(start)s AND seq < %(start)s + %(size)s
 ORDER BY seq;

-- name: hydrate
-- The columns are the fields of HydratedChunk, in their order. Files that no longer hold are left out.
SELECT c.id, f.id AS file_id, f.source_id, f.key, f.title, f.language, f.revision_id, c.seq, c.char_start AS start, c.char_end AS "end",
       c.text, c.prefix, c.headings, c.unit_label, c.page_no, c.ts_start_ms, c.ts_end_ms, f.content_type, f.modified_at,
       f.chunk_count
  FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS a (id, place)
  JOIN kernel.chunk c ON c.tenant_id = (SELECT kernel.tenant()) AND c.id = a.id
  JOIN kernel.file f ON f.tenant_id = (SELECT kernel.tenant()) AND f.id = c.file_id
                    AND (f.ended_at IS NULL OR f.ended_at > now())
 ORDER BY a.place;

-- name: neighbours
-- The columns are the fields of a Neighbour, in their order. Only plain comparisons may go before the policies,
-- into the index: so the caller computes the positions.
SELECT a.of_id, n.seq, n.char_start AS start, n.text, n.prefix
  FROM unnest(%(ids)s::bigint[], %(files)s::bigint[], %(seqs)s::integer[]) AS a (of_id, file_id, seq)
  JOIN kernel.chunk n ON n.tenant_id = (SELECT kernel.tenant()) AND n.file_id = a.file_id AND n.seq = a.seq;

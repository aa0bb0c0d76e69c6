-- Statements that verify quotations, under the caller's rights.

-- name: quoted_texts
-- The chunks that each span touches, joined. A file that the caller may not see has no row, like one that is gone.
SELECT a.place, f.revision_id, min(c.char_start) AS start, string_agg(c.text, '' ORDER BY c.seq) AS text
  FROM unnest(%(sources)s::text[], %(keys)s::text[], %(starts)s::bigint[], %(ends)s::bigint[])
       WITH ORDINALITY AS a (source_id, key, char_start, char_end, place)
  JOIN kernel.file f ON f.tenant_id = (SELECT kernel.tenant()) AND f.source_id = a.source_id AND f.key = a.key
  LEFT JOIN kernel.chunk c ON c.tenant_id = (SELECT kernel.tenant()) AND c.file_id = f.id
       AND c.char_start < a.char_end AND c.char_end > a.char_start
 GROUP BY a.place, f.revision_id
 ORDER BY a.place;

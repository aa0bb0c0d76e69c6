-- The change log, in system transactions but for one.

-- name: clock_of
SELECT COALESCE(c.n, 0) AS n, COALESCE(c.trimmed, 0) AS trimmed, c.epoch FROM kernel.tenant t
  LEFT JOIN kernel.tenant_clock c ON c.tenant_id = t.id WHERE t.id = %(tenant_id)s;

-- name: clocks
SELECT tenant_id, n FROM kernel.tenant_clock ORDER BY tenant_id;

-- name: tail
-- Whole commits, until there are enough changes.
SELECT k.n, c.file_id FROM (
    SELECT n, id, sum(files) OVER (ORDER BY n) - files AS before FROM (
        SELECT t.n, t.id,
               (SELECT count(*) FROM kernel.change c WHERE c.tenant_id = t.tenant_id AND c.tick_id = t.id) AS files
          FROM kernel.tick t WHERE t.tenant_id = %(tenant_id)s AND t.n > %(after)s
         ORDER BY t.n LIMIT %(limit)s) AS ticks) AS k
  JOIN kernel.change c ON c.tenant_id = %(tenant_id)s AND c.tick_id = k.id
 WHERE k.before < %(limit)s
 ORDER BY k.n, c.file_id;

-- name: files_after
SELECT id FROM kernel.file WHERE tenant_id = %(tenant_id)s AND id > %(after)s AND id <= %(upto)s
 ORDER BY id LIMIT %(limit)s;

-- name: documents
SELECT f.id AS file_id, f.acl_id, f.source_id, f.key, f.content_type, f.modified_at, f.title, f.language,
       kernel.authors(s.protocol, r.extractor, f.owner) AS authors
  FROM kernel.file f
  JOIN kernel.source s ON s.tenant_id = f.tenant_id AND s.id = f.source_id
  LEFT JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id
 WHERE f.tenant_id = %(tenant_id)s AND f.id = ANY (%(file_ids)s::bigint[]) ORDER BY f.id;

-- name: chunks
SELECT file_id, id, seq, text, prefix, headings, unit_label, encode(text_hash, 'hex') AS text_hash
  FROM kernel.chunk WHERE tenant_id = %(tenant_id)s AND file_id = ANY (%(file_ids)s::bigint[]) ORDER BY file_id, seq;

-- name: applied
-- The tenant may have been deleted meanwhile.
INSERT INTO kernel.index_node AS i (tenant_id, node, n) SELECT id, %(node)s, %(n)s FROM kernel.tenant
 WHERE id = %(tenant_id)s
ON CONFLICT (tenant_id, node) DO UPDATE SET n = EXCLUDED.n, seen_at = now();

-- name: forget_applied
DELETE FROM kernel.index_node WHERE tenant_id = %(tenant_id)s AND node = %(node)s;

-- name: applied_by
SELECT n FROM kernel.index_node WHERE tenant_id = %(tenant_id)s AND node = %(node)s;

-- name: lag
-- How many commits the slowest index that is still kept has yet to apply.
SELECT COALESCE(max(c.n - i.n), 0) FROM kernel.index_node i JOIN kernel.tenant_clock c USING (tenant_id)
 WHERE i.tenant_id = %(tenant_id)s AND i.seen_at > now() - make_interval(mins => %(minutes)s)
   AND NOT starts_with(i.node, %(embedding)s);

-- name: behind
-- The tenants of which a node's index lacks commits, and how far it is.
SELECT c.tenant_id, COALESCE(i.n, 0) AS n, c.n AS of FROM kernel.tenant_clock c
  LEFT JOIN kernel.index_node i ON i.tenant_id = c.tenant_id AND i.node = %(node)s
 WHERE c.n > COALESCE(i.n, 0);

-- name: forget_nodes
DELETE FROM kernel.index_node WHERE seen_at < now() - make_interval(days => %(days)s);

-- name: trim
-- Below the slowest node; without one, all of it, for a new node begins with a rebuild anyway.
WITH floors AS (
    SELECT c.tenant_id, COALESCE(min(i.n), c.n) AS n FROM kernel.tenant_clock c
      LEFT JOIN kernel.index_node i USING (tenant_id) GROUP BY c.tenant_id
), gone AS (
    DELETE FROM kernel.tick t USING floors f WHERE t.tenant_id = f.tenant_id AND t.n <= f.n
    RETURNING t.tenant_id, t.n
)
UPDATE kernel.tenant_clock c SET trimmed = g.n
  FROM (SELECT tenant_id, max(n) AS n FROM gone GROUP BY tenant_id) AS g
 WHERE c.tenant_id = g.tenant_id AND c.trimmed < g.n;

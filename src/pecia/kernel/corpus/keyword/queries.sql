-- Queries of index writers beside the change log, all in system transactions.

-- name: files
SELECT count(*) AS count, COALESCE(max(id), 0) AS last_id FROM kernel.file WHERE tenant_id = %(tenant_id)s;

-- name: chunk_count
SELECT COALESCE(sum(chunk_count), 0)::bigint FROM kernel.file WHERE tenant_id = %(tenant_id)s;

-- name: tenants
-- Every tenant that ever had a change, or the one of that name, and how far this node's index is.
SELECT t.id, t.name, c.n, i.n AS applied, i.seen_at
  FROM kernel.tenant t
  JOIN kernel.tenant_clock c ON c.tenant_id = t.id
  LEFT JOIN kernel.index_node i ON i.tenant_id = t.id AND i.node = %(node)s
 WHERE %(name)s::text IS NULL OR t.name = %(name)s
 ORDER BY t.name;

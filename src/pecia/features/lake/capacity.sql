-- name: visible_size
-- What the caller may see, counted by ACL class: row-level security has removed the others.
SELECT COALESCE(sum(files), 0)::bigint AS files, COALESCE(sum(chunks), 0)::bigint AS chunks FROM kernel.acl
 WHERE tenant_id = kernel.tenant() AND NOT is_source;

-- name: has_vectors
SELECT kernel.has_vectors() AND kernel.tenant() IS NOT NULL;

-- name: visible_vectors
SELECT count(*) FROM kernel.vector WHERE tenant_id = kernel.tenant();

-- name: clock
SELECT kernel.clock();

-- name: queue
-- The view shows callers their own jobs, and administrators those of the tenant.
SELECT count(*) AS waiting, COALESCE(extract(epoch FROM now() - min(created_at)), 0)::float AS oldest_s
  FROM kernel.jobs_visible WHERE status = 'waiting' AND kernel.tenant() IS NOT NULL;

-- name: quotas
-- What the tenant may hold and holds. Usage counts hidden files too: for administrators.
SELECT k.kind, q.most, COALESCE(u.used, 0)::bigint AS used
  FROM unnest(ARRAY['files', 'bytes', 'chunks', 'model_tokens', 'upstreams']) WITH ORDINALITY AS k (kind, place)
  LEFT JOIN kernel.quota q ON q.tenant_id = kernel.tenant() AND q.kind = k.kind
  LEFT JOIN kernel.usage u ON u.tenant_id = kernel.tenant() AND u.kind = k.kind
 ORDER BY k.place;

-- name: queue
SELECT count(*) FILTER (WHERE status = 'todo') AS waiting,
       count(*) FILTER (WHERE status = 'doing') AS running,
       count(*) FILTER (WHERE status = 'failed') AS failed,
       (SELECT count(*) FROM jobs.procrastinate_workers
         WHERE last_heartbeat > now() - make_interval(secs => %(silent_s)s)) AS workers
  FROM jobs.procrastinate_jobs WHERE status IN ('todo', 'doing', 'failed');

-- name: sources
-- Sources whose last crawl failed, those with files that could not be read, and spaces that fail to sync with their
-- remote.
SELECT t.name AS tenant, s.id AS source_id, c.state = 'failed' AS failed, c.problem, u.files + n.files AS unread
  FROM lake.crawl c
  JOIN kernel.source s ON s.tenant_id = c.tenant_id AND s.id = c.source_id AND s.enabled
  JOIN kernel.tenant t ON t.id = c.tenant_id AND t.status = 'active'
  CROSS JOIN LATERAL (
      SELECT count(*) AS files FROM kernel.file f
       WHERE f.tenant_id = s.tenant_id AND f.source_id = s.id
         AND f.status NOT IN ('ok', 'waiting') AND f.status <> 'empty') AS u
  -- Those whose names the store does not take have no row.
  CROSS JOIN LATERAL (SELECT COALESCE((c.passed ->> 'failed')::bigint, 0) AS files) AS n
 WHERE c.state = 'failed' OR u.files + n.files > 0
UNION ALL
SELECT t.name, r.source_id, true, 'sync with its remote: ' || r.problem, 0
  FROM wiki.remote r
  JOIN kernel.source s ON s.tenant_id = r.tenant_id AND s.id = r.source_id AND s.enabled
  JOIN kernel.tenant t ON t.id = r.tenant_id AND t.status = 'active'
 WHERE r.problem IS NOT NULL
 ORDER BY failed DESC, tenant, source_id;

-- name: index_lag
-- Indexes that have commits to apply, and for how long the oldest of these has waited. Of models that embed,
-- the one that is furthest counts; `done` and `total` are the files of a job that embeds now.
WITH kept AS (
    SELECT tenant_id, 'keyword' AS kind, max(n) AS n FROM kernel.index_node WHERE node = %(node)s GROUP BY tenant_id
    UNION ALL
    SELECT tenant_id, 'semantic', max(n) FROM kernel.index_node WHERE starts_with(node, %(embedding)s) GROUP BY tenant_id
)
SELECT t.name AS tenant, k.kind, c.n - k.n AS commits,
       COALESCE(extract(epoch FROM now() - (SELECT min(at) FROM kernel.tick w WHERE w.tenant_id = k.tenant_id AND w.n > k.n)),
                0)::double precision AS waits_s,
       j.id IS NOT NULL AS is_running, COALESCE(j.done, 0)::bigint AS done, COALESCE(j.total, 0)::bigint AS total
  FROM kept k JOIN kernel.tenant_clock c USING (tenant_id)
  JOIN kernel.tenant t ON t.id = k.tenant_id AND t.status = 'active'
  LEFT JOIN LATERAL (SELECT r.id, r.done, r.total FROM kernel.job r
                       JOIN jobs.procrastinate_jobs q ON q.id = r.id AND q.status = 'doing'
                       JOIN jobs.procrastinate_workers w ON w.id = q.worker_id
                      WHERE r.tenant_id = k.tenant_id AND r.name = %(embed_job)s AND k.kind = 'semantic'
                        AND w.last_heartbeat > now() - make_interval(secs => %(silent_s)s)
                      LIMIT 1) AS j ON true
 WHERE c.n > k.n ORDER BY t.name, k.kind;

-- name: sealed
SELECT t.name AS tenant, s.purpose, s.name, s.key_id, false AS of_source
  FROM kernel.secret s JOIN kernel.tenant t ON t.id = s.tenant_id
UNION ALL
SELECT t.name, 'source', c.source_id, c.key_id, true
  FROM lake.credential c JOIN kernel.tenant t ON t.id = c.tenant_id
 ORDER BY 1, 2, 3;

-- name: temporary_user
INSERT INTO kernel.user_account (tenant_id, name, role) VALUES (%(tenant_id)s, 'doctor', 'admin') RETURNING id;

-- name: temporary_credential
INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes, label)
VALUES (%(tenant_id)s, 'local', %(user_id)s, %(scopes)s, 'a check of the doctor') RETURNING id;

-- name: audited
SELECT count(*) FROM kernel.audit WHERE tenant_id = %(tenant_id)s AND tool = %(tool)s;

-- name: forget_tenant
DELETE FROM kernel.tenant WHERE id = %(tenant_id)s;

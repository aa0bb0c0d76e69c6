-- name: queue
SELECT count(*) FILTER (WHERE status = 'todo') AS waiting,
       count(*) FILTER (WHERE status = 'doing') AS running,
       count(*) FILTER (WHERE status = 'failed') AS failed,
       (SELECT count(*) FROM jobs.procrastinate_workers
         WHERE last_heartbeat > now() - make_interval(secs => %(silent_s)s)) AS workers
  FROM jobs.procrastinate_jobs WHERE status IN ('todo', 'doing', 'failed');

-- name: temporary_user
INSERT INTO kernel.user_account (tenant_id, name, role) VALUES (%(tenant_id)s, 'doctor', 'admin') RETURNING id;

-- name: temporary_credential
INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes, label)
VALUES (%(tenant_id)s, 'local', %(user_id)s, %(scopes)s, 'a check of the doctor') RETURNING id;

-- name: audited
SELECT count(*) FROM kernel.audit WHERE tenant_id = %(tenant_id)s AND tool = %(tool)s;

-- name: forget_tenant
DELETE FROM kernel.tenant WHERE id = %(tenant_id)s;

-- name: tenant
-- Without a lock: the tenant is marked at once, however long its calls take.
SELECT id, status FROM kernel.tenant WHERE name = %(name)s;

-- name: row_counts
SELECT name, row_count FROM kernel.count_tenant_rows(%(tenant_id)s);

-- name: space_folders
SELECT config ->> 'folder' AS folder FROM kernel.source
 WHERE tenant_id = %(tenant_id)s AND protocol = 'wiki' AND config ? 'folder' ORDER BY 1;

-- name: revoke_credentials
UPDATE kernel.credential SET revoked_at = now() WHERE tenant_id = %(tenant_id)s AND revoked_at IS NULL;

-- name: cancel_jobs
-- A waiting job ends now, a running one when its worker notices.
SELECT jobs.procrastinate_cancel_job_v1(j.id, true, false) FROM kernel.job j
  JOIN jobs.procrastinate_jobs q ON q.id = j.id
 WHERE j.tenant_id = %(tenant_id)s AND q.status IN ('todo', 'doing');

-- name: running_jobs
-- Those whose worker is alive.
SELECT count(*) FROM kernel.job j
  JOIN jobs.procrastinate_jobs q ON q.id = j.id
  JOIN jobs.procrastinate_workers w ON w.id = q.worker_id
 WHERE j.tenant_id = %(tenant_id)s AND q.status = 'doing'
   AND w.last_heartbeat > now() - make_interval(secs => %(silent_s)s);

-- name: delete_rows
SELECT kernel.delete_tenant_rows(%(tenant_id)s, %(table)s::regclass, %(most)s);

-- name: delete_tenant
-- Waits for calls that began before the deletion. What they added goes with the tenant's row.
DELETE FROM kernel.tenant WHERE id = %(tenant_id)s AND status = 'deleting';

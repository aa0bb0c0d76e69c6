-- name: defer_job
-- As the caller of the transaction.
SELECT kernel.defer_job(%(name)s, %(key)s, %(queue)s, %(priority)s, %(arguments)s,
                        CASE WHEN %(after_s)s > 0 THEN now() + make_interval(secs => %(after_s)s) END);

-- name: put_job
-- As the system, which names the tenant.
SELECT kernel.put_job(%(tenant_id)s, %(user_id)s, %(name)s, %(key)s, %(queue)s, %(priority)s, %(arguments)s,
                      CASE WHEN %(after_s)s > 0 THEN now() + make_interval(secs => %(after_s)s) END);

-- name: defer_tick
SELECT kernel.defer_tick(%(name)s, %(key)s, %(queue)s, %(priority)s, %(arguments)s, %(tick)s);

-- name: list_jobs
SELECT * FROM kernel.jobs_visible
 WHERE (%(status)s::text IS NULL OR status = %(status)s)
   AND (%(name)s::text IS NULL OR name = %(name)s)
   AND (%(before)s::bigint IS NULL OR id < %(before)s)
 ORDER BY id DESC LIMIT %(limit)s;

-- name: get_job
SELECT * FROM kernel.jobs_visible WHERE id = %(id)s;

-- name: cancel_job
SELECT kernel.cancel_job(%(id)s);

-- name: retry_job
SELECT kernel.retry_job(%(id)s);

-- name: use_schema
-- Procrastinate names its tables bare.
SET search_path = jobs;

-- name: beat
-- No row: the worker was declared dead, and its jobs were given to others.
UPDATE jobs.procrastinate_workers SET last_heartbeat = now() WHERE id = %(worker_id)s RETURNING id;

-- name: start_run
-- Jobs of a suspended tenant wait.
UPDATE kernel.job SET started_at = now(), done = NULL, total = NULL, message = NULL
 WHERE id = %(id)s
RETURNING tenant_id, asked_by[1] AS user_id, forgiven,
          tenant_id IS NULL OR EXISTS (SELECT 1 FROM kernel.tenant t WHERE t.id = tenant_id AND t.status = 'active') AS may_run;

-- name: hold_run
SELECT id, set_config('idle_in_transaction_session_timeout', %(idle)s, true)
  FROM jobs.procrastinate_jobs
 WHERE id = %(id)s AND status = 'doing' AND worker_id = %(worker_id)s AND attempts = %(attempt)s
   FOR KEY SHARE;

-- name: tell_progress
UPDATE kernel.job j SET done = %(done)s, total = %(total)s, message = %(message)s
  FROM jobs.procrastinate_jobs q
 WHERE j.id = %(id)s AND q.id = j.id
   AND q.status = 'doing' AND q.worker_id = %(worker_id)s AND q.attempts = %(attempt)s;

-- name: end_run
SELECT kernel.end_run(%(id)s, %(worker_id)s, %(attempt)s, %(status)s::jobs.procrastinate_job_status, %(problem)s,
                      CASE WHEN %(rest_s)s > 0 THEN now() + make_interval(secs => %(rest_s)s) END, %(counts)s);

-- name: stalled_runs
-- Runs whose worker has no heartbeat. One that is writing at this moment is left for the next poll.
SELECT q.id AS job_id, q.task_name AS name, q.worker_id, q.attempts AS attempt, COALESCE(j.forgiven, 0) AS forgiven
  FROM jobs.procrastinate_jobs q
  LEFT JOIN kernel.job j ON j.id = q.id
  LEFT JOIN jobs.procrastinate_workers w ON w.id = q.worker_id
 WHERE q.status = 'doing' AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => %(stalled_s)s))
   FOR UPDATE OF q SKIP LOCKED;

-- name: forget_workers
-- One of them that wakes up finds itself gone, and begins anew.
DELETE FROM jobs.procrastinate_workers WHERE last_heartbeat < now() - make_interval(secs => %(stalled_s)s);

-- name: hand_back
-- What a worker that leaves has not ended. It does not count as an attempt.
SELECT kernel.end_run(id, worker_id, attempts, 'todo', NULL, NULL, false)
  FROM jobs.procrastinate_jobs WHERE worker_id = %(worker_id)s AND status = 'doing';

-- name: drop_old_jobs
DELETE FROM jobs.procrastinate_jobs WHERE id IN (
    SELECT id FROM kernel.job WHERE finished_at < now() - make_interval(days => %(days)s) LIMIT %(most)s);

-- name: drop_old_audit
-- Tenant by tenant, along the index; then the denials before anyone was known.
DELETE FROM kernel.audit WHERE id IN (
    SELECT old.id FROM kernel.tenant t CROSS JOIN LATERAL (
        SELECT a.id FROM kernel.audit a
         WHERE a.tenant_id = t.id AND a.at < now() - make_interval(days => %(days)s) LIMIT %(most)s) AS old
    UNION ALL
    SELECT a.id FROM kernel.audit a
     WHERE a.tenant_id IS NULL AND a.at < now() - make_interval(days => %(days)s)
    LIMIT %(most)s);

-- name: drop_old_sign_ins
DELETE FROM kernel.credential WHERE id IN (
    SELECT id FROM kernel.credential
     WHERE kind = 'oidc' AND expires_at < now() - make_interval(days => %(days)s) LIMIT %(most)s);

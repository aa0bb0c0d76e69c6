-- Jobs are visible to those who asked for them and to the administrators of their tenant.

CREATE VIEW kernel.jobs_visible WITH (security_barrier) AS
SELECT j.id, j.name, j.key,
       CASE q.status WHEN 'todo' THEN 'waiting' WHEN 'doing' THEN 'running' WHEN 'succeeded' THEN 'done'
                     WHEN 'failed' THEN 'failed' ELSE 'cancelled' END AS status,
       q.status = 'doing' AND q.abort_requested AS stopping,
       q.attempts - j.forgiven + CASE WHEN q.status = 'doing' THEN 1 ELSE 0 END AS attempts,
       j.done, j.total, j.message, j.problem, j.created_at, j.started_at, j.finished_at,
       CASE WHEN q.status = 'todo' THEN q.scheduled_at END AS next_at
  FROM kernel.job j
  JOIN jobs.procrastinate_jobs q ON q.id = j.id
 WHERE j.tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member())
   AND ((SELECT kernel.is_admin()) OR (SELECT kernel.user_id()) = ANY (j.asked_by));

-- Changing one needs the scope as well, and that nobody else asked for it.
CREATE FUNCTION kernel.require_may_change_job(in_id bigint) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM kernel.jobs_visible WHERE id = in_id) THEN
        RAISE EXCEPTION 'no job %', in_id USING ERRCODE = 'PE404';
    END IF;
    IF kernel.may_administer() THEN
        RETURN;
    END IF;
    IF NOT kernel.has_scope('pecia.write') THEN
        RAISE EXCEPTION 'changing a job needs the scope pecia.write' USING ERRCODE = 'PE403';
    END IF;
    IF (SELECT asked_by FROM kernel.job WHERE id = in_id) <> ARRAY[kernel.user_id()] THEN
        RAISE EXCEPTION 'this job is not yours alone; an administrator may change it' USING ERRCODE = 'PE403';
    END IF;
END
$$;

-- A waiting job ends now, a running one when its worker notices. False when it had ended.
CREATE FUNCTION kernel.cancel_job(in_id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    found_id bigint;
BEGIN
    PERFORM kernel.require_may_change_job(in_id);
    found_id := jobs.procrastinate_cancel_job_v1(in_id, true, false);
    UPDATE kernel.job SET finished_at = now()
     WHERE id = found_id
       AND EXISTS (SELECT 1 FROM jobs.procrastinate_jobs WHERE id = found_id AND status = 'cancelled');
    RETURN found_id IS NOT NULL;
END
$$;

-- Queues a failed or cancelled job again, with all its attempts. False when it is neither.
CREATE FUNCTION kernel.retry_job(in_id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    spent integer;
BEGIN
    PERFORM kernel.require_may_change_job(in_id);
    UPDATE jobs.procrastinate_jobs SET status = 'todo', scheduled_at = NULL, abort_requested = false
     WHERE id = in_id AND status IN ('failed', 'cancelled', 'aborted')
    RETURNING attempts INTO spent;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE kernel.job SET forgiven = spent, finished_at = NULL WHERE id = in_id;
    PERFORM kernel.wake_workers(in_id);
    RETURN true;
END
$$;

ALTER VIEW kernel.jobs_visible OWNER TO pecia_system;
GRANT SELECT ON kernel.jobs_visible TO pecia_app;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p
              WHERE p.pronamespace = 'kernel'::regnamespace
                AND p.proname IN ('drop_queued', 'wake_workers', 'put_job', 'join_job', 'defer_job', 'defer_tick',
                                  'end_run', 'move_job', 'require_may_change_job', 'cancel_job', 'retry_job')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO pecia_system', f);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION kernel.defer_job, kernel.cancel_job, kernel.retry_job TO pecia_app;

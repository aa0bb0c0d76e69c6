-- Jobs as callers and workers see them: who asked for them, progress, errors.
--
-- The queue is procrastinate's, in the schema jobs; kernel.job says the rest. A run of a job is fenced
-- by its worker and its attempt, which never come again: who writes in a run holds the queue's row
-- FOR KEY SHARE, who ends a run takes it FOR UPDATE, so no write of a run is left when it has ended.

CREATE TABLE kernel.job (
    id bigint PRIMARY KEY REFERENCES jobs.procrastinate_jobs ON DELETE CASCADE,
    tenant_id uuid REFERENCES kernel.tenant ON DELETE CASCADE,
    name text NOT NULL,
    key text,
    asked_by uuid[] NOT NULL DEFAULT '{}',
    -- Attempts that do not count against the job: handed back by a worker that stopped, or retried by hand.
    forgiven integer NOT NULL DEFAULT 0,
    done double precision,
    total double precision,
    message text CHECK (length(message) <= 1000),
    problem jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX job_of_tenant ON kernel.job (tenant_id, id);
CREATE INDEX job_by_end ON kernel.job (finished_at) WHERE finished_at IS NOT NULL;
CALL kernel.guard('kernel.job');
COMMENT ON TABLE kernel.job IS 'system-only: callers see their jobs through kernel.jobs_visible; pecia_app has no privilege here';

-- A job of a tenant that is deleted leaves the queue too.
CREATE FUNCTION kernel.drop_queued() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    DELETE FROM jobs.procrastinate_jobs WHERE id = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER dropped AFTER DELETE ON kernel.job
    FOR EACH ROW EXECUTE FUNCTION kernel.drop_queued();

-- Procrastinate notifies workers of new jobs only; this notifies them of old ones that may run now.
CREATE FUNCTION kernel.wake_workers(in_id bigint) RETURNS void
LANGUAGE sql SET search_path = kernel, pg_temp AS $$
    SELECT pg_notify(channel, json_build_object('type', 'job_inserted', 'job_id', q.id)::text)
      FROM jobs.procrastinate_jobs q,
           unnest(ARRAY['procrastinate_queue_v1#' || q.queue_name, 'procrastinate_any_queue_v1']) AS channel
     WHERE q.id = in_id
$$;

-- The same work (tenant, name and key) is queued once and runs once at a time.
CREATE FUNCTION kernel.put_job(in_tenant uuid, in_user uuid, in_name text, in_key text, in_queue text,
                               in_priority integer, in_arguments jsonb, in_at timestamptz) RETURNS bigint
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    work text := COALESCE(in_tenant::text, '') || '/' || in_name || '/'
                 || encode(sha256(convert_to(in_key, 'UTF8')), 'hex');
    found_id bigint;
BEGIN
    FOR try IN 1..10 LOOP
        INSERT INTO jobs.procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
        VALUES (in_queue, in_name, in_priority, work, work, in_arguments, in_at)
        ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING
        RETURNING id INTO found_id;
        IF FOUND THEN
            INSERT INTO kernel.job (id, tenant_id, name, key, asked_by)
            VALUES (found_id, in_tenant, in_name, in_key, array_remove(ARRAY[in_user], NULL));
            RETURN found_id;
        END IF;
        -- Held until we commit: it must not start before what we wrote is there to be seen.
        SELECT id INTO found_id FROM jobs.procrastinate_jobs
         WHERE queueing_lock = work AND status = 'todo' FOR KEY SHARE;
        IF FOUND THEN
            PERFORM kernel.join_job(found_id, in_user, in_at);
            RETURN found_id;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the same job came and went too often' USING ERRCODE = 'serialization_failure';
END
$$;

-- One more who asked. A job that waits for its time waits no longer than the most eager one;
-- a job that failed before keeps its back-off.
CREATE FUNCTION kernel.join_job(in_id bigint, in_user uuid, in_at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
BEGIN
    UPDATE kernel.job SET asked_by = asked_by || in_user
     WHERE id = in_id AND in_user IS NOT NULL AND in_user <> ALL (asked_by);
    UPDATE jobs.procrastinate_jobs SET scheduled_at = in_at
     WHERE id = in_id AND attempts = 0 AND scheduled_at > COALESCE(in_at, '-infinity');
    PERFORM kernel.wake_workers(in_id);
END
$$;

-- For callers: tenant and user are those of the transaction, whatever the program believes.
CREATE FUNCTION kernel.defer_job(in_name text, in_key text, in_queue text, in_priority integer,
                                 in_arguments jsonb, in_at timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF kernel.tenant() IS NULL THEN
        RAISE EXCEPTION 'a job needs somebody who asks for it' USING ERRCODE = 'PE401';
    END IF;
    RETURN kernel.put_job(kernel.tenant(), kernel.user_id(), in_name, in_key, in_queue, in_priority, in_arguments, in_at);
END
$$;

-- One job for each tick of a schedule, however many workers see it pass. NULL when it was there.
CREATE FUNCTION kernel.defer_tick(in_name text, in_key text, in_queue text, in_priority integer,
                                  in_arguments jsonb, in_tick bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    made bigint;
BEGIN
    INSERT INTO jobs.procrastinate_periodic_defers (task_name, defer_timestamp)
    SELECT in_name, in_tick
     WHERE NOT EXISTS (SELECT 1 FROM jobs.procrastinate_periodic_defers
                        WHERE task_name = in_name AND defer_timestamp >= in_tick)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    DELETE FROM jobs.procrastinate_periodic_defers WHERE task_name = in_name AND defer_timestamp < in_tick;
    made := kernel.put_job(NULL, NULL, in_name, in_key, in_queue, in_priority, in_arguments, NULL);
    UPDATE jobs.procrastinate_periodic_defers SET job_id = made WHERE task_name = in_name AND defer_timestamp = in_tick;
    RETURN made;
END
$$;

-- The one way a run ends: for good, or back into the queue. False when the run was lost before.
CREATE FUNCTION kernel.end_run(in_id bigint, in_worker bigint, in_attempt integer,
                               in_status jobs.procrastinate_job_status, in_problem jsonb,
                               in_at timestamptz, in_counts boolean) RETURNS boolean
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    running jobs.procrastinate_jobs;
    ending jobs.procrastinate_job_status := in_status;
    why jsonb := in_problem;
BEGIN
    SELECT * INTO running FROM jobs.procrastinate_jobs
     WHERE id = in_id AND status = 'doing' AND worker_id IS NOT DISTINCT FROM in_worker AND attempts = in_attempt
       FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF in_status = 'todo' AND running.abort_requested THEN
        ending := 'aborted';
    END IF;
    BEGIN
        PERFORM kernel.move_job(in_id, ending, in_at);
    EXCEPTION WHEN unique_violation THEN
        -- The same work was asked for again while this ran, and waits: that job will do it.
        ending := 'cancelled';
        why := jsonb_build_object('code', 'CONFLICT', 'message', 'the same work waits in another job');
        PERFORM kernel.move_job(in_id, ending, NULL);
    END;
    UPDATE kernel.job
       SET forgiven = forgiven + CASE WHEN in_counts THEN 0 ELSE 1 END,
           problem = CASE WHEN in_counts OR ending = 'cancelled' THEN why ELSE problem END,
           finished_at = CASE WHEN ending <> 'todo' THEN now() END
     WHERE id = in_id;
    RETURN true;
END
$$;

CREATE FUNCTION kernel.move_job(in_id bigint, in_status jobs.procrastinate_job_status, in_at timestamptz)
RETURNS void LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
BEGIN
    UPDATE jobs.procrastinate_jobs
       SET status = in_status, attempts = attempts + 1, scheduled_at = in_at, abort_requested = false, worker_id = NULL
     WHERE id = in_id;
    IF in_status = 'todo' THEN
        PERFORM kernel.wake_workers(in_id);
    END IF;
END
$$;

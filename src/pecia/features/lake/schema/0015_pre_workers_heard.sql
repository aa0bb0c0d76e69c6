-- How long ago a worker was last heard of, in seconds; NULL where none runs. Without one, no change in a
-- source is noticed and no crawl begins, whatever the last crawl said.
CREATE FUNCTION lake.worker_silence() RETURNS double precision
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT extract(epoch FROM now() - max(last_heartbeat))::double precision FROM jobs.procrastinate_workers
$$;
ALTER FUNCTION lake.worker_silence OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.worker_silence FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.worker_silence TO pecia_app, pecia_system;

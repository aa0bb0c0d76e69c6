-- The status of a source and of its files, for its owners: it names hidden files too.

CREATE FUNCTION lake.file_counts_of(in_source text)
RETURNS TABLE (status text, files bigint, chunks bigint, size_bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT f.status, count(*), sum(f.chunk_count), COALESCE(sum(f.size_bytes), 0)::bigint FROM kernel.file f
     WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND kernel.owns(in_source)
     GROUP BY f.status
$$;

-- "Unread" means the same wherever it is counted or listed: a file with content that could not be read. An empty
-- file has been read; it is listed only when asked for by its status. A file that the last listing could not take,
-- for its name or because its place could not be read, has no row of its own: the status of its kind is 'skipped'.
CREATE FUNCTION lake.skipped_of(in_source text)
RETURNS TABLE (key text, reason text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT it ->> 'key', it ->> 'reason'
      FROM lake.crawl c CROSS JOIN LATERAL jsonb_array_elements(COALESCE(c.passed -> 'first', '[]')) AS it
     WHERE c.tenant_id = kernel.tenant() AND c.source_id = in_source AND it -> 'failed' = 'true'
       AND kernel.owns(in_source)
$$;
ALTER FUNCTION lake.skipped_of OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.skipped_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.skipped_of TO pecia_app, pecia_system;

CREATE FUNCTION lake.reasons_of(in_source text, in_most integer)
RETURNS TABLE (status text, reason text, files bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT u.status, u.reason, sum(u.files)::bigint FROM (
        SELECT f.status, f.reason, count(*) AS files FROM kernel.file f
         WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.status NOT IN ('ok', 'waiting')
           AND f.status <> 'empty' AND kernel.owns(in_source)
         GROUP BY f.status, f.reason
        UNION ALL
        SELECT 'skipped', s.reason, count(*) FROM lake.skipped_of(in_source) s GROUP BY s.reason) AS u
     GROUP BY u.status, u.reason ORDER BY sum(u.files) DESC, u.status, u.reason LIMIT in_most
$$;

CREATE FUNCTION lake.unread_of(in_source text, in_status text, in_after text, in_most integer)
RETURNS TABLE (key text, status text, reason text, size_bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT u.key, u.status, u.reason, u.size_bytes FROM (
        SELECT f.key, f.status, f.reason, f.size_bytes FROM kernel.file f
         WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.status NOT IN ('ok', 'waiting')
           AND f.key > in_after COLLATE "C" AND f.status = COALESCE(in_status, f.status)
           AND (in_status = 'empty' OR f.status <> 'empty') AND kernel.owns(in_source)
        UNION ALL
        SELECT s.key, 'skipped', s.reason, NULL FROM lake.skipped_of(in_source) s
         WHERE s.key > in_after COLLATE "C" AND COALESCE(in_status, 'skipped') = 'skipped') AS u
     ORDER BY u.key COLLATE "C" LIMIT in_most
$$;

ALTER FUNCTION lake.file_counts_of OWNER TO pecia_system;
ALTER FUNCTION lake.reasons_of OWNER TO pecia_system;
ALTER FUNCTION lake.unread_of OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.file_counts_of, lake.reasons_of, lake.unread_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.file_counts_of, lake.reasons_of, lake.unread_of TO pecia_app, pecia_system;

-- How many commits the slowest live keyword index has yet to apply until it finds what the last crawl of a source read;
-- all, where none has begun. Later commits of others do not count, or it would never be 0 where much is written.
CREATE FUNCTION lake.index_lag(in_source text, in_minutes integer, in_embedding_prefix text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE(max(GREATEST(COALESCE(w.ended_n, c.n) - COALESCE(i.n, 0), 0)), 0) FROM kernel.tenant_clock c
      LEFT JOIN lake.crawl w ON w.tenant_id = c.tenant_id AND w.source_id = in_source AND w.state = 'done'
      LEFT JOIN kernel.index_node i ON i.tenant_id = c.tenant_id AND NOT starts_with(i.node, in_embedding_prefix)
       AND i.seen_at > now() - make_interval(mins => in_minutes)
     WHERE c.tenant_id = kernel.tenant()
$$;
ALTER FUNCTION lake.index_lag OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.index_lag FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.index_lag TO pecia_app, pecia_system;

-- The condition of a source from its files and its last crawl together: a file that could not be read is not read
-- again while it is unchanged, so the last crawl alone does not show it.

CREATE FUNCTION lake.condition_of(in_sources text[], in_minutes integer, in_embedding_prefix text)
RETURNS TABLE (source_id text, condition text, unread bigint, problem text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT s.id,
           CASE WHEN c.state IS NULL THEN 'never_crawled'
                WHEN c.state IN ('waiting', 'listing', 'reading') THEN 'crawling'
                WHEN c.state IN ('failed', 'stopped') THEN c.state
                WHEN u.files + n.files > 0 THEN 'incomplete'
                WHEN lake.index_lag(s.id, in_minutes, in_embedding_prefix) > 0 THEN 'indexing'
                ELSE 'up_to_date' END,
           u.files + n.files, COALESCE(c.problem, '')
      FROM kernel.source s
      LEFT JOIN lake.crawl c ON c.tenant_id = s.tenant_id AND c.source_id = s.id
      CROSS JOIN LATERAL (
          SELECT count(*) AS files FROM kernel.file f
           WHERE f.tenant_id = s.tenant_id AND f.source_id = s.id
             AND f.status NOT IN ('ok', 'waiting') AND f.status <> 'empty') AS u
      CROSS JOIN LATERAL (SELECT COALESCE((c.passed ->> 'failed')::bigint, 0) AS files) AS n
     WHERE s.tenant_id = kernel.tenant() AND s.id = ANY (in_sources) AND kernel.owns(s.id)
       AND (c.state IS NOT NULL OR s.config ? 'origin' OR s.config ? 'folder')
$$;
ALTER FUNCTION lake.condition_of OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.condition_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.condition_of TO pecia_app, pecia_system;

-- The sources whose files are not all read, of those whose status is the caller's to know: which are being crawled,
-- and which never were. How many files wait is not said: some of them may be hidden.
CREATE FUNCTION lake.unread_sources(in_source text) RETURNS TABLE (source_id text, is_crawling boolean, config jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT s.id, c.state IS NOT NULL, s.config
      FROM kernel.source s
      LEFT JOIN lake.crawl c ON c.tenant_id = s.tenant_id AND c.source_id = s.id
     WHERE s.tenant_id = kernel.tenant() AND (in_source IS NULL OR s.id = in_source) AND kernel.owns(s.id)
       AND (c.state IN ('waiting', 'listing', 'reading')
            OR c.state IS NULL AND s.enabled AND s.protocol <> 'upload' AND (s.config ? 'origin' OR s.config ? 'folder')
               AND NOT EXISTS (SELECT 1 FROM kernel.file f WHERE f.tenant_id = s.tenant_id AND f.source_id = s.id))
     ORDER BY s.id
$$;
ALTER FUNCTION lake.unread_sources OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.unread_sources FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.unread_sources TO pecia_app, pecia_system;

-- Seconds since the last heartbeat of a worker; NULL where none runs. Without one, no change is noticed and no
-- crawl starts.
CREATE FUNCTION lake.worker_silence() RETURNS double precision
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT extract(epoch FROM now() - max(last_heartbeat))::double precision FROM jobs.procrastinate_workers
$$;
ALTER FUNCTION lake.worker_silence OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.worker_silence FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.worker_silence TO pecia_app, pecia_system;

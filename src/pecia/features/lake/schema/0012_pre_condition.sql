-- How a source is, for those who own it: by its files and its last crawl together. A file that could not be
-- read is not read again while it stays as it is, so the last crawl alone says nothing of it.

CREATE FUNCTION lake.condition_of(in_sources text[])
RETURNS TABLE (source_id text, condition text, unread bigint, problem text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT s.id,
           CASE WHEN c.state IS NULL THEN 'never_crawled'
                WHEN c.state IN ('waiting', 'listing', 'reading') THEN 'crawling'
                WHEN c.state IN ('failed', 'stopped') THEN c.state
                WHEN u.files > 0 THEN 'incomplete'
                ELSE 'up_to_date' END,
           u.files, COALESCE(c.problem, '')
      FROM kernel.source s
      LEFT JOIN lake.crawl c ON c.tenant_id = s.tenant_id AND c.source_id = s.id
      CROSS JOIN LATERAL (
          SELECT count(*) AS files FROM kernel.file f
           WHERE f.tenant_id = s.tenant_id AND f.source_id = s.id
             AND f.status NOT IN ('ok', 'waiting') AND f.status <> 'empty') AS u
     WHERE s.tenant_id = kernel.tenant() AND s.id = ANY (in_sources) AND kernel.owns(s.id)
       AND (c.state IS NOT NULL OR s.config ? 'origin' OR s.config ? 'folder')
$$;
ALTER FUNCTION lake.condition_of OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.condition_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.condition_of TO pecia_app, pecia_system;

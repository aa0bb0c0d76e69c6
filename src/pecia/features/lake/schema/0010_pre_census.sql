-- What became of the files of a source, for those who own it: names of hidden files are among them.

CREATE FUNCTION lake.census_of(in_source text)
RETURNS TABLE (status text, files bigint, chunks bigint, size_bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT f.status, count(*), sum(f.chunk_count), COALESCE(sum(f.size_bytes), 0)::bigint FROM kernel.file f
     WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND kernel.owns(in_source)
     GROUP BY f.status
$$;

CREATE FUNCTION lake.reasons_of(in_source text, in_most integer)
RETURNS TABLE (status text, reason text, files bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT f.status, f.reason, count(*) FROM kernel.file f
     WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.status NOT IN ('ok', 'waiting')
       AND kernel.owns(in_source)
     GROUP BY f.status, f.reason ORDER BY count(*) DESC, f.status, f.reason LIMIT in_most
$$;

CREATE FUNCTION lake.unread_of(in_source text, in_status text, in_after text, in_most integer)
RETURNS TABLE (key text, status text, reason text, size_bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT f.key, f.status, f.reason, f.size_bytes FROM kernel.file f
     WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.status NOT IN ('ok', 'waiting')
       AND f.key > in_after COLLATE "C" AND (in_status IS NULL OR f.status = in_status) AND kernel.owns(in_source)
     ORDER BY f.key LIMIT in_most
$$;

ALTER FUNCTION lake.census_of OWNER TO pecia_system;
ALTER FUNCTION lake.reasons_of OWNER TO pecia_system;
ALTER FUNCTION lake.unread_of OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.census_of, lake.reasons_of, lake.unread_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.census_of, lake.reasons_of, lake.unread_of TO pecia_app, pecia_system;

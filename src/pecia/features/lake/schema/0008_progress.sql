-- How many chunks of a source have a vector of a model, for its owners. NULL where the database holds no vectors, or
-- the source wants none.

CREATE FUNCTION lake.embedded_of(in_source text, in_model text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    counted bigint;
BEGIN
    IF NOT kernel.has_vectors() OR NOT kernel.owns(in_source) OR EXISTS (
        SELECT 1 FROM kernel.source s
         WHERE s.tenant_id = kernel.tenant() AND s.id = in_source AND s.config -> 'hybrid' = 'false')
    THEN
        RETURN NULL;
    END IF;
    EXECUTE 'SELECT count(*) FROM kernel.file f
               JOIN kernel.vector v ON v.tenant_id = f.tenant_id AND v.file_id = f.id AND v.model = $2
              WHERE f.tenant_id = kernel.tenant() AND f.source_id = $1'
       INTO counted USING in_source, in_model;
    RETURN counted;
END
$$;
ALTER FUNCTION lake.embedded_of OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.embedded_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.embedded_of TO pecia_app, pecia_system;

-- How many commits of the caller's tenant the slowest live keyword index has yet to apply; all, where none has begun.
CREATE FUNCTION lake.index_lag(in_minutes integer, in_embedding_prefix text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE(max(c.n - COALESCE(i.n, 0)), 0) FROM kernel.tenant_clock c
      LEFT JOIN kernel.index_node i ON i.tenant_id = c.tenant_id AND NOT starts_with(i.node, in_embedding_prefix)
       AND i.seen_at > now() - make_interval(mins => in_minutes)
     WHERE c.tenant_id = kernel.tenant()
$$;
ALTER FUNCTION lake.index_lag OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.index_lag FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.index_lag TO pecia_app, pecia_system;

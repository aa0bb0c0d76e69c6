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

-- A source that is left out of search by meaning keeps no vector; one that comes back gets them anew.

CREATE FUNCTION lake.set_hybrid(in_source text, in_on boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_govern(in_source) THEN
        RAISE EXCEPTION 'this needs the role owner and the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    IF in_on THEN
        -- The job that embeds begins anew, and finds what has no vector.
        DELETE FROM kernel.index_node WHERE tenant_id = kernel.tenant() AND starts_with(node, 'embedding:');
    ELSIF kernel.has_vectors() THEN
        EXECUTE 'DELETE FROM kernel.vector v USING kernel.file f
                  WHERE v.tenant_id = $1 AND f.tenant_id = $1 AND f.source_id = $2 AND v.file_id = f.id'
            USING kernel.tenant(), in_source;
    END IF;
END
$$;
ALTER FUNCTION lake.set_hybrid OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.set_hybrid FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.set_hybrid TO pecia_app, pecia_system;

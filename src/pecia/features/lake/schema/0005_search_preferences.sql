-- Semantic search, switched on or off for a source or a tenant. A source without it has no vectors; switched on
-- again, it is embedded again.

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

-- Search preferences of a tenant. Without a row the defaults hold.

CREATE TABLE lake.preference (
    tenant_id uuid PRIMARY KEY REFERENCES kernel.tenant ON DELETE CASCADE,
    hybrid boolean NOT NULL DEFAULT true
);
CALL kernel.guard('lake.preference');
COMMENT ON TABLE lake.preference IS 'system-only: callers ask lake.hybrid_enabled(); pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.preference TO pecia_system;

-- Whether the caller's tenant has semantic search switched on.
CREATE FUNCTION lake.hybrid_enabled() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE((SELECT hybrid FROM lake.preference WHERE tenant_id = kernel.tenant()), true)
$$;

CREATE FUNCTION lake.set_preference(in_hybrid boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_administer() THEN
        RAISE EXCEPTION 'this needs an administrator and the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    INSERT INTO lake.preference (tenant_id, hybrid) VALUES (kernel.tenant(), in_hybrid)
    ON CONFLICT (tenant_id) DO UPDATE SET hybrid = EXCLUDED.hybrid;
END
$$;
ALTER FUNCTION lake.set_preference OWNER TO pecia_system;
ALTER FUNCTION lake.hybrid_enabled OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.set_preference, lake.hybrid_enabled FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.set_preference, lake.hybrid_enabled TO pecia_app, pecia_system;

-- What a tenant wants of all its searches. Without a row everything is as it comes.

CREATE TABLE lake.preference (
    tenant_id uuid PRIMARY KEY REFERENCES kernel.tenant ON DELETE CASCADE,
    hybrid boolean NOT NULL DEFAULT true
);
CALL kernel.guard('lake.preference');
COMMENT ON TABLE lake.preference IS 'system-only: callers ask lake.by_meaning(); pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.preference TO pecia_system;

-- Whether the tenant of the caller wants search by meaning.
CREATE FUNCTION lake.by_meaning() RETURNS boolean
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
ALTER FUNCTION lake.by_meaning OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.set_preference, lake.by_meaning FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.set_preference, lake.by_meaning TO pecia_app, pecia_system;

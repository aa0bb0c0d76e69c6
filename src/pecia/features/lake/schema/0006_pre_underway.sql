-- The files that take long to read, while they are read: how many of their pages are done.

-- Rows come and go with the reading, and nothing is lost with them.
CREATE UNLOGGED TABLE lake.underway (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    pages_read integer NOT NULL,
    pages integer NOT NULL,
    told_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('lake.underway');
COMMENT ON TABLE lake.underway IS 'system-only: names hidden files too; owners ask lake.underway_of, pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.underway TO pecia_system;

-- What was told lately: a reader that died left a row that says nothing any more. To store a long file takes a while too.
CREATE FUNCTION lake.underway_of(in_source text) RETURNS SETOF lake.underway
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT * FROM lake.underway
     WHERE tenant_id = kernel.tenant() AND source_id = in_source AND kernel.owns(in_source)
       AND told_at > now() - interval '5 minutes'
     ORDER BY key
$$;
ALTER FUNCTION lake.underway_of OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.underway_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.underway_of TO pecia_app, pecia_system;

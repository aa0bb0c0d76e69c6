-- What the sources of each tenant may open on this server beyond the public web, as its operator gave it.
-- A folder is kept as its real path; a host as `host`, `host:port`, an address or a network.

CREATE TABLE lake.reach (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('folder', 'host')),
    value text COLLATE "C" NOT NULL CHECK (length(value) BETWEEN 1 AND 4096),
    PRIMARY KEY (tenant_id, kind, value)
);
CALL kernel.guard('lake.reach');
COMMENT ON TABLE lake.reach IS 'system-only: paths and hosts of the operator''s machines; pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.reach TO pecia_system;

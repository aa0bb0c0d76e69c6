-- The allowlist of a tenant, given by the operator: folders and hosts that its sources may read beyond the public
-- web, and roots below which its administrators may create spaces. A folder is stored as its real path; a host as
-- `host`, `host:port`, an address or a network.

CREATE TABLE lake.allowlist (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('folder', 'host', 'space-root')),
    value text COLLATE "C" NOT NULL CHECK (length(value) BETWEEN 1 AND 4096),
    PRIMARY KEY (tenant_id, kind, value)
);
CALL kernel.guard('lake.allowlist');
COMMENT ON TABLE lake.allowlist IS 'system-only: paths and hosts of the operator''s machines; pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.allowlist TO pecia_system;

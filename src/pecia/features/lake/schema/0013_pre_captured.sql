-- The rights of a file as its place last had them: what they were when they were captured. A file whose folders were
-- opened or closed since then is as it was, and is not read again for it.

CREATE TABLE lake.captured (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    rights text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id, key) REFERENCES kernel.file (tenant_id, source_id, key) ON DELETE CASCADE
);
CALL kernel.guard('lake.captured');
COMMENT ON TABLE lake.captured IS 'system-only: names hidden files too; pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.captured TO pecia_system;

-- Originals that a worker fetched for a server, which has no credentials. Deleted when they were read.
CREATE UNLOGGED TABLE lake.delivery (
    id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'ready', 'gone', 'failed')),
    problem text NOT NULL DEFAULT '',
    asked_at timestamptz NOT NULL DEFAULT now(),
    -- Why it failed, as a stable code.
    code text NOT NULL DEFAULT ''
);
CALL kernel.guard('lake.delivery');
COMMENT ON TABLE lake.delivery IS 'system-only: asked for after the rights were checked; pecia_app has no privilege here';
CREATE INDEX delivery_of_tenant ON lake.delivery (tenant_id, asked_at);

CREATE UNLOGGED TABLE lake.delivery_part (
    delivery_id uuid NOT NULL REFERENCES lake.delivery ON DELETE CASCADE,
    tenant_id uuid NOT NULL,
    n integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (delivery_id, n)
);
CALL kernel.guard('lake.delivery_part');
COMMENT ON TABLE lake.delivery_part IS 'system-only: the bytes of a delivery; pecia_app has no privilege here';

GRANT SELECT, INSERT, UPDATE, DELETE ON lake.delivery, lake.delivery_part TO pecia_system;

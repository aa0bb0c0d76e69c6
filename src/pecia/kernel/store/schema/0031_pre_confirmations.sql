-- What waits for a person's yes: who asked for it, in which words, and the digest of exactly that. A yes is for
-- one act of one user, is spent by it, and ends by itself.
CREATE TABLE kernel.confirmation (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 8 AND 40),
    user_id uuid NOT NULL,
    tool text COLLATE "C" NOT NULL CHECK (length(tool) <= 200),
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('folder', 'program', 'tools')),
    question text NOT NULL CHECK (length(question) <= 20000),
    digest bytea NOT NULL CHECK (length(digest) = 32),
    asked_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    confirmed_at timestamptz,
    confirmed_by uuid,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, user_id, digest),
    FOREIGN KEY (tenant_id, user_id) REFERENCES kernel.user_account (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('kernel.confirmation');
COMMENT ON TABLE kernel.confirmation IS 'system-only: a tool asks and spends, a person answers elsewhere; no caller reads or writes a row of its own accord';

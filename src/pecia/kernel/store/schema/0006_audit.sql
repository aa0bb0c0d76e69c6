-- Audit log, sealed secrets, quotas and usage, confirmations.

-- One row per call, however it ended. A row without a tenant: refused before authentication, or an operator's.
CREATE TABLE kernel.audit (
    id uuid PRIMARY KEY,
    tenant_id uuid REFERENCES kernel.tenant ON DELETE CASCADE,
    at timestamptz NOT NULL,
    user_id uuid,
    credential_id uuid,
    tool text NOT NULL,
    interface text NOT NULL,
    arguments jsonb NOT NULL DEFAULT '{}',
    sources text[] NOT NULL DEFAULT '{}',
    keys text[] NOT NULL DEFAULT '{}',
    row_count integer NOT NULL DEFAULT 0,
    status text NOT NULL CHECK (status IN ('ok', 'error', 'denied', 'cancelled', 'crashed', 'interrupted')),
    code text,
    client_ip text,
    request_id text,
    duration_us bigint
);
CREATE INDEX audit_by_time ON kernel.audit (tenant_id, at DESC, id);
CREATE INDEX audit_by_tool ON kernel.audit (tenant_id, tool, at DESC);
CREATE INDEX audit_by_user ON kernel.audit (tenant_id, user_id, at DESC);

CALL kernel.guard('kernel.audit');
CREATE POLICY see ON kernel.audit FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member())
           AND (user_id = (SELECT kernel.user_id()) OR (SELECT kernel.is_admin())));
CREATE POLICY add ON kernel.audit FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant())
                AND user_id IS NOT DISTINCT FROM (SELECT kernel.user_id())
                AND credential_id = (SELECT kernel.credential_id()));
GRANT SELECT, INSERT ON kernel.audit TO pecia_app;

-- Sealed credentials of sources and upstream servers. pecia_app cannot read the sealed bytes.
CREATE TABLE kernel.secret (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    purpose text NOT NULL CHECK (purpose IN ('source', 'upstream')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, purpose, name)
);
CALL kernel.guard('kernel.secret');
CREATE POLICY see ON kernel.secret FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_admin()));
CREATE POLICY add ON kernel.secret FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
CREATE POLICY change ON kernel.secret FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()));
CREATE POLICY remove ON kernel.secret FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
GRANT SELECT (tenant_id, purpose, name, key_id, updated_at), DELETE,
    INSERT (tenant_id, purpose, name, key_id, nonce, ciphertext),
    UPDATE (key_id, nonce, ciphertext, updated_at) ON kernel.secret TO pecia_app;

CREATE TABLE kernel.quota (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('files', 'bytes', 'chunks', 'model_tokens', 'upstreams')),
    most bigint NOT NULL CHECK (most >= 0),
    PRIMARY KEY (tenant_id, kind)
);
CREATE TABLE kernel.usage (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('files', 'bytes', 'chunks', 'model_tokens', 'upstreams')),
    used bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, kind)
);
CALL kernel.guard('kernel.quota');
CREATE POLICY see ON kernel.quota FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member()));
GRANT SELECT ON kernel.quota TO pecia_app;
-- Usage counts files that a caller may not see, so only administrators see it.
CALL kernel.guard('kernel.usage');
CREATE POLICY see ON kernel.usage FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_admin()));
GRANT SELECT ON kernel.usage TO pecia_app;

-- Checked where usage grows, in the same transaction, so that two writers cannot both take the last unit.
CREATE FUNCTION kernel.keep_quota() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    allowed bigint := (SELECT most FROM kernel.quota WHERE tenant_id = NEW.tenant_id AND kind = NEW.kind);
BEGIN
    IF NEW.used > allowed AND (TG_OP = 'INSERT' OR NEW.used > OLD.used) THEN
        RAISE EXCEPTION '%', NEW.kind USING ERRCODE = 'PE429', DETAIL = allowed || ' ' || NEW.used;
    END IF;
    RETURN NULL;
END
$$;
ALTER FUNCTION kernel.keep_quota OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.keep_quota FROM PUBLIC;
CREATE TRIGGER kept AFTER INSERT OR UPDATE ON kernel.usage
    FOR EACH ROW EXECUTE FUNCTION kernel.keep_quota();

-- Actions that wait for a person's approval: who asked, the question, and the digest of exactly that action. An
-- approval is for one action of one user, is used up by it, and expires.
CREATE TABLE kernel.confirmation (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 8 AND 40),
    user_id uuid NOT NULL,
    tool text COLLATE "C" NOT NULL CHECK (length(tool) <= 200),
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('folder', 'program', 'remote', 'removal', 'tools')),
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

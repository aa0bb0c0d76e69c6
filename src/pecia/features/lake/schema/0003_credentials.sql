-- Credentials of sources, sealed with a public key: a server can store one, and only a worker, which has the private
-- key, can use it.

CREATE TABLE lake.credential (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, source_id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('lake.credential');
COMMENT ON TABLE lake.credential IS 'system-only: sealed, and opened by workers alone; pecia_app has no privilege here';

-- The public keys of workers. The latest is the one to seal with.
CREATE TABLE lake.sealing_key (
    key_id text PRIMARY KEY,
    public bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE lake.sealing_key IS 'untenanted: public keys, which open nothing; read-only for pecia_app';
GRANT SELECT ON lake.sealing_key TO pecia_app;

CREATE FUNCTION lake.set_credential(in_source text, in_key_id text, in_nonce bytea, in_ciphertext bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_govern(in_source) THEN
        RAISE EXCEPTION 'a credential is set by an owner with the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    INSERT INTO lake.credential (tenant_id, source_id, key_id, nonce, ciphertext)
    VALUES (kernel.tenant(), in_source, in_key_id, in_nonce, in_ciphertext)
    ON CONFLICT (tenant_id, source_id) DO UPDATE
        SET key_id = in_key_id, nonce = in_nonce, ciphertext = in_ciphertext, updated_at = now();
END
$$;

CREATE FUNCTION lake.drop_credential(in_source text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_govern(in_source) THEN
        RAISE EXCEPTION 'a credential is removed by an owner with the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    DELETE FROM lake.credential WHERE tenant_id = kernel.tenant() AND source_id = in_source;
    RETURN FOUND;
END
$$;

ALTER FUNCTION lake.set_credential OWNER TO pecia_system;
ALTER FUNCTION lake.drop_credential OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.set_credential, lake.drop_credential FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.set_credential, lake.drop_credential TO pecia_app, pecia_system;

GRANT SELECT, INSERT, UPDATE, DELETE ON lake.credential, lake.sealing_key TO pecia_system;

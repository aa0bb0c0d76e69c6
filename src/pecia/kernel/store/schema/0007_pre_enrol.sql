-- A verified token of an issuer becomes a credential; its user is made at first sight.
--
-- The subject at the issuer is who somebody is. An e-mail address in the token is a name under which
-- files may have been granted; it never finds a user, so that an issuer cannot hand out another's account.

CREATE FUNCTION kernel.enrol(in_tenant uuid, in_name text, kinds text[], scopes_of text[], vals text[],
                             in_hash bytea, in_scopes text[], in_expires_at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    subject integer := kernel.intern_in(in_tenant, kinds[1], scopes_of[1], vals[1]);
    who uuid := (SELECT user_id FROM kernel.user_principal
                  WHERE tenant_id = in_tenant AND principal_id = subject);
    asserted integer[] := ARRAY(SELECT kernel.intern_in(in_tenant, k, s, v) FROM unnest(kinds, scopes_of, vals) AS p (k, s, v));
BEGIN
    IF who IS NULL THEN
        INSERT INTO kernel.user_account (tenant_id, name)
        VALUES (in_tenant, CASE WHEN EXISTS (SELECT 1 FROM kernel.user_account WHERE tenant_id = in_tenant AND name = in_name)
                                THEN left(in_name, 150) || ' ' || gen_random_uuid() ELSE left(in_name, 200) END)
        RETURNING id INTO who;
        INSERT INTO kernel.user_principal (tenant_id, user_id, principal_id) VALUES (in_tenant, who, subject);
    END IF;
    INSERT INTO kernel.credential AS c (tenant_id, kind, user_id, hash, scopes, claims, expires_at, label)
    VALUES (in_tenant, 'oidc', who, in_hash, in_scopes, asserted, in_expires_at, 'signed in')
    ON CONFLICT (hash) DO NOTHING;
END
$$;
REVOKE ALL ON FUNCTION kernel.enrol FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.enrol TO pecia_system;

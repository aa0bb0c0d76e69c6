-- Policies of users, groups and credentials, and how users, groups and tenants are created.
--
-- Members see the users and groups of their tenant, and who is in the groups that they are in.
-- Only administrators change them. A credential is visible to its user and to administrators; no
-- caller reads a hash.

CREATE PROCEDURE kernel.guard(guarded regclass) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', guarded);
    EXECUTE format('CREATE POLICY system_all ON %s TO pecia_system USING (true) WITH CHECK (true)', guarded);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO pecia_system', guarded);
END
$$;
COMMENT ON PROCEDURE kernel.guard IS 'Every table with a tenant_id calls this, then states its own policies for pecia_app.';

CALL kernel.guard('kernel.tenant');
CREATE POLICY see ON kernel.tenant FOR SELECT TO pecia_app
    USING (id = (SELECT kernel.tenant()));
GRANT SELECT ON kernel.tenant TO pecia_app;

CALL kernel.guard('kernel.principal');
CREATE POLICY see ON kernel.principal FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member()));
GRANT SELECT ON kernel.principal TO pecia_app;

CALL kernel.guard('kernel.user_account');
CREATE POLICY see ON kernel.user_account FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member()));
CREATE POLICY add ON kernel.user_account FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
CREATE POLICY change ON kernel.user_account FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()));
CREATE POLICY remove ON kernel.user_account FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
GRANT SELECT, INSERT, UPDATE (name, role, status), DELETE ON kernel.user_account TO pecia_app;

CALL kernel.guard('kernel.user_principal');
CREATE POLICY see ON kernel.user_principal FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant())
           AND (user_id = (SELECT kernel.user_id()) OR (SELECT kernel.is_admin())));
CREATE POLICY add ON kernel.user_principal FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
CREATE POLICY remove ON kernel.user_principal FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
GRANT SELECT, INSERT, DELETE ON kernel.user_principal TO pecia_app;

CALL kernel.guard('kernel.user_group');
CREATE POLICY see ON kernel.user_group FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member()));
CREATE POLICY add ON kernel.user_group FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
CREATE POLICY change ON kernel.user_group FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()));
CREATE POLICY remove ON kernel.user_group FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
GRANT SELECT, INSERT, UPDATE (name), DELETE ON kernel.user_group TO pecia_app;

CALL kernel.guard('kernel.group_member');
CREATE POLICY see ON kernel.group_member FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member())
           AND ((SELECT kernel.is_admin())
                OR EXISTS (SELECT 1 FROM kernel.user_group g
                            WHERE g.tenant_id = group_member.tenant_id AND g.id = group_member.group_id
                              AND g.principal_id = ANY ((SELECT kernel.me())::integer[]))));
CREATE POLICY add ON kernel.group_member FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
CREATE POLICY remove ON kernel.group_member FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
GRANT SELECT, INSERT, DELETE ON kernel.group_member TO pecia_app;

CALL kernel.guard('kernel.credential');
CREATE POLICY see ON kernel.credential FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member())
           AND (user_id = (SELECT kernel.user_id()) OR (SELECT kernel.is_admin())));
-- A token is never stronger than the one that made it.
CREATE POLICY add ON kernel.credential FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND kind = 'pat' AND claims = '{}'
                AND scopes <@ (SELECT kernel.scopes())
                AND (user_id = (SELECT kernel.user_id()) OR (SELECT kernel.may_administer())));
CREATE POLICY change ON kernel.credential FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant())
           AND (user_id = (SELECT kernel.user_id()) OR (SELECT kernel.may_administer())))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()));
GRANT SELECT (tenant_id, id, kind, user_id, hint, label, scopes, created_at, expires_at, last_used_at, revoked_at)
    ON kernel.credential TO pecia_app;
GRANT INSERT (tenant_id, id, kind, user_id, hash, hint, label, scopes, claims, expires_at)
    ON kernel.credential TO pecia_app;
-- A revocation is final: the trigger below enforces it.
GRANT UPDATE (revoked_at) ON kernel.credential TO pecia_app;

CREATE FUNCTION kernel.keep_revoked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.revoked_at IS NOT NULL THEN
        NEW.revoked_at := OLD.revoked_at;
    ELSIF NEW.revoked_at IS NOT NULL THEN
        NEW.revoked_at := now();
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_revoked BEFORE UPDATE OF revoked_at ON kernel.credential
    FOR EACH ROW EXECUTE FUNCTION kernel.keep_revoked();

-- Interning discloses nothing: it returns the id of what the caller already named.
CREATE FUNCTION kernel.intern(in_kind text, in_scope text, in_value text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    found integer;
BEGIN
    IF NOT kernel.is_member() OR NOT kernel.has_scope('pecia.admin') THEN
        RAISE EXCEPTION 'naming principals needs the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    RETURN kernel.intern_in(kernel.tenant(), in_kind, in_scope, in_value);
END
$$;

CREATE FUNCTION kernel.intern_in(in_tenant uuid, in_kind text, in_scope text, in_value text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    found integer := kernel.principal_of(in_tenant, in_kind, in_scope, in_value);
BEGIN
    IF found IS NULL THEN
        INSERT INTO kernel.principal (tenant_id, kind, scope, value)
        VALUES (in_tenant, in_kind, in_scope, in_value) ON CONFLICT DO NOTHING;
        found := kernel.principal_of(in_tenant, in_kind, in_scope, in_value);
    END IF;
    RETURN found;
END
$$;

-- Every user and every group is a principal from the start, so rights can name them.
CREATE FUNCTION kernel.name_principal() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    NEW.principal_id := kernel.intern_in(
        NEW.tenant_id, CASE TG_TABLE_NAME WHEN 'user_group' THEN 'group' ELSE 'user' END, '', NEW.id::text);
    RETURN NEW;
END
$$;
CREATE TRIGGER named BEFORE INSERT ON kernel.user_account
    FOR EACH ROW EXECUTE FUNCTION kernel.name_principal();
CREATE TRIGGER named BEFORE INSERT ON kernel.user_group
    FOR EACH ROW EXECUTE FUNCTION kernel.name_principal();

CREATE FUNCTION kernel.create_tenant(in_name text) RETURNS uuid
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
DECLARE
    made uuid;
BEGIN
    INSERT INTO kernel.tenant (name) VALUES (in_name) RETURNING id INTO made;
    PERFORM kernel.intern_in(made, 'role', '', value)
       FROM unnest(ARRAY['admin', 'everyone', 'anyone']) AS value;
    RETURN made;
END
$$;

ALTER FUNCTION kernel.intern OWNER TO pecia_system;
ALTER FUNCTION kernel.intern_in OWNER TO pecia_system;
ALTER FUNCTION kernel.name_principal OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.intern FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.intern_in FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.name_principal FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.create_tenant FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.intern TO pecia_app;
GRANT EXECUTE ON FUNCTION kernel.create_tenant, kernel.intern_in TO pecia_system;

-- A verified OIDC token becomes a credential; its user is created at the first sign-in. Only the subject at the
-- issuer identifies a user. An e-mail address in the token is a principal that files may be granted to; it never
-- selects a user, so an issuer cannot give away another's account.

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

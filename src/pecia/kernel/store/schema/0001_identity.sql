-- Identity: tenants, users, groups, principals and credentials, and kernel.enter, which sets the caller of a
-- transaction.
--
-- Three roles. pecia_owner owns tables and runs migrations. pecia_system is for migrations, jobs and
-- the functions below that must see everything. pecia_app serves callers: it owns nothing, bypasses
-- nothing, and sees no row until kernel.enter has run in its transaction.

CREATE SCHEMA kernel;
GRANT USAGE, CREATE ON SCHEMA kernel TO pecia_system;
GRANT USAGE ON SCHEMA kernel TO pecia_app;

CREATE TABLE kernel.tenant (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'deleting')),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A principal is anything a right can be given to, interned so that sets of them are small arrays.
CREATE TABLE kernel.principal (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    id integer GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL,
    scope text NOT NULL DEFAULT '',
    value text NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, kind, scope, value)
);

CREATE TABLE kernel.user_account (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    role text NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'admin')),
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
    principal_id integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name),
    FOREIGN KEY (tenant_id, principal_id) REFERENCES kernel.principal (tenant_id, id)
);

-- What a user is known as elsewhere: an email, a subject at an issuer, a uid on a file server.
CREATE TABLE kernel.user_principal (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    principal_id integer NOT NULL,
    PRIMARY KEY (tenant_id, user_id, principal_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES kernel.user_account (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, principal_id) REFERENCES kernel.principal (tenant_id, id) ON DELETE CASCADE
);
-- One principal names one user: a second claim on an email would be a way to another's rights.
CREATE UNIQUE INDEX user_principal_once ON kernel.user_principal (tenant_id, principal_id);

CREATE TABLE kernel.user_group (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    principal_id integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name),
    FOREIGN KEY (tenant_id, principal_id) REFERENCES kernel.principal (tenant_id, id)
);

CREATE TABLE kernel.group_member (
    tenant_id uuid NOT NULL,
    group_id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, group_id, user_id),
    FOREIGN KEY (tenant_id, group_id) REFERENCES kernel.user_group (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id) REFERENCES kernel.user_account (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX group_member_of_user ON kernel.group_member (tenant_id, user_id);

-- A way to authenticate. `claims` are principals that the token itself asserts (an issuer's groups).
CREATE TABLE kernel.credential (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    kind text NOT NULL CHECK (kind IN ('pat', 'oidc', 'local', 'anonymous')),
    user_id uuid,
    hash bytea UNIQUE CHECK (octet_length(hash) = 32),
    hint text NOT NULL DEFAULT '',
    label text NOT NULL DEFAULT '' CHECK (length(label) <= 200),
    scopes text[] NOT NULL
        CHECK (scopes <@ ARRAY['pecia.search', 'pecia.read', 'pecia.write', 'pecia.admin']),
    claims integer[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES kernel.user_account (tenant_id, id) ON DELETE CASCADE,
    CHECK ((kind = 'anonymous') = (user_id IS NULL)),
    CHECK ((kind = 'pat') <= (hash IS NOT NULL))
);
CREATE UNIQUE INDEX credential_by_id ON kernel.credential (id);
CREATE INDEX credential_of_user ON kernel.credential (tenant_id, user_id);

-- Operators manage tenants and belong to none.
CREATE TABLE kernel.operator_token (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    label text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
COMMENT ON TABLE kernel.operator_token IS 'untenanted: cluster administrators belong to no tenant; pecia_app has no privilege here';

-- The key that seals a transaction's identity, so that only kernel.enter can set one.
CREATE TABLE kernel.seal (secret text NOT NULL);
COMMENT ON TABLE kernel.seal IS 'untenanted: one secret for the database; pecia_app has no privilege here';

CREATE TABLE kernel.migration (
    part text NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (part, name)
);
COMMENT ON TABLE kernel.migration IS 'untenanted: what has been applied to this database; read-only for pecia_app';
GRANT SELECT ON kernel.migration TO pecia_app;

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA kernel TO pecia_system;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA kernel TO pecia_system;

-- The identity of a transaction: one setting, local to it, sealed against forgery and replay.
-- Fields: tenant, user, credential, flags (a admin, m member), scopes, principals.

CREATE FUNCTION kernel.sealed(content text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT encode(sha256(convert_to(
        secret || content || pg_backend_pid() || extract(epoch FROM now()) || secret, 'UTF8'
    )), 'hex') FROM kernel.seal
$$;

-- Raises rather than returning nothing when the seal is wrong: a forged identity is an attack.
CREATE FUNCTION kernel.identity(part integer) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    whole text := current_setting('pecia.identity', true);
BEGIN
    IF whole IS NULL OR whole = '' THEN
        RETURN NULL;
    END IF;
    IF left(whole, 64) IS DISTINCT FROM kernel.sealed(substr(whole, 66)) THEN
        RAISE EXCEPTION 'this identity was not set by kernel.enter' USING ERRCODE = 'PE403';
    END IF;
    RETURN NULLIF(split_part(whole, '|', part + 1), '');
END
$$;

CREATE FUNCTION kernel.tenant() RETURNS uuid LANGUAGE sql STABLE AS
$$ SELECT kernel.identity(1)::uuid $$;

CREATE FUNCTION kernel.user_id() RETURNS uuid LANGUAGE sql STABLE AS
$$ SELECT kernel.identity(2)::uuid $$;

CREATE FUNCTION kernel.credential_id() RETURNS uuid LANGUAGE sql STABLE AS
$$ SELECT kernel.identity(3)::uuid $$;

CREATE FUNCTION kernel.is_member() RETURNS boolean LANGUAGE sql STABLE AS
$$ SELECT COALESCE(kernel.identity(4) LIKE '%m%', false) $$;

CREATE FUNCTION kernel.is_admin() RETURNS boolean LANGUAGE sql STABLE AS
$$ SELECT COALESCE(kernel.identity(4) LIKE '%a%', false) $$;

CREATE FUNCTION kernel.scopes() RETURNS text[] LANGUAGE sql STABLE AS
$$ SELECT COALESCE(kernel.identity(5)::text[], '{}') $$;

CREATE FUNCTION kernel.me() RETURNS integer[] LANGUAGE sql STABLE AS
$$ SELECT COALESCE(kernel.identity(6)::integer[], '{}') $$;

CREATE FUNCTION kernel.has_scope(wanted text) RETURNS boolean LANGUAGE sql STABLE AS
$$ SELECT wanted = ANY (kernel.scopes()) $$;

-- An administrator's token without the admin scope sees like an administrator and changes nothing.
CREATE FUNCTION kernel.may_administer() RETURNS boolean LANGUAGE sql STABLE AS
$$ SELECT kernel.is_admin() AND kernel.has_scope('pecia.admin') $$;

CREATE FUNCTION kernel.principal_of(in_tenant uuid, in_kind text, in_scope text, in_value text)
RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT id FROM kernel.principal
     WHERE tenant_id = in_tenant AND kind = in_kind AND scope = in_scope AND value = in_value
$$;

-- File-system rules that no set of principals can express: readable by the group of the file and enterable by that of
-- a folder, or closed to a group and open to others. Such a rule is a principal of its own, held by every user who
-- satisfies it. Its value is a list of steps, one for each folder on the way and one for the file:
-- [owner, group, open to the owner, open to the group, open to others].

-- As POSIX does: of owner, group and others the first that fits decides. A caller without a uid is one of the others.
CREATE FUNCTION kernel.meets_posix_rule(rule jsonb, uids text[], gids text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM unnest(CASE WHEN uids = '{}' THEN '{NULL}'::text[] ELSE uids END) AS me (uid)
         WHERE NOT EXISTS (
             SELECT 1 FROM jsonb_array_elements(rule) AS s (step)
              WHERE NOT CASE WHEN me.uid = s.step->>0 THEN (s.step->2)::boolean
                             WHEN s.step->>1 = ANY (gids) THEN (s.step->3)::boolean
                             ELSE (s.step->4)::boolean END))
$$;

-- Every principal that a credential holds.
CREATE FUNCTION kernel.principals_of(in_tenant uuid, in_user uuid, in_claims integer[], in_admin boolean)
RETURNS integer[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    WITH held (p) AS (
        SELECT principal_id FROM kernel.user_account WHERE tenant_id = in_tenant AND id = in_user
        UNION ALL
        SELECT principal_id FROM kernel.user_principal WHERE tenant_id = in_tenant AND user_id = in_user
        UNION ALL
        SELECT g.principal_id FROM kernel.group_member m
          JOIN kernel.user_group g ON g.tenant_id = m.tenant_id AND g.id = m.group_id
         WHERE m.tenant_id = in_tenant AND m.user_id = in_user
        UNION ALL
        SELECT unnest(in_claims)
        UNION ALL
        SELECT id FROM kernel.principal
         WHERE tenant_id = in_tenant AND kind = 'role' AND scope = ''
           AND (value = 'anyone' OR (value = 'everyone' AND in_user IS NOT NULL)
                OR (value = 'admin' AND in_admin))
    )
    SELECT COALESCE(array_agg(DISTINCT p ORDER BY p), '{}') FROM (
        SELECT p FROM held
        UNION ALL
        SELECT r.id FROM kernel.principal r
         WHERE in_user IS NOT NULL AND r.tenant_id = in_tenant AND r.kind = 'posixrule'
           AND kernel.meets_posix_rule(r.value::jsonb,
               ARRAY (SELECT n.value FROM kernel.principal n WHERE n.tenant_id = in_tenant
                         AND n.id IN (SELECT p FROM held) AND n.kind = 'posixuid' AND n.scope = r.scope),
               ARRAY (SELECT n.value FROM kernel.principal n WHERE n.tenant_id = in_tenant
                         AND n.id IN (SELECT p FROM held) AND n.kind = 'posixgid' AND n.scope = r.scope))
    ) AS every (p)
$$;

-- The first statement of every transaction that serves a caller. Revocation, expiry, a disabled
-- user and a suspended tenant are seen here, so they work at once.
CREATE FUNCTION kernel.enter(credential uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    who record;
    refusal text;
    content text;
BEGIN
    SELECT c.tenant_id, c.user_id, c.scopes, c.claims, c.revoked_at, c.expires_at,
           t.status AS tenant_status, u.status AS user_status,
           COALESCE(u.role = 'admin', false) AS is_admin
      INTO who
      FROM kernel.credential c
      JOIN kernel.tenant t ON t.id = c.tenant_id
      LEFT JOIN kernel.user_account u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
     WHERE c.id = credential;
    refusal := CASE
        WHEN who.tenant_id IS NULL THEN 'this credential is not known'
        WHEN who.revoked_at IS NOT NULL THEN 'this token was revoked'
        WHEN who.expires_at <= now() THEN 'this token has expired'
        WHEN who.user_status = 'disabled' THEN 'this user is disabled'
        WHEN who.tenant_status <> 'active' THEN 'this tenant is suspended'
    END;
    IF refusal IS NOT NULL THEN
        RAISE EXCEPTION '%', refusal USING ERRCODE = 'PE401';
    END IF;
    content := concat_ws('|', who.tenant_id, COALESCE(who.user_id::text, ''), credential,
        CASE WHEN who.is_admin THEN 'a' ELSE '' END || CASE WHEN who.user_id IS NULL THEN '' ELSE 'm' END,
        who.scopes::text,
        kernel.principals_of(who.tenant_id, who.user_id, who.claims, who.is_admin)::text);
    PERFORM set_config('pecia.identity', kernel.sealed(content) || '|' || content, true);
END
$$;

-- Authentication: a token is looked up by its hash, never by anything a caller can guess.
CREATE FUNCTION kernel.authenticate(token_hash bytea)
RETURNS TABLE (credential_id uuid, kind text, tenant_id uuid, tenant text, user_id uuid, user_name text,
               scopes text[], is_admin boolean, expires_at timestamptz, refusal text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT c.id, c.kind, c.tenant_id, t.name, c.user_id, COALESCE(u.name, 'anonymous'), c.scopes,
           COALESCE(u.role = 'admin', false), c.expires_at,
           CASE WHEN c.revoked_at IS NOT NULL THEN 'this token was revoked'
                WHEN c.expires_at <= now() THEN 'this token has expired'
                WHEN u.status = 'disabled' THEN 'this user is disabled'
                WHEN t.status <> 'active' THEN 'this tenant is suspended' END
      FROM kernel.credential c
      JOIN kernel.tenant t ON t.id = c.tenant_id
      LEFT JOIN kernel.user_account u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
     WHERE c.hash = token_hash
    UNION ALL
    SELECT o.id, 'operator', NULL, NULL, NULL, o.label, '{}', false, o.expires_at,
           CASE WHEN o.revoked_at IS NOT NULL THEN 'this token was revoked'
                WHEN o.expires_at <= now() THEN 'this token has expired' END
      FROM kernel.operator_token o WHERE o.hash = token_hash
$$;

ALTER FUNCTION kernel.sealed OWNER TO pecia_system;
ALTER FUNCTION kernel.identity OWNER TO pecia_system;
ALTER FUNCTION kernel.principal_of OWNER TO pecia_system;
ALTER FUNCTION kernel.principals_of OWNER TO pecia_system;
ALTER FUNCTION kernel.enter OWNER TO pecia_system;
ALTER FUNCTION kernel.authenticate OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.sealed FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.principals_of FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.principal_of FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.enter FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.authenticate FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.meets_posix_rule FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.meets_posix_rule TO pecia_system;
GRANT EXECUTE ON FUNCTION kernel.enter, kernel.authenticate TO pecia_app;

-- Credentials, users or tenants changed: caches of authenticated callers are stale.
CREATE FUNCTION kernel.notify_identity_changed() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('pecia_identity', '');
    RETURN NULL;
END
$$;

CREATE TRIGGER notified AFTER DELETE OR UPDATE OF scopes, claims, expires_at, revoked_at ON kernel.credential
    FOR EACH STATEMENT EXECUTE FUNCTION kernel.notify_identity_changed();
CREATE TRIGGER notified AFTER UPDATE OR DELETE ON kernel.user_account
    FOR EACH STATEMENT EXECUTE FUNCTION kernel.notify_identity_changed();
CREATE TRIGGER notified AFTER UPDATE OR DELETE ON kernel.tenant
    FOR EACH STATEMENT EXECUTE FUNCTION kernel.notify_identity_changed();
CREATE TRIGGER notified AFTER UPDATE OR DELETE ON kernel.operator_token
    FOR EACH STATEMENT EXECUTE FUNCTION kernel.notify_identity_changed();

INSERT INTO kernel.seal (secret) SELECT gen_random_uuid()::text || gen_random_uuid();

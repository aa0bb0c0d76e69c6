-- Statements of the law of rights.

-- name: enter
SELECT kernel.enter(%(credential)s);

-- name: create_tenants
SELECT name, kernel.create_tenant(name) FROM unnest(%(names)s::text[]) AS name;

-- name: principals
SELECT tenant_id, id, concat(kind, ':', scope, ':', value) FROM kernel.principal
 WHERE tenant_id = ANY (%(tenants)s::uuid[]);

-- name: classes
-- What each class is for, how many files and chunks it counts, and which carry it.
SELECT a.tenant_id, a.id, a.source_id, a.is_source, a.files, a.chunks,
       ARRAY(SELECT key::text FROM kernel.file f WHERE f.tenant_id = a.tenant_id AND f.acl_id = a.id),
       (SELECT count(*) FROM kernel.chunk c JOIN kernel.file f ON f.tenant_id = c.tenant_id AND f.id = c.file_id
         WHERE f.tenant_id = a.tenant_id AND f.acl_id = a.id)
  FROM kernel.acl a WHERE a.tenant_id = ANY (%(tenants)s::uuid[]);

-- name: jobs
SELECT key, id FROM kernel.job WHERE tenant_id = ANY (%(tenants)s::uuid[]);

-- name: date_source
UPDATE kernel.source SET last_indexed_at = to_timestamp(%(moment)s)
 WHERE tenant_id = %(tenant_id)s AND id = %(source_id)s;

-- name: act
SELECT law.act(%(credential)s, %(statements)s, %(keep)s);

-- name: seen
-- Every row of every table, as its table and its columns. A principal is `#id`, a class is `@id`.
-- Texts stand for their files, which are not joined here: that would hide what is shown too much.
SELECT 'tenant', ARRAY[id::text, status] FROM kernel.tenant
UNION ALL SELECT 'principal', ARRAY[tenant_id::text, '#' || id] FROM kernel.principal
UNION ALL SELECT 'user_account', ARRAY[tenant_id::text, id::text, role, status] FROM kernel.user_account
UNION ALL SELECT 'user_principal', ARRAY[tenant_id::text, user_id::text, '#' || principal_id]
            FROM kernel.user_principal
UNION ALL SELECT 'user_group', ARRAY[tenant_id::text, id::text, name] FROM kernel.user_group
UNION ALL SELECT 'group_member', ARRAY[tenant_id::text, group_id::text, user_id::text]
            FROM kernel.group_member
UNION ALL SELECT 'credential', ARRAY[tenant_id::text, id::text, kind, user_id::text,
                 array_to_string(scopes, ','), CASE WHEN revoked_at IS NULL THEN 'no' ELSE 'yes' END,
                 CASE WHEN expires_at <= now() THEN 'yes' ELSE 'no' END]
            FROM kernel.credential
UNION ALL SELECT 'source', ARRAY[tenant_id::text, id, protocol, trim_mode, CASE WHEN enabled THEN 'yes' ELSE 'no' END]
            FROM kernel.source
UNION ALL SELECT 'source_role', ARRAY[tenant_id::text, source_id, '#' || principal_id, role]
            FROM kernel.source_role
UNION ALL SELECT 'folder_grant', ARRAY[tenant_id::text, source_id, prefix, '#' || principal_id, role]
            FROM kernel.folder_grant
UNION ALL SELECT 'file', ARRAY[tenant_id::text, source_id, key, size_bytes::text] FROM kernel.file
UNION ALL SELECT 'revision', ARRAY[tenant_id::text, text] FROM kernel.revision
UNION ALL SELECT 'chunk', ARRAY[tenant_id::text, text] FROM kernel.chunk
UNION ALL SELECT 'vector', ARRAY[tenant_id::text, model] FROM kernel.vector
UNION ALL SELECT 'acl', ARRAY[tenant_id::text, '@' || id] FROM kernel.acl
UNION ALL SELECT 'audit', ARRAY[tenant_id::text, id::text] FROM kernel.audit
UNION ALL SELECT 'secret', ARRAY[tenant_id::text, purpose, name, key_id] FROM kernel.secret
UNION ALL SELECT 'quota', ARRAY[tenant_id::text, kind, most::text] FROM kernel.quota
UNION ALL SELECT 'usage', ARRAY[tenant_id::text, kind, used::text] FROM kernel.usage WHERE used <> 0
UNION ALL SELECT 'jobs_visible', ARRAY[(SELECT kernel.tenant())::text, key, status] FROM kernel.jobs_visible;

-- name: install
-- Statements as a caller, each in its own subtransaction: what became of them, kept or undone.
CREATE SCHEMA law;
GRANT USAGE ON SCHEMA law TO pecia_app;
CREATE FUNCTION law.act(credential uuid, statements text[], keep boolean) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    said text[] := '{}';
    statement text;
    touched bigint;
BEGIN
    BEGIN
        PERFORM kernel.enter(credential);
    EXCEPTION WHEN OTHERS THEN
        RETURN array_fill(SQLSTATE || ' ' || SQLERRM, ARRAY[cardinality(statements)]);
    END;
    FOREACH statement IN ARRAY statements LOOP
        BEGIN
            EXECUTE statement;
            GET DIAGNOSTICS touched = ROW_COUNT;
            IF NOT keep THEN
                RAISE SQLSTATE 'UNDO0';
            END IF;
            said := said || ('done ' || touched);
        EXCEPTION
            WHEN SQLSTATE 'UNDO0' THEN said := said || ('done ' || touched);
            WHEN OTHERS THEN said := said || (SQLSTATE || ' ' || SQLERRM);
        END;
    END LOOP;
    RETURN said;
END
$$;

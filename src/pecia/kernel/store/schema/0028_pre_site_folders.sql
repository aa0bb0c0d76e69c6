-- A grant on the folder /docs/ of a site is one on its page /docs as well, with whatever query: /docs?page=2.
-- Never on /docs-old. Only the folders of sites begin with a slash; of all others it is the keys below them.

-- Whether what is granted on a folder is granted on the file with this key.
CREATE FUNCTION kernel.covers(prefix text, key text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT starts_with(key, prefix)
        OR (prefix <> '/' AND starts_with(prefix, '/') AND starts_with(key || '?', left(prefix, -1) || '?'))
$$;

CREATE OR REPLACE FUNCTION kernel.folder_holders(in_tenant uuid, in_source text, in_key text, in_role text)
RETURNS integer[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT kernel.as_set(array_agg(principal_id)) FROM kernel.folder_grant
     WHERE tenant_id = in_tenant AND source_id = in_source AND role = in_role
       AND kernel.covers(prefix, in_key)
$$;

CREATE OR REPLACE FUNCTION kernel.regrant_folder(in_tenant uuid, in_source text, in_prefix text, in_principal integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    part record;
    class kernel.acl;
    new_reading integer[];
    new_writing integer[];
    page text := CASE WHEN in_prefix <> '/' AND starts_with(in_prefix, '/') THEN left(in_prefix, -1) END;
BEGIN
    PERFORM kernel.lock_rights(in_tenant, in_source, true);
    FOR part IN
        SELECT acl_id, reads, writes, array_agg(key) AS keys
          FROM kernel.file f,
               LATERAL (SELECT COALESCE(bool_or(role = 'reader'), false) AS reads,
                               COALESCE(bool_or(role = 'writer'), false) AS writes
                          FROM kernel.folder_grant g
                         WHERE g.tenant_id = in_tenant AND g.source_id = in_source
                           AND g.principal_id = in_principal AND kernel.covers(g.prefix, f.key)) AS held
         WHERE f.tenant_id = in_tenant AND f.source_id = in_source
           -- Ranges keep their index: the sign after `?` is `@`.
           AND ((f.key >= in_prefix AND (in_prefix = '' OR f.key < kernel.after_prefix(in_prefix)))
                OR f.key = page OR (f.key >= page || '?' AND f.key < page || '@'))
         GROUP BY acl_id, reads, writes
    LOOP
        SELECT * INTO class FROM kernel.acl WHERE tenant_id = in_tenant AND id = part.acl_id;
        new_reading := kernel.with_or_without(class.reading, in_principal, part.reads);
        new_writing := kernel.with_or_without(class.writing, in_principal, part.writes);
        CONTINUE WHEN new_reading = class.reading AND new_writing = class.writing;
        IF class.files = cardinality(part.keys) THEN
            UPDATE kernel.acl SET reading = new_reading, writing = new_writing
             WHERE tenant_id = in_tenant AND id = class.id;
        ELSE
            UPDATE kernel.file SET acl_id = kernel.class_of(
                       in_tenant, in_source, class.granted, new_reading, new_writing, class.known)
             WHERE tenant_id = in_tenant AND source_id = in_source AND key = ANY (part.keys);
        END IF;
    END LOOP;
    UPDATE kernel.acl SET known = known
     WHERE tenant_id = in_tenant AND source_id = in_source AND is_source;
END
$$;

CREATE OR REPLACE FUNCTION kernel.may_write(in_source text, in_key text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT kernel.is_member() AND kernel.has_scope('pecia.write')
       AND (kernel.is_admin()
            OR kernel.holds_role(in_source, ARRAY['owner', 'writer'])
            OR EXISTS (SELECT 1 FROM kernel.folder_grant
                        WHERE tenant_id = kernel.tenant() AND source_id = in_source AND role = 'writer'
                          AND principal_id = ANY (kernel.me()) AND kernel.covers(prefix, in_key)))
$$;

CREATE OR REPLACE FUNCTION kernel.why(in_user text, in_source text, in_key text)
RETURNS TABLE (may_see boolean, may_write boolean, reasons text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    who kernel.user_account;
    held integer[];
    class kernel.acl;
    mode text;
BEGIN
    SELECT * INTO who FROM kernel.user_account WHERE tenant_id = kernel.tenant() AND name = in_user;
    SELECT a.* INTO class FROM kernel.file f JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id
     WHERE f.tenant_id = kernel.tenant() AND f.source_id = in_source AND f.key = in_key
       AND a.principals && kernel.me();
    IF who.id IS NULL OR class.id IS NULL
       OR (who.id IS DISTINCT FROM kernel.user_id() AND NOT kernel.owns(in_source)) THEN
        RETURN;
    END IF;
    held := CASE WHEN who.id = kernel.user_id() THEN kernel.me()
                 ELSE kernel.principals_of(who.tenant_id, who.id, '{}', who.role = 'admin') END;
    mode := (SELECT trim_mode FROM kernel.source WHERE tenant_id = who.tenant_id AND id = in_source);
    reasons := ARRAY(
        SELECT 'is an administrator of the tenant' WHERE who.role = 'admin'
        UNION ALL
        SELECT format('%s is %s of the source', kernel.principal_name(principal_id), role) FROM kernel.source_role
         WHERE tenant_id = who.tenant_id AND source_id = in_source AND principal_id = ANY (held)
           AND (role <> 'reader' OR mode = 'source_only')
        UNION ALL
        SELECT format('%s is %s of the folder %s', kernel.principal_name(principal_id), role, prefix) FROM kernel.folder_grant
         WHERE tenant_id = who.tenant_id AND source_id = in_source AND principal_id = ANY (held)
           AND kernel.covers(prefix, in_key) AND (role = 'writer' OR mode = 'per_file')
        UNION ALL
        SELECT 'the source is open to everyone in the tenant' WHERE mode = 'open'
        UNION ALL
        SELECT format('the file is granted to %s', kernel.principal_name(p)) FROM unnest(class.granted) AS p
         WHERE mode = 'per_file' AND class.known AND p = ANY (held)
        UNION ALL
        SELECT 'the grants of this file are not known yet' WHERE mode = 'per_file' AND NOT class.known);
    may_see := class.principals && held AND who.status = 'active';
    may_write := who.status = 'active' AND (who.role = 'admin'
        OR EXISTS (SELECT 1 FROM kernel.source_role WHERE tenant_id = who.tenant_id AND source_id = in_source
                      AND role <> 'reader' AND principal_id = ANY (held))
        OR class.writing && held);
    RETURN NEXT;
END
$$;

-- The grants there are, as they are meant from now on.
SET LOCAL ROLE pecia_system;
DO $$
BEGIN
    PERFORM kernel.regrant_folder(tenant_id, source_id, prefix, principal_id)
       FROM kernel.folder_grant WHERE starts_with(prefix, '/');
END
$$;
RESET ROLE;

-- Policies of sources, files, roles and grants, and kernel.why, which explains a decision.

CREATE FUNCTION kernel.holds_role(in_source text, roles text[]) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM kernel.source_role
                    WHERE tenant_id = kernel.tenant() AND source_id = in_source
                      AND role = ANY (roles) AND principal_id = ANY (kernel.me()))
$$;

CREATE FUNCTION kernel.owns(in_source text) RETURNS boolean LANGUAGE sql STABLE AS
$$ SELECT kernel.is_member() AND (kernel.is_admin() OR kernel.holds_role(in_source, ARRAY['owner'])) $$;

-- Rights are changed by owners and administrators whose token has the scope for it.
CREATE FUNCTION kernel.may_govern(in_source text) RETURNS boolean LANGUAGE sql STABLE AS
$$ SELECT kernel.has_scope('pecia.admin') AND kernel.owns(in_source) $$;

-- Whether the caller sees every file of a source by their right in the source itself, whichever files there are. What
-- is said of the source as a whole is for them: for anybody else, hidden files would move it.
CREATE FUNCTION kernel.sees_all_files(in_source text, in_trim_mode text, in_protocol text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT kernel.holds_role(in_source, ARRAY['owner', 'writer']
                             || CASE WHEN in_trim_mode = 'source_only' THEN ARRAY['reader'] ELSE '{}' END)
        OR in_protocol <> 'memory' AND (kernel.is_admin() OR in_trim_mode = 'open' AND kernel.is_member())
$$;

CREATE FUNCTION kernel.may_write(in_source text, in_key text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT kernel.is_member() AND kernel.has_scope('pecia.write')
       AND NOT EXISTS (SELECT 1 FROM kernel.source
                        WHERE tenant_id = kernel.tenant() AND id = in_source AND NOT enabled)
       AND (kernel.is_admin()
            OR kernel.holds_role(in_source, ARRAY['owner', 'writer'])
            OR EXISTS (SELECT 1 FROM kernel.folder_grant
                        WHERE tenant_id = kernel.tenant() AND source_id = in_source AND role = 'writer'
                          AND principal_id = ANY (kernel.me()) AND kernel.covers(prefix, in_key)))
$$;

CALL kernel.guard('kernel.acl');
CREATE POLICY see ON kernel.acl FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND principals && (SELECT kernel.me()));
GRANT SELECT ON kernel.acl TO pecia_app;

CALL kernel.guard('kernel.source');
-- A source shows itself to whoever holds a role in it, and to whoever may see one of its files.
-- Administrators come first because a new source has no class yet when its maker asks for it back.
CREATE POLICY see ON kernel.source FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant())
           AND ((SELECT kernel.is_admin())
                OR EXISTS (SELECT 1 FROM kernel.acl a
                            WHERE a.tenant_id = source.tenant_id AND a.source_id = source.id
                              AND (a.is_source OR a.files > 0)
                              AND a.principals && (SELECT kernel.me()))));
CREATE POLICY add ON kernel.source FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.may_administer()));
CREATE POLICY change ON kernel.source FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(id))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()));
CREATE POLICY remove ON kernel.source FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(id));
GRANT SELECT, INSERT, UPDATE (trim_mode, enabled, config, last_indexed_at), DELETE ON kernel.source TO pecia_app;

CALL kernel.guard('kernel.source_role');
CREATE POLICY see ON kernel.source_role FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member())
           AND (principal_id = ANY ((SELECT kernel.me())::integer[]) OR kernel.owns(source_id)));
CREATE POLICY add ON kernel.source_role FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(source_id));
CREATE POLICY change ON kernel.source_role FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(source_id))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(source_id));
CREATE POLICY remove ON kernel.source_role FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(source_id));
GRANT SELECT, INSERT, UPDATE (role), DELETE ON kernel.source_role TO pecia_app;

CALL kernel.guard('kernel.folder_grant');
CREATE POLICY see ON kernel.folder_grant FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND (SELECT kernel.is_member())
           AND (principal_id = ANY ((SELECT kernel.me())::integer[]) OR kernel.owns(source_id)));
CREATE POLICY add ON kernel.folder_grant FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(source_id));
CREATE POLICY change ON kernel.folder_grant FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(source_id))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(source_id));
CREATE POLICY remove ON kernel.folder_grant FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND kernel.may_govern(source_id));
GRANT SELECT, INSERT, UPDATE (role), DELETE ON kernel.folder_grant TO pecia_app;

-- The last class that was there when the statement began.
CREATE FUNCTION kernel.newest_class() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE(max(id), 0) FROM kernel.acl WHERE tenant_id = kernel.tenant()
$$;

CALL kernel.guard('kernel.file');
-- A class made for a file by the very statement that writes it cannot be seen by that statement, so
-- RETURNING, ON CONFLICT and moves would fail: whoever may write at a key sees what is there anyway.
CREATE POLICY see ON kernel.file FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant())
           AND (EXISTS (SELECT 1 FROM kernel.acl a
                         WHERE a.tenant_id = file.tenant_id AND a.id = file.acl_id
                           AND a.principals && (SELECT kernel.me()))
                OR (acl_id > (SELECT kernel.newest_class()) AND kernel.may_write(source_id, key))));
CREATE POLICY add ON kernel.file FOR INSERT TO pecia_app
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND kernel.may_write(source_id, key));
CREATE POLICY change ON kernel.file FOR UPDATE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND kernel.may_write(source_id, key))
    WITH CHECK (tenant_id = (SELECT kernel.tenant()) AND kernel.may_write(source_id, key));
CREATE POLICY remove ON kernel.file FOR DELETE TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant()) AND kernel.may_write(source_id, key));
-- The class is not among them: rights change through kernel.grant_file and the grants above.
GRANT SELECT, DELETE,
    INSERT (tenant_id, source_id, key, size_bytes, modified_at, etag, content_type, storage_class, owner,
            posix_mode, posix_uid, posix_gid),
    UPDATE (key, size_bytes, modified_at, etag, content_type, storage_class, owner,
            posix_mode, posix_uid, posix_gid)
    ON kernel.file TO pecia_app;

-- Makes the class that a file at this key will carry. A statement does not see the class its own
-- trigger makes, so one that also reads the new row (RETURNING, ON CONFLICT) needs it made before.
CREATE FUNCTION kernel.ready_class(in_source text, in_key text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF kernel.may_write(in_source, in_key)
       AND EXISTS (SELECT 1 FROM kernel.source WHERE tenant_id = kernel.tenant() AND id = in_source) THEN
        PERFORM kernel.lock_rights(kernel.tenant(), in_source, false);
        PERFORM kernel.class_of(
            kernel.tenant(), in_source, '{}',
            kernel.folder_holders(kernel.tenant(), in_source, in_key, 'reader'),
            kernel.folder_holders(kernel.tenant(), in_source, in_key, 'writer'), true);
    END IF;
END
$$;

-- Says whether there was such a file among those the caller may see.
CREATE FUNCTION kernel.grant_file(in_source text, in_key text, in_granted integer[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_govern(in_source) THEN
        RAISE EXCEPTION 'changing rights here needs the role owner and the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    IF EXISTS (SELECT 1 FROM unnest(in_granted) AS g
                WHERE NOT EXISTS (SELECT 1 FROM kernel.principal WHERE tenant_id = kernel.tenant() AND id = g)) THEN
        RAISE EXCEPTION 'a grant names a principal that does not exist' USING ERRCODE = 'PE404';
    END IF;
    RETURN kernel.regrant_file(kernel.tenant(), in_source, in_key, in_granted, true);
END
$$;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p
              WHERE p.pronamespace = 'kernel'::regnamespace AND p.prosecdef
                AND p.proowner <> 'pecia_system'::regrole
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO pecia_system', f);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO pecia_system', f);
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION kernel.holds_role, kernel.may_write, kernel.newest_class, kernel.ready_class,
    kernel.grant_file TO pecia_app;

-- Why somebody may see or change a file. It answers only about files the caller may see, and about
-- others only to the owners of the source, so that asking is not a way to learn.

CREATE FUNCTION kernel.principal_name(in_principal integer) RETURNS text
LANGUAGE sql STABLE SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE('user:' || u.name, 'group:' || g.name,
                    CASE WHEN p.kind = 'role' THEN p.value ELSE p.kind || ':' || p.scope || ':' || p.value END)
      FROM kernel.principal p
      LEFT JOIN kernel.user_account u ON u.tenant_id = p.tenant_id AND u.principal_id = p.id
      LEFT JOIN kernel.user_group g ON g.tenant_id = p.tenant_id AND g.principal_id = p.id
     WHERE p.tenant_id = kernel.tenant() AND p.id = in_principal
$$;

CREATE FUNCTION kernel.why(in_user text, in_source text, in_key text)
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
        SELECT 'is an administrator of the tenant' WHERE who.role = 'admin' AND NOT EXISTS (
            SELECT 1 FROM kernel.source WHERE tenant_id = who.tenant_id AND id = in_source AND protocol = 'memory')
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
ALTER FUNCTION kernel.why OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.why FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.why TO pecia_app;

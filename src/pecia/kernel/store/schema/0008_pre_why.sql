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
        SELECT 'is an administrator of the tenant' WHERE who.role = 'admin'
        UNION ALL
        SELECT format('%s is %s of the source', kernel.principal_name(principal_id), role) FROM kernel.source_role
         WHERE tenant_id = who.tenant_id AND source_id = in_source AND principal_id = ANY (held)
           AND (role <> 'reader' OR mode = 'source_only')
        UNION ALL
        SELECT format('%s is %s of the folder %s', kernel.principal_name(principal_id), role, prefix) FROM kernel.folder_grant
         WHERE tenant_id = who.tenant_id AND source_id = in_source AND principal_id = ANY (held)
           AND starts_with(in_key, prefix) AND (role = 'writer' OR mode = 'per_file')
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

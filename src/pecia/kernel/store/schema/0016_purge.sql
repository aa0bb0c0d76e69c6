-- Purging a user: nothing of them stays in a table. Features purge what they keep elsewhere.

CREATE FUNCTION kernel.without(members integer[], gone integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE AS
$$ SELECT kernel.as_set(ARRAY(SELECT unnest(members) EXCEPT SELECT unnest(gone))) $$;

-- The audit log keeps that a call happened, when and how it ended; not who called, nor with which arguments.
CREATE FUNCTION kernel.purge_audit(in_tenant uuid, in_user uuid, words text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    UPDATE kernel.audit
       SET user_id = NULL, credential_id = NULL, arguments = '{}', sources = '{}', keys = '{}', client_ip = NULL,
           request_id = NULL
     WHERE tenant_id = in_tenant AND user_id = in_user;
    UPDATE kernel.audit SET arguments = '{"purged": true}', keys = '{}'
     WHERE tenant_id = in_tenant
       AND EXISTS (SELECT 1 FROM unnest(words) AS word
                    WHERE position(word IN arguments::text) > 0 OR position(word IN array_to_string(keys, ' ')) > 0);
$$;

CREATE FUNCTION kernel.purge_user(in_name text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    who kernel.user_account;
    names integer[];
    words text[];
BEGIN
    IF NOT kernel.may_administer() THEN
        RAISE EXCEPTION 'purging a user needs an administrator with the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    SELECT * INTO who FROM kernel.user_account WHERE tenant_id = kernel.tenant() AND name = in_name;
    IF who.id IS NULL THEN
        RETURN NULL;
    END IF;
    names := ARRAY(SELECT principal_id FROM kernel.user_principal
                    WHERE tenant_id = who.tenant_id AND user_id = who.id) || who.principal_id;
    words := ARRAY(SELECT value FROM kernel.principal WHERE tenant_id = who.tenant_id AND id = ANY (names)) || who.name;
    DELETE FROM kernel.source_role WHERE tenant_id = who.tenant_id AND principal_id = ANY (names);
    DELETE FROM kernel.folder_grant WHERE tenant_id = who.tenant_id AND principal_id = ANY (names);
    UPDATE kernel.acl SET granted = kernel.without(granted, names), reading = kernel.without(reading, names),
                          writing = kernel.without(writing, names)
     WHERE tenant_id = who.tenant_id AND (granted && names OR reading && names OR writing && names);
    UPDATE kernel.credential SET claims = kernel.without(claims, names)
     WHERE tenant_id = who.tenant_id AND claims && names;
    UPDATE kernel.job SET asked_by = array_remove(asked_by, who.id)
     WHERE tenant_id = who.tenant_id AND who.id = ANY (asked_by);
    PERFORM kernel.purge_audit(who.tenant_id, who.id, words);
    DELETE FROM kernel.user_account WHERE tenant_id = who.tenant_id AND id = who.id;
    DELETE FROM kernel.principal WHERE tenant_id = who.tenant_id AND id = ANY (names);
    RETURN who.id;
END
$$;

ALTER FUNCTION kernel.purge_audit OWNER TO pecia_system;
ALTER FUNCTION kernel.purge_user OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.purge_audit FROM PUBLIC;
REVOKE ALL ON FUNCTION kernel.purge_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.purge_user TO pecia_app;

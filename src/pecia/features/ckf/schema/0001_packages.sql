-- Packages that people publish are files of the source `ckf`: rights, search, purge and backup are the
-- corpus's. ckf.claim gives a user a folder to write to.

CREATE SCHEMA ckf;
GRANT USAGE ON SCHEMA ckf TO pecia_app;
GRANT USAGE, CREATE ON SCHEMA ckf TO pecia_system;

-- The source and its readers: below `tenant/` every member, below `public/` anonymous callers too.
CREATE FUNCTION ckf.open_source() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    INSERT INTO kernel.source (tenant_id, id, protocol, trim_mode) VALUES (kernel.tenant(), 'ckf', 'ckf', 'per_file')
    ON CONFLICT DO NOTHING;
    IF NOT EXISTS (SELECT 1 FROM kernel.source
                    WHERE tenant_id = kernel.tenant() AND id = 'ckf' AND protocol = 'ckf') THEN
        RAISE EXCEPTION 'a source that is no library has the name ckf' USING ERRCODE = 'PE403';
    END IF;
    INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)
    SELECT kernel.tenant(), 'ckf', folder.prefix, p.id, 'reader'
      FROM (VALUES ('tenant/', 'everyone'), ('public/', 'everyone'), ('public/', 'anyone')) AS folder (prefix, value)
      JOIN kernel.principal p ON p.tenant_id = kernel.tenant() AND p.kind = 'role' AND p.scope = '' AND p.value = folder.value
    ON CONFLICT DO NOTHING;
END
$$;

-- The folder in which the caller may keep the package of that slug. Whoever comes first has the slug,
-- and whomever they share the folder with; a private one takes no name away from others.
CREATE FUNCTION ckf.claim(in_slug text, in_visibility text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    mine integer := (SELECT principal_id FROM kernel.user_account
                      WHERE tenant_id = kernel.tenant() AND id = kernel.user_id());
    shared text[] := ARRAY['tenant/' || in_slug || '/', 'public/' || in_slug || '/'];
    folder text := CASE in_visibility WHEN 'private' THEN 'private/' || kernel.user_id() || '/'
                                      ELSE in_visibility || '/' || in_slug || '/' END;
    holders integer[];
BEGIN
    IF mine IS NULL OR NOT kernel.is_member() OR NOT kernel.has_scope('pecia.write') THEN
        RAISE EXCEPTION 'publishing needs a user and the scope pecia.write' USING ERRCODE = 'PE403';
    END IF;
    IF in_visibility = 'public' AND NOT kernel.is_admin() THEN
        RAISE EXCEPTION 'showing a package to strangers is for administrators' USING ERRCODE = 'PE403';
    END IF;
    PERFORM kernel.lock_rights(kernel.tenant(), 'ckf', true);
    PERFORM ckf.open_source();
    holders := ARRAY(SELECT principal_id FROM kernel.folder_grant
                      WHERE tenant_id = kernel.tenant() AND source_id = 'ckf' AND role = 'writer'
                        AND prefix = ANY (shared));
    IF in_visibility <> 'private' AND holders <> '{}' AND NOT holders && kernel.me() THEN
        RAISE EXCEPTION 'this slug is taken' USING ERRCODE = 'unique_violation', CONSTRAINT = 'post_tenant_id_slug_key';
    END IF;
    INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)
    VALUES (kernel.tenant(), 'ckf', folder, mine, 'writer')
    ON CONFLICT DO NOTHING;
    RETURN folder;
END
$$;

-- Purging a user deletes every post they own or signed, with all versions.
CREATE FUNCTION ckf.forget_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    private text := 'private/' || OLD.id || '/';
    signed text := E'\npost_author: ' || regexp_replace(btrim(OLD.name), '\s+', ' ', 'g') || E'\n';
BEGIN
    DELETE FROM kernel.file f
     WHERE f.tenant_id = OLD.tenant_id AND f.source_id = 'ckf'
       AND (starts_with(f.key, private)
            OR EXISTS (SELECT 1 FROM kernel.revision r
                        WHERE r.tenant_id = f.tenant_id AND r.file_id = f.id AND position(signed IN r.text) > 0));
    RETURN NULL;
END
$$;
CREATE TRIGGER packages_forgotten AFTER DELETE ON kernel.user_account
    FOR EACH ROW EXECUTE FUNCTION ckf.forget_user();

ALTER FUNCTION ckf.forget_user OWNER TO pecia_system;
ALTER FUNCTION ckf.open_source OWNER TO pecia_system;
ALTER FUNCTION ckf.claim OWNER TO pecia_system;
REVOKE ALL ON FUNCTION ckf.forget_user, ckf.open_source, ckf.claim FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ckf.forget_user, ckf.open_source TO pecia_system;
GRANT EXECUTE ON FUNCTION ckf.claim TO pecia_app, pecia_system;

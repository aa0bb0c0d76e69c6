-- A source that is switched off has no files for anybody, administrators included, until it is switched on
-- again: its classes have no members, and nobody may write. The source itself stays listed, and its owners
-- may govern it.

CREATE OR REPLACE FUNCTION kernel.derive_class() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    mode text;
    is_on boolean;
BEGIN
    SELECT trim_mode, enabled INTO mode, is_on FROM kernel.source
     WHERE tenant_id = NEW.tenant_id AND id = NEW.source_id;
    NEW.granted := kernel.as_set(NEW.granted);
    NEW.reading := kernel.as_set(NEW.reading);
    NEW.writing := kernel.as_set(NEW.writing);
    NEW.facts := CASE WHEN NEW.is_source THEN 'source'
        ELSE kernel.facts_of(NEW.granted, NEW.reading, NEW.writing, NEW.known) END;
    IF NOT (is_on OR NEW.is_source) THEN
        NEW.principals := '{}';
        RETURN NEW;
    END IF;
    NEW.principals := kernel.as_set(
        ARRAY(SELECT id FROM kernel.principal
               WHERE tenant_id = NEW.tenant_id AND kind = 'role' AND scope = ''
                 AND (value = 'admin' OR (value = 'everyone' AND mode = 'open')))
        || ARRAY(SELECT principal_id FROM kernel.source_role
                  WHERE tenant_id = NEW.tenant_id AND source_id = NEW.source_id
                    AND (role <> 'reader' OR mode = 'source_only' OR NEW.is_source))
        || CASE WHEN NEW.is_source THEN
               ARRAY(SELECT principal_id FROM kernel.folder_grant
                      WHERE tenant_id = NEW.tenant_id AND source_id = NEW.source_id)
           ELSE NEW.writing END
        || CASE WHEN mode = 'per_file' THEN NEW.reading ELSE '{}' END
        || CASE WHEN mode = 'per_file' AND NEW.known THEN NEW.granted ELSE '{}' END);
    RETURN NEW;
END
$$;

DROP TRIGGER followed ON kernel.source;
CREATE TRIGGER followed AFTER UPDATE OF trim_mode, enabled ON kernel.source
    FOR EACH ROW EXECUTE FUNCTION kernel.follow_source();

CREATE OR REPLACE FUNCTION kernel.may_write(in_source text, in_key text) RETURNS boolean
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

-- Those that are off already.
UPDATE kernel.source SET enabled = false WHERE NOT enabled;

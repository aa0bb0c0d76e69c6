-- ACL classes: derived by triggers from roles, trim mode and grants; with counts of their files and chunks.

CREATE FUNCTION kernel.as_set(members integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE AS
$$ SELECT COALESCE(array_agg(DISTINCT m ORDER BY m), '{}') FROM unnest(members) AS m WHERE m IS NOT NULL $$;

CREATE FUNCTION kernel.with_or_without(members integer[], one integer, wanted boolean) RETURNS integer[]
LANGUAGE sql IMMUTABLE AS
$$ SELECT kernel.as_set(CASE WHEN wanted THEN members || one ELSE array_remove(members, one) END) $$;

CREATE FUNCTION kernel.facts_of(granted integer[], reading integer[], writing integer[], known boolean)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT concat_ws('|', kernel.as_set(granted), kernel.as_set(reading), kernel.as_set(writing), known)
$$;

-- Locks a source: shared for writers of files, exclusive for a change of rights.
CREATE FUNCTION kernel.lock_rights(in_tenant uuid, in_source text, alone boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(in_tenant || in_source, 1));
    ELSE
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(in_tenant || in_source, 1));
    END IF;
END
$$;

-- A disabled source has no files for anybody, administrators included: its classes have no members. The source
-- itself stays listed for its owners. Otherwise administrators and writers see everything. Beyond them the trim mode
-- decides: it is the source's roles alone unless files decide, and then grants that are not known count as none.
-- Memories are shown by roles in their source and by grants alone: an administrator who has to read a private one grants
-- themselves its folder, which the audit log keeps.
CREATE FUNCTION kernel.derive_class() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    mode text;
    is_on boolean;
    is_memory boolean;
BEGIN
    SELECT trim_mode, enabled, protocol = 'memory' INTO mode, is_on, is_memory FROM kernel.source
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
                 AND (value = 'admin' OR (value = 'everyone' AND mode = 'open')) AND (NEW.is_source OR NOT is_memory))
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
CREATE TRIGGER derived BEFORE INSERT OR UPDATE OF granted, reading, writing, known ON kernel.acl
    FOR EACH ROW EXECUTE FUNCTION kernel.derive_class();

CREATE FUNCTION kernel.derive_again(in_tenant uuid, in_source text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM kernel.lock_rights(in_tenant, in_source, true);
    UPDATE kernel.acl SET known = known WHERE tenant_id = in_tenant AND source_id = in_source;
END
$$;

CREATE FUNCTION kernel.class_of(in_tenant uuid, in_source text, in_granted integer[], in_reading integer[],
                                in_writing integer[], in_known boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    found bigint;
BEGIN
    SELECT min(id) INTO found FROM kernel.acl
     WHERE tenant_id = in_tenant AND source_id = in_source
       AND facts = kernel.facts_of(in_granted, in_reading, in_writing, in_known);
    IF found IS NULL THEN
        INSERT INTO kernel.acl (tenant_id, source_id, granted, reading, writing, known, facts, principals)
        SELECT in_tenant, in_source, in_granted, in_reading, in_writing, in_known, '', '{}'
          FROM kernel.source WHERE tenant_id = in_tenant AND id = in_source
        RETURNING id INTO found;
    END IF;
    RETURN found;
END
$$;

-- A grant on the folder /docs/ of a site is one on its page /docs as well, with whatever query: /docs?page=2.
-- Never on /docs-old. Only the folders of sites begin with a slash; of all others it is the keys below them.

-- Whether what is granted on a folder is granted on the file with this key.
CREATE FUNCTION kernel.covers(prefix text, key text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT starts_with(key, prefix)
        OR (prefix <> '/' AND starts_with(prefix, '/') AND starts_with(key || '?', left(prefix, -1) || '?'))
$$;

CREATE FUNCTION kernel.folder_holders(in_tenant uuid, in_source text, in_key text, in_role text)
RETURNS integer[] LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT kernel.as_set(array_agg(principal_id)) FROM kernel.folder_grant
     WHERE tenant_id = in_tenant AND source_id = in_source AND role = in_role
       AND kernel.covers(prefix, in_key)
$$;

-- A new file, or one that moves, gets its class from the folders above it; its own grants come later.
CREATE FUNCTION kernel.place_file() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    old_class kernel.acl;
BEGIN
    PERFORM kernel.lock_rights(NEW.tenant_id, NEW.source_id, false);
    IF TG_OP = 'UPDATE' THEN
        SELECT * INTO old_class FROM kernel.acl WHERE tenant_id = OLD.tenant_id AND id = OLD.acl_id;
    END IF;
    -- In a source that does not exist the file gets no class and no error: policies are checked after this,
    -- and refuse with the same message as for a source that the caller may not see.
    NEW.acl_id := COALESCE(kernel.class_of(
        NEW.tenant_id, NEW.source_id, COALESCE(old_class.granted, '{}'),
        kernel.folder_holders(NEW.tenant_id, NEW.source_id, NEW.key, 'reader'),
        kernel.folder_holders(NEW.tenant_id, NEW.source_id, NEW.key, 'writer'),
        COALESCE(old_class.known, true)), 0);
    RETURN NEW;
END
$$;
CREATE TRIGGER placed BEFORE INSERT OR UPDATE OF source_id, key ON kernel.file
    FOR EACH ROW EXECUTE FUNCTION kernel.place_file();

CREATE TYPE kernel.file_move AS (tenant_id uuid, acl_id bigint, files integer, size_bytes bigint, chunks bigint);

CREATE FUNCTION kernel.count_moves(moves kernel.file_move[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    -- Always in the order of their ids: two writers must not wait for each other.
    PERFORM 1 FROM kernel.acl a
      JOIN (SELECT tenant_id, acl_id FROM unnest(moves) GROUP BY 1, 2
            HAVING sum(files) <> 0 OR sum(chunks) <> 0) AS m
        ON a.tenant_id = m.tenant_id AND a.id = m.acl_id
     ORDER BY a.id FOR NO KEY UPDATE OF a;
    UPDATE kernel.acl a SET files = a.files + net.files, chunks = a.chunks + net.chunks
      FROM (SELECT tenant_id, acl_id, sum(files) AS files, sum(chunks) AS chunks FROM unnest(moves)
             GROUP BY 1, 2 HAVING sum(files) <> 0 OR sum(chunks) <> 0) AS net
     WHERE a.tenant_id = net.tenant_id AND a.id = net.acl_id;
    -- A tenant that is being removed takes its use with it.
    INSERT INTO kernel.usage AS u (tenant_id, kind, used)
    SELECT t.id, kind, sum(n) FROM unnest(moves) AS m JOIN kernel.tenant t ON t.id = m.tenant_id,
           LATERAL (VALUES ('files', m.files::bigint), ('bytes', m.size_bytes), ('chunks', m.chunks)) AS v (kind, n)
     GROUP BY 1, 2 HAVING sum(n) <> 0
     ORDER BY 1, 2
        ON CONFLICT (tenant_id, kind) DO UPDATE SET used = u.used + EXCLUDED.used;
END
$$;

-- Counts per class and use per tenant. An update that moves no file between classes touches no class.
CREATE FUNCTION kernel.count_files() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM kernel.count_moves(array_agg(m)) FROM (
            SELECT (tenant_id, acl_id, 1, COALESCE(size_bytes, 0), chunk_count)::kernel.file_move FROM come_rows) AS c (m);
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM kernel.count_moves(array_agg(m)) FROM (
            SELECT (tenant_id, acl_id, -1, -COALESCE(size_bytes, 0), -chunk_count)::kernel.file_move
              FROM left_rows) AS c (m);
    ELSE
        PERFORM kernel.count_moves(array_agg(m)) FROM (
            SELECT (tenant_id, acl_id, 1, COALESCE(size_bytes, 0), chunk_count)::kernel.file_move FROM come_rows
            UNION ALL
            SELECT (tenant_id, acl_id, -1, -COALESCE(size_bytes, 0), -chunk_count)::kernel.file_move
              FROM left_rows) AS c (m);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER counted_in AFTER INSERT ON kernel.file
    REFERENCING NEW TABLE AS come_rows FOR EACH STATEMENT EXECUTE FUNCTION kernel.count_files();
CREATE TRIGGER counted_out AFTER DELETE ON kernel.file
    REFERENCING OLD TABLE AS left_rows FOR EACH STATEMENT EXECUTE FUNCTION kernel.count_files();
CREATE TRIGGER counted_over AFTER UPDATE ON kernel.file
    REFERENCING OLD TABLE AS left_rows NEW TABLE AS come_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kernel.count_files();

-- Every source has one class that decides who sees the source itself.
CREATE FUNCTION kernel.open_source() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    INSERT INTO kernel.acl (tenant_id, source_id, is_source, facts, principals)
    VALUES (NEW.tenant_id, NEW.id, true, '', '{}');
    RETURN NULL;
END
$$;
CREATE TRIGGER opened AFTER INSERT ON kernel.source
    FOR EACH ROW EXECUTE FUNCTION kernel.open_source();

CREATE FUNCTION kernel.follow_source() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'source' THEN
        PERFORM kernel.derive_again(NEW.tenant_id, NEW.id);
    ELSE
        PERFORM kernel.derive_again(COALESCE(NEW.tenant_id, OLD.tenant_id), COALESCE(NEW.source_id, OLD.source_id));
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER followed AFTER UPDATE OF trim_mode, enabled ON kernel.source
    FOR EACH ROW EXECUTE FUNCTION kernel.follow_source();
CREATE TRIGGER followed AFTER INSERT OR UPDATE OR DELETE ON kernel.source_role
    FOR EACH ROW EXECUTE FUNCTION kernel.follow_source();

-- The first key after everything below a folder. Ranges keep their index under row-level security.
CREATE FUNCTION kernel.after_prefix(prefix text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN prefix = '' THEN NULL ELSE left(prefix, -1) || '0' END $$;

-- A folder grant changed for one principal: each class below the folder is edited in place when all
-- its files agree, and split when they do not.
CREATE FUNCTION kernel.regrant_folder(in_tenant uuid, in_source text, in_prefix text, in_principal integer)
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

CREATE FUNCTION kernel.follow_folder() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM kernel.regrant_folder(OLD.tenant_id, OLD.source_id, OLD.prefix, OLD.principal_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM kernel.regrant_folder(NEW.tenant_id, NEW.source_id, NEW.prefix, NEW.principal_id);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER followed AFTER INSERT OR UPDATE OR DELETE ON kernel.folder_grant
    FOR EACH ROW EXECUTE FUNCTION kernel.follow_folder();

-- The grants of one file, as captured from where it came or as its owners wish.
CREATE FUNCTION kernel.regrant_file(in_tenant uuid, in_source text, in_key text, in_granted integer[], in_known boolean)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    class kernel.acl;
BEGIN
    PERFORM kernel.lock_rights(in_tenant, in_source, true);
    SELECT a.* INTO class FROM kernel.file f
      JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id
     WHERE f.tenant_id = in_tenant AND f.source_id = in_source AND f.key = in_key;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF class.granted = kernel.as_set(in_granted) AND class.known = in_known THEN
        RETURN true;
    END IF;
    IF class.files = 1 THEN
        UPDATE kernel.acl SET granted = in_granted, known = in_known
         WHERE tenant_id = in_tenant AND id = class.id;
    ELSE
        UPDATE kernel.file SET acl_id = kernel.class_of(
                   in_tenant, in_source, in_granted, class.reading, class.writing, in_known)
         WHERE tenant_id = in_tenant AND source_id = in_source AND key = in_key;
    END IF;
    RETURN true;
END
$$;

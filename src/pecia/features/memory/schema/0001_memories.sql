-- Memories are files of the source `memory`: text, rights, search, revisions, purge and backup are the corpus's.
-- Here are the folder a user writes to and the metadata of a memory.

CREATE SCHEMA memory;
GRANT USAGE ON SCHEMA memory TO pecia_app;
GRANT USAGE, CREATE ON SCHEMA memory TO pecia_system;

CREATE TABLE memory.item (
    tenant_id uuid NOT NULL,
    file_id bigint NOT NULL,
    id uuid NOT NULL,
    facts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(facts) = 'object'),
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, file_id),
    UNIQUE (tenant_id, id),
    FOREIGN KEY (tenant_id, file_id) REFERENCES kernel.file (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('memory.item');
COMMENT ON TABLE memory.item IS 'system-only: callers ask memory.items, which shows what they may see; pecia_app has no privilege here';

-- The source, made at the first memory of a tenant. Below `shared/` every member reads, until whoever
-- governs the source takes that away.
CREATE FUNCTION memory.open_source() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    INSERT INTO kernel.source (tenant_id, id, protocol, trim_mode)
    VALUES (kernel.tenant(), 'memory', 'memory', 'per_file') ON CONFLICT DO NOTHING;
    IF FOUND THEN
        INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)
        SELECT p.tenant_id, 'memory', 'shared/', p.id, 'reader' FROM kernel.principal p
         WHERE p.tenant_id = kernel.tenant() AND p.kind = 'role' AND p.scope = '' AND p.value = 'everyone';
    ELSIF NOT EXISTS (SELECT 1 FROM kernel.source
                       WHERE tenant_id = kernel.tenant() AND id = 'memory' AND protocol = 'memory') THEN
        RAISE EXCEPTION 'a source that holds no memories has the name memory' USING ERRCODE = 'PE403';
    END IF;
END
$$;

-- Lets the caller keep memories of their own, alone (`user`) or for all to read (`shared`). Rights change
-- at the first one only, so that those who write do not wait for each other.
CREATE FUNCTION memory.claim(in_scope text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    mine integer := (SELECT principal_id FROM kernel.user_account
                      WHERE tenant_id = kernel.tenant() AND id = kernel.user_id());
    folder text := in_scope || '/' || kernel.user_id() || '/';
BEGIN
    IF mine IS NULL OR NOT kernel.is_member() OR NOT kernel.has_scope('pecia.write') THEN
        RAISE EXCEPTION 'remembering needs a user and the scope pecia.write' USING ERRCODE = 'PE403';
    END IF;
    IF in_scope NOT IN ('user', 'shared') THEN
        RAISE EXCEPTION 'a memory is of a user or shared' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (SELECT 1 FROM kernel.folder_grant g
                 JOIN kernel.source s ON s.tenant_id = g.tenant_id AND s.id = g.source_id AND s.protocol = 'memory'
                WHERE g.tenant_id = kernel.tenant() AND g.source_id = 'memory' AND g.prefix = folder
                  AND g.principal_id = mine AND g.role = 'writer') THEN
        RETURN;
    END IF;
    PERFORM kernel.lock_rights(kernel.tenant(), 'memory', true);
    PERFORM memory.open_source();
    INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)
    VALUES (kernel.tenant(), 'memory', folder, mine, 'writer') ON CONFLICT DO NOTHING;
END
$$;

-- What is known of the memory at this key. Its file is written before, by whoever may.
CREATE FUNCTION memory.note(in_key text, in_id uuid, in_facts jsonb, in_created_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_write('memory', in_key) THEN
        RAISE EXCEPTION 'this memory is not yours to change' USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO memory.item AS i (tenant_id, file_id, id, facts, created_at)
    SELECT f.tenant_id, f.id, in_id, in_facts, COALESCE(in_created_at, now()) FROM kernel.file f
     WHERE f.tenant_id = kernel.tenant() AND f.source_id = 'memory' AND f.key = in_key
    ON CONFLICT (tenant_id, file_id) DO UPDATE SET facts = EXCLUDED.facts, changed_at = now();
END
$$;

-- What is known of the memories in these files, as far as the caller may see them.
CREATE FUNCTION memory.items(in_files bigint[])
RETURNS TABLE (file_id bigint, id uuid, facts jsonb, created_at timestamptz, changed_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
    SELECT i.file_id, i.id, i.facts, i.created_at, i.changed_at FROM memory.item i
      JOIN kernel.file f ON f.tenant_id = i.tenant_id AND f.id = i.file_id
      JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id AND a.principals && kernel.me()
     WHERE i.tenant_id = kernel.tenant() AND i.file_id = ANY (in_files)
$$;

-- The files of these memories, as far as the caller may see them.
CREATE FUNCTION memory.files(in_ids uuid[]) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
    SELECT i.file_id FROM memory.item i
      JOIN kernel.file f ON f.tenant_id = i.tenant_id AND f.id = i.file_id
      JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id AND a.principals && kernel.me()
     WHERE i.tenant_id = kernel.tenant() AND i.id = ANY (in_ids)
$$;

-- Embeddings computed by the call that stored the memory, so that semantic search finds it at once. The embedding job
-- adds those of other chunks.
CREATE FUNCTION memory.add_vectors(in_model text, in_dims integer, in_chunks bigint[], in_hashes text[], in_vectors text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF kernel.has_vectors() THEN
        EXECUTE 'INSERT INTO kernel.vector (tenant_id, chunk_id, file_id, model, text_hash, dims, embedding)
                 SELECT c.tenant_id, c.id, c.file_id, $2, decode(a.text_hash, ''hex''), $3, a.embedding::public.halfvec
                   FROM unnest($4, $5, $6) AS a (id, text_hash, embedding)
                   JOIN kernel.chunk c ON c.tenant_id = $1 AND c.id = a.id
                   JOIN kernel.file f ON f.tenant_id = c.tenant_id AND f.id = c.file_id
                  WHERE f.source_id = ''memory'' AND kernel.may_write(f.source_id, f.key)
                 ON CONFLICT DO NOTHING'
            USING kernel.tenant(), in_model, in_dims, in_chunks, in_hashes, in_vectors;
    END IF;
END
$$;

-- Purging a user deletes their memories, shared ones too.
CREATE FUNCTION memory.forget_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    DELETE FROM kernel.file f
     WHERE f.tenant_id = OLD.tenant_id AND f.source_id = 'memory'
       AND (starts_with(f.key, 'user/' || OLD.id || '/') OR starts_with(f.key, 'shared/' || OLD.id || '/'));
    RETURN NULL;
END
$$;
CREATE TRIGGER memories_forgotten AFTER DELETE ON kernel.user_account
    FOR EACH ROW EXECUTE FUNCTION memory.forget_user();

ALTER FUNCTION memory.open_source OWNER TO pecia_system;
ALTER FUNCTION memory.claim OWNER TO pecia_system;
ALTER FUNCTION memory.note OWNER TO pecia_system;
ALTER FUNCTION memory.items OWNER TO pecia_system;
ALTER FUNCTION memory.files OWNER TO pecia_system;
ALTER FUNCTION memory.add_vectors OWNER TO pecia_system;
ALTER FUNCTION memory.forget_user OWNER TO pecia_system;
REVOKE ALL ON FUNCTION memory.open_source, memory.claim, memory.note, memory.items, memory.files,
    memory.add_vectors, memory.forget_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory.open_source TO pecia_system;
GRANT EXECUTE ON FUNCTION memory.claim, memory.note, memory.items, memory.files, memory.add_vectors
    TO pecia_app, pecia_system;

-- Earlier texts of a memory stay readable as long as the memory exists.
CREATE FUNCTION memory.keep_revisions() RETURNS trigger
LANGUAGE plpgsql SET search_path = kernel, pg_temp AS $$
BEGIN
    NEW.keeps_revisions := true;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION memory.keep_revisions FROM PUBLIC;
CREATE TRIGGER revisions_kept BEFORE INSERT ON kernel.source
    FOR EACH ROW WHEN (NEW.protocol = 'memory') EXECUTE FUNCTION memory.keep_revisions();

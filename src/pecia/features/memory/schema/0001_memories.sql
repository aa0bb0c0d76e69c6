-- Memories are files of the source `memory`: text, rights, search, purge and backup are the corpus's. The text of a
-- memory never changes; what replaces it is another memory. Here are the folder a user writes to, and what is known
-- of a memory: when it was said, from when to when it holds, what took its place.

CREATE SCHEMA memory;
GRANT USAGE ON SCHEMA memory TO pecia_app;
GRANT USAGE, CREATE ON SCHEMA memory TO pecia_system;

CREATE TABLE memory.item (
    tenant_id uuid NOT NULL,
    file_id bigint NOT NULL,
    id uuid NOT NULL,
    facts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(facts) = 'object'),
    words_hash text NOT NULL,
    said_at timestamptz NOT NULL,
    last_said_at timestamptz NOT NULL,
    times integer NOT NULL DEFAULT 1 CHECK (times > 0),
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    superseded_by uuid,
    same_as uuid,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, file_id),
    UNIQUE (tenant_id, id),
    FOREIGN KEY (tenant_id, file_id) REFERENCES kernel.file (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX item_words ON memory.item (tenant_id, words_hash);
CREATE INDEX item_superseded ON memory.item (tenant_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX item_standing ON memory.item (tenant_id, file_id) WHERE facts ? 'standing';
CREATE INDEX item_same ON memory.item (tenant_id, same_as) WHERE same_as IS NOT NULL;
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

-- What is known of these memories. Their files are written before, by whoever may.
CREATE FUNCTION memory.note(in_items jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM jsonb_array_elements(in_items) AS it WHERE NOT kernel.may_write('memory', it->>'key')) THEN
        RAISE EXCEPTION 'this memory is not yours to change' USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO memory.item AS i (tenant_id, file_id, id, facts, words_hash, said_at, last_said_at, times,
                                  valid_from, valid_to, superseded_by, same_as)
    SELECT f.tenant_id, f.id, it.id, it.facts, it.words_hash, COALESCE(it.said_at, now()),
           COALESCE(it.last_said_at, it.said_at, now()), COALESCE(it.times, 1),
           COALESCE(it.valid_from, it.said_at, now()), it.valid_to, it.superseded_by, it.same_as
      FROM jsonb_to_recordset(in_items) AS it (
               key text, id uuid, facts jsonb, words_hash text, said_at timestamptz, last_said_at timestamptz,
               times integer, valid_from timestamptz, valid_to timestamptz, superseded_by uuid, same_as uuid)
      JOIN kernel.file f ON f.tenant_id = kernel.tenant() AND f.source_id = 'memory' AND f.key = it.key
    ON CONFLICT (tenant_id, file_id) DO UPDATE
       SET facts = EXCLUDED.facts, last_said_at = EXCLUDED.last_said_at, times = EXCLUDED.times,
           valid_from = EXCLUDED.valid_from, valid_to = EXCLUDED.valid_to, superseded_by = EXCLUDED.superseded_by,
           same_as = EXCLUDED.same_as, changed_at = now();
END
$$;

-- What is known of the memories in these files, as far as the caller may see them.
CREATE FUNCTION memory.items(in_files bigint[])
RETURNS TABLE (file_id bigint, id uuid, facts jsonb, said_at timestamptz, last_said_at timestamptz, times integer,
               valid_from timestamptz, valid_to timestamptz, superseded_by uuid, same_as uuid, changed_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
    SELECT i.file_id, i.id, i.facts, i.said_at, i.last_said_at, i.times, i.valid_from, i.valid_to, i.superseded_by,
           i.same_as, i.changed_at
      FROM memory.item i
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

-- The files whose memories have one of these hashes, as far as the caller may see them.
CREATE FUNCTION memory.files_with_words(in_hashes text[]) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
    SELECT i.file_id FROM memory.item i
      JOIN kernel.file f ON f.tenant_id = i.tenant_id AND f.id = i.file_id
      JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id AND a.principals && kernel.me()
     WHERE i.tenant_id = kernel.tenant() AND i.words_hash = ANY (in_hashes)
     ORDER BY i.file_id
$$;

-- The files of everything that is linked to a memory, by whatever number of steps: what it superseded, what superseded
-- it, its other wordings. As far as the caller may see them.
CREATE FUNCTION memory.linked_files(in_id uuid) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
    WITH RECURSIVE linked (id) AS (
        SELECT in_id
        UNION
        SELECT near.id FROM linked l, LATERAL (
            SELECT i.id FROM memory.item i WHERE i.tenant_id = kernel.tenant() AND i.superseded_by = l.id
            UNION ALL
            SELECT i.id FROM memory.item i WHERE i.tenant_id = kernel.tenant() AND i.same_as = l.id
            UNION ALL
            SELECT unnest(ARRAY[i.superseded_by, i.same_as]) FROM memory.item i
             WHERE i.tenant_id = kernel.tenant() AND i.id = l.id) AS near
         WHERE near.id IS NOT NULL)
    SELECT i.file_id FROM linked l
      JOIN memory.item i ON i.tenant_id = kernel.tenant() AND i.id = l.id
      JOIN kernel.file f ON f.tenant_id = i.tenant_id AND f.id = i.file_id
      JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id AND a.principals && kernel.me()
$$;

-- For each of these files those that were stored just before and after it, in the same folder and session, and said
-- within an hour of it. Whoever may see one may see the others: they have the same ACL class.
CREATE FUNCTION memory.neighbours(in_files bigint[], in_reach integer)
RETURNS TABLE (of_file bigint, file_id bigint, place integer)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 60 SET search_path = kernel, pg_temp AS $$
    SELECT mine.file_id, near.file_id, near.place
      FROM memory.item mine
      JOIN kernel.file f ON f.tenant_id = mine.tenant_id AND f.id = mine.file_id
      JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id AND a.principals && kernel.me()
      CROSS JOIN LATERAL (
        (SELECT i.file_id, -row_number() OVER (ORDER BY i.file_id DESC)::integer AS place FROM memory.item i
          WHERE i.tenant_id = mine.tenant_id AND i.file_id < mine.file_id ORDER BY i.file_id DESC LIMIT in_reach)
        UNION ALL
        (SELECT i.file_id, row_number() OVER (ORDER BY i.file_id)::integer FROM memory.item i
          WHERE i.tenant_id = mine.tenant_id AND i.file_id > mine.file_id ORDER BY i.file_id LIMIT in_reach)) AS near
      JOIN memory.item other ON other.tenant_id = mine.tenant_id AND other.file_id = near.file_id
       AND other.facts->>'sourceSessionId' IS NOT DISTINCT FROM mine.facts->>'sourceSessionId'
       AND other.said_at BETWEEN mine.said_at - interval '1 hour' AND mine.said_at + interval '1 hour'
      JOIN kernel.file o ON o.tenant_id = other.tenant_id AND o.id = other.file_id AND o.acl_id = f.acl_id
       AND regexp_replace(o.key, '[^/]*$', '') = regexp_replace(f.key, '[^/]*$', '')
     WHERE mine.tenant_id = kernel.tenant() AND mine.file_id = ANY (in_files)
$$;

-- Memories that a keyword index at this commit does not hold yet, newest first, as far as the caller may see them.
CREATE FUNCTION memory.unindexed(in_after bigint, in_most integer) RETURNS TABLE (chunk_id bigint, file_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
    SELECT c.id, c.file_id FROM (
        SELECT f.tenant_id, f.id FROM kernel.file f
          JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id AND a.principals && kernel.me()
         WHERE f.tenant_id = kernel.tenant() AND f.source_id = 'memory'
           AND f.id IN (SELECT h.file_id FROM kernel.tick t
                          JOIN kernel.change h ON h.tenant_id = t.tenant_id AND h.tick_id = t.id
                         WHERE t.tenant_id = kernel.tenant() AND t.n > in_after)
         ORDER BY f.id DESC LIMIT in_most) AS f
      JOIN kernel.chunk c ON c.tenant_id = f.tenant_id AND c.file_id = f.id
$$;

-- Standing instructions and preferences that hold, newest first, as far as the caller may see them.
CREATE FUNCTION memory.standing(in_most integer) RETURNS TABLE (chunk_id bigint, file_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
    SELECT c.id, c.file_id FROM (
        SELECT i.tenant_id, i.file_id FROM memory.item i
          JOIN kernel.file f ON f.tenant_id = i.tenant_id AND f.id = i.file_id
          JOIN kernel.acl a ON a.tenant_id = f.tenant_id AND a.id = f.acl_id AND a.principals && kernel.me()
         WHERE i.tenant_id = kernel.tenant() AND i.facts ? 'standing' AND i.valid_to IS NULL AND i.same_as IS NULL
         ORDER BY i.file_id DESC LIMIT in_most) AS i
      JOIN kernel.chunk c ON c.tenant_id = i.tenant_id AND c.file_id = i.file_id
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
ALTER FUNCTION memory.files_with_words OWNER TO pecia_system;
ALTER FUNCTION memory.linked_files OWNER TO pecia_system;
ALTER FUNCTION memory.neighbours OWNER TO pecia_system;
ALTER FUNCTION memory.standing OWNER TO pecia_system;
ALTER FUNCTION memory.unindexed OWNER TO pecia_system;
ALTER FUNCTION memory.add_vectors OWNER TO pecia_system;
ALTER FUNCTION memory.forget_user OWNER TO pecia_system;
REVOKE ALL ON FUNCTION memory.open_source, memory.claim, memory.note, memory.items, memory.files,
    memory.files_with_words, memory.linked_files, memory.neighbours, memory.unindexed, memory.standing,
    memory.add_vectors, memory.forget_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory.open_source TO pecia_system;
GRANT EXECUTE ON FUNCTION memory.claim, memory.note, memory.items, memory.files, memory.files_with_words,
    memory.linked_files, memory.neighbours, memory.unindexed, memory.standing, memory.add_vectors TO pecia_app, pecia_system;

-- What was said is not rewritten, by no tool and no job.
CREATE FUNCTION memory.keep_words() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM kernel.source
                WHERE tenant_id = OLD.tenant_id AND id = OLD.source_id AND protocol = 'memory') THEN
        RAISE EXCEPTION 'the words of a memory do not change' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
ALTER FUNCTION memory.keep_words OWNER TO pecia_system;
REVOKE ALL ON FUNCTION memory.keep_words FROM PUBLIC;
CREATE TRIGGER memory_words_kept BEFORE UPDATE OF revision_id ON kernel.file
    FOR EACH ROW WHEN (OLD.source_id = 'memory' AND OLD.revision_id IS NOT NULL
                       AND NEW.revision_id IS DISTINCT FROM OLD.revision_id)
    EXECUTE FUNCTION memory.keep_words();

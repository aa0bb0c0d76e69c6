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
COMMENT ON TABLE memory.item IS 'system-only: callers ask memory.find, which shows what they may see; pecia_app has no privilege here';

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

-- What is known of these memories. Their files are written before, by whoever may. LATERAL with OFFSET 0 forces look-ups
-- by key: the planner takes the items for a hundred, and would read all files for them.
CREATE FUNCTION memory.note(in_items jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    here uuid := kernel.tenant();
    changed record;
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
           CROSS JOIN LATERAL (SELECT * FROM kernel.file k
                                WHERE k.tenant_id = here AND k.source_id = 'memory' AND k.key = it.key OFFSET 0) AS f
    ON CONFLICT (tenant_id, file_id) DO UPDATE
       SET facts = EXCLUDED.facts, last_said_at = EXCLUDED.last_said_at, times = EXCLUDED.times,
           valid_from = EXCLUDED.valid_from, valid_to = EXCLUDED.valid_to, superseded_by = EXCLUDED.superseded_by,
           same_as = EXCLUDED.same_as, changed_at = now();
    FOR changed IN
        SELECT f.id, it.valid_to
          FROM jsonb_to_recordset(in_items) AS it (key text, valid_to timestamptz)
               CROSS JOIN LATERAL (SELECT * FROM kernel.file k
                                    WHERE k.tenant_id = here AND k.source_id = 'memory' AND k.key = it.key OFFSET 0) AS f
         WHERE f.ended_at IS DISTINCT FROM it.valid_to
    LOOP
        UPDATE kernel.file f SET ended_at = changed.valid_to WHERE f.tenant_id = here AND f.id = changed.id;
    END LOOP;
END
$$;

-- A memory as a caller reads it.
CREATE TYPE memory.shown AS (
    file_id bigint, key text, text text, id uuid, facts jsonb, said_at timestamptz, last_said_at timestamptz,
    times integer, valid_from timestamptz, valid_to timestamptz, superseded_by uuid, same_as uuid,
    changed_at timestamptz);

-- The functions below that searches call are in PL/pgSQL: its plans are kept, and tenant and caller are read once.

-- The memories in these files, with these ids or with one of these hashes of their words, by file, as far as the caller
-- may see them. LATERAL with OFFSET 0 forces look-ups by key: there are few rows, which the planner cannot know.
CREATE FUNCTION memory.find(in_files bigint[], in_ids uuid[], in_hashes text[]) RETURNS SETOF memory.shown
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
DECLARE
    here uuid := kernel.tenant();
    mine integer[] := kernel.me();
BEGIN
    IF in_ids <> '{}' THEN
        in_files := in_files || ARRAY(SELECT i.file_id FROM memory.item i WHERE i.tenant_id = here AND i.id = ANY (in_ids));
    END IF;
    IF in_hashes <> '{}' THEN
        in_files := in_files || ARRAY(SELECT i.file_id FROM memory.item i
                                       WHERE i.tenant_id = here AND i.words_hash = ANY (in_hashes));
    END IF;
    IF in_files = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT i.file_id, f.key, r.text, i.id, i.facts, i.said_at, i.last_said_at, i.times, i.valid_from, i.valid_to,
               i.superseded_by, i.same_as, i.changed_at
          FROM (SELECT DISTINCT unnest(in_files) AS id ORDER BY 1) AS asked,
               LATERAL (SELECT * FROM memory.item WHERE tenant_id = here AND file_id = asked.id OFFSET 0) AS i,
               LATERAL (SELECT * FROM kernel.file WHERE tenant_id = here AND id = asked.id OFFSET 0) AS f,
               LATERAL (SELECT 1 FROM kernel.acl WHERE tenant_id = here AND id = f.acl_id AND principals && mine
                        OFFSET 0) AS a,
               LATERAL (SELECT * FROM kernel.revision WHERE tenant_id = here AND id = f.revision_id OFFSET 0) AS r;
END
$$;

-- Holds the caller's memories until the transaction ends, and then reads some of them, with all that was committed while
-- it waited: every query of a VOLATILE function sees what was committed before it. One writer per user at a time, so that
-- a retried call is idempotent.
CREATE FUNCTION memory.hold(in_ids uuid[], in_hashes text[]) RETURNS SETOF memory.shown
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(kernel.tenant() || 'memory' || kernel.user_id(), 1));
    RETURN QUERY SELECT * FROM memory.find('{}', in_ids, in_hashes);
END
$$;

-- The files of these chunks, with the chunks of each and their cosines with a vector; NULL for one without. Whoever calls
-- it checks rights.
CREATE FUNCTION memory.hits(in_chunks bigint[], in_query text, in_dims integer, in_model text)
RETURNS TABLE (file_id bigint, chunks bigint[], cosines double precision[])
LANGUAGE plpgsql STABLE ROWS 60 SET search_path = kernel, pg_temp AS $$
DECLARE
    here uuid := kernel.tenant();
BEGIN
    IF in_query IS NULL THEN
        RETURN QUERY
            SELECT c.file_id, array_agg(c.id), array_agg(NULL::double precision)
              FROM unnest(in_chunks) AS asked (id),
                   LATERAL (SELECT * FROM kernel.chunk k WHERE k.tenant_id = here AND k.id = asked.id OFFSET 0) AS c
             GROUP BY c.file_id;
        RETURN;
    END IF;
    -- Materialized: a plan that is kept would parse the text of the vector again for every row.
    RETURN QUERY
        WITH wanted AS MATERIALIZED (SELECT in_query::public.halfvec AS embedding)
        SELECT c.file_id, array_agg(c.id), array_agg(1 - (v.embedding OPERATOR(public.<=>) wanted.embedding))
          FROM wanted
               CROSS JOIN unnest(in_chunks) AS asked (id)
               CROSS JOIN LATERAL (SELECT * FROM kernel.chunk k WHERE k.tenant_id = here AND k.id = asked.id OFFSET 0) AS c
               LEFT JOIN LATERAL (SELECT embedding FROM kernel.vector WHERE tenant_id = here AND model = in_model
                                     AND vector.chunk_id = asked.id AND dims = in_dims OFFSET 0) AS v ON true
         GROUP BY c.file_id;
END
$$;

-- The memories of these chunks with what memory.hits says of them, as far as the caller may see them.
CREATE FUNCTION memory.recall(in_chunks bigint[], in_query text, in_dims integer, in_model text)
RETURNS TABLE (memory memory.shown, chunks bigint[], cosines double precision[])
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 60 SET search_path = kernel, pg_temp AS $$
DECLARE
    here uuid := kernel.tenant();
    mine integer[] := kernel.me();
BEGIN
    RETURN QUERY
        SELECT ROW(i.file_id, f.key, r.text, i.id, i.facts, i.said_at, i.last_said_at, i.times, i.valid_from, i.valid_to,
                   i.superseded_by, i.same_as, i.changed_at)::memory.shown, h.chunks, h.cosines
          FROM memory.hits(in_chunks, in_query, in_dims, in_model) AS h,
               LATERAL (SELECT * FROM kernel.file k WHERE k.tenant_id = here AND k.id = h.file_id OFFSET 0) AS f,
               LATERAL (SELECT 1 FROM kernel.acl k WHERE k.tenant_id = here AND k.id = f.acl_id AND k.principals && mine
                        OFFSET 0) AS a,
               LATERAL (SELECT * FROM memory.item k WHERE k.tenant_id = here AND k.file_id = h.file_id OFFSET 0) AS i,
               LATERAL (SELECT * FROM kernel.revision k WHERE k.tenant_id = here AND k.id = f.revision_id OFFSET 0) AS r;
END
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
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 60 SET search_path = kernel, pg_temp AS $$
DECLARE
    here uuid := kernel.tenant();
    mine integer[] := kernel.me();
BEGIN
    RETURN QUERY
        SELECT asked.id, near.file_id, near.place
          FROM unnest(in_files) AS asked (id),
               LATERAL (SELECT * FROM memory.item i WHERE i.tenant_id = here AND i.file_id = asked.id OFFSET 0) AS own,
               LATERAL (SELECT * FROM kernel.file f WHERE f.tenant_id = here AND f.id = asked.id OFFSET 0) AS f,
               LATERAL (SELECT 1 FROM kernel.acl a WHERE a.tenant_id = here AND a.id = f.acl_id AND a.principals && mine
                        OFFSET 0) AS a,
               LATERAL (
                 (SELECT i.file_id, -row_number() OVER (ORDER BY i.file_id DESC)::integer AS place, i.facts, i.said_at
                    FROM memory.item i
                   WHERE i.tenant_id = here AND i.file_id < asked.id ORDER BY i.file_id DESC LIMIT in_reach)
                 UNION ALL
                 (SELECT i.file_id, row_number() OVER (ORDER BY i.file_id)::integer, i.facts, i.said_at
                    FROM memory.item i
                   WHERE i.tenant_id = here AND i.file_id > asked.id ORDER BY i.file_id LIMIT in_reach)) AS near,
               LATERAL (SELECT * FROM kernel.file o WHERE o.tenant_id = here AND o.id = near.file_id OFFSET 0) AS o
         WHERE near.facts->>'sourceSessionId' IS NOT DISTINCT FROM own.facts->>'sourceSessionId'
           AND near.said_at BETWEEN own.said_at - interval '1 hour' AND own.said_at + interval '1 hour'
           AND o.acl_id = f.acl_id
           AND regexp_replace(o.key, '[^/]*$', '') = regexp_replace(f.key, '[^/]*$', '');
END
$$;

-- Memories that a keyword index at this commit does not hold yet, newest first, as far as the caller may see them.
CREATE FUNCTION memory.unindexed(in_after bigint, in_most integer) RETURNS TABLE (chunk_id bigint, file_id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
DECLARE
    here uuid := kernel.tenant();
    mine integer[] := kernel.me();
    changed bigint[] := ARRAY(
        SELECT DISTINCT h.file_id
          FROM (SELECT t.id FROM kernel.tick t WHERE t.tenant_id = here AND t.n > in_after OFFSET 0) AS t,
               LATERAL (SELECT c.file_id FROM kernel.change c WHERE c.tenant_id = here AND c.tick_id = t.id OFFSET 0) AS h
         ORDER BY h.file_id DESC);
BEGIN
    IF changed = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT c.id, c.file_id
          FROM (SELECT f.id FROM unnest(changed) WITH ORDINALITY AS asked (id, place),
                       LATERAL (SELECT * FROM kernel.file k WHERE k.tenant_id = here AND k.id = asked.id OFFSET 0) AS f,
                       LATERAL (SELECT 1 FROM kernel.acl a WHERE a.tenant_id = here AND a.id = f.acl_id
                                   AND a.principals && mine OFFSET 0) AS a
                 WHERE f.source_id = 'memory' ORDER BY asked.place LIMIT in_most) AS f,
               LATERAL (SELECT * FROM kernel.chunk k WHERE k.tenant_id = here AND k.file_id = f.id OFFSET 0) AS c;
END
$$;

-- The chunks of standing instructions and preferences that hold and whose key matches a pattern, instructions first and
-- then newest first, as far as the caller may see them. However many preferences there are, no instruction gives way.
CREATE FUNCTION memory.standing(in_most integer, in_patterns text[]) RETURNS TABLE (chunk_id bigint, file_id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 SET search_path = kernel, pg_temp AS $$
DECLARE
    here uuid := kernel.tenant();
    mine integer[] := kernel.me();
    standing bigint[] := ARRAY(
        SELECT i.file_id FROM memory.item i
         WHERE i.tenant_id = here AND i.facts ? 'standing' AND i.valid_to IS NULL AND i.same_as IS NULL
         ORDER BY i.facts ->> 'standing' = 'preference', i.file_id DESC);
BEGIN
    IF standing = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT c.id, c.file_id
          FROM (SELECT f.id FROM unnest(standing) WITH ORDINALITY AS asked (id, place),
                       LATERAL (SELECT * FROM kernel.file k WHERE k.tenant_id = here AND k.id = asked.id
                                   AND k.key ~ ANY (in_patterns) OFFSET 0) AS f,
                       LATERAL (SELECT 1 FROM kernel.acl a WHERE a.tenant_id = here AND a.id = f.acl_id
                                   AND a.principals && mine OFFSET 0) AS a
                 ORDER BY asked.place LIMIT in_most) AS f,
               LATERAL (SELECT * FROM kernel.chunk k WHERE k.tenant_id = here AND k.file_id = f.id OFFSET 0) AS c;
END
$$;

-- Embeddings computed by the call that stored the memories, one for each file of one chunk, so that semantic search
-- finds them at once. The embedding job adds those of other chunks.
CREATE FUNCTION memory.add_vectors(in_model text, in_dims integer, in_keys text[], in_hashes text[], in_vectors text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    here uuid := kernel.tenant();
BEGIN
    IF kernel.has_vectors() THEN
        INSERT INTO kernel.vector (tenant_id, chunk_id, file_id, model, text_hash, dims, embedding)
        SELECT here, c.id, f.id, in_model, decode(a.text_hash, 'hex'), in_dims, a.embedding::public.halfvec
          FROM unnest(in_keys, in_hashes, in_vectors) AS a (key, text_hash, embedding),
               LATERAL (SELECT * FROM kernel.file k
                         WHERE k.tenant_id = here AND k.source_id = 'memory' AND k.key = a.key OFFSET 0) AS f,
               LATERAL (SELECT * FROM kernel.chunk k WHERE k.tenant_id = here AND k.file_id = f.id OFFSET 0) AS c
         WHERE f.chunk_count = 1 AND kernel.may_write(f.source_id, f.key)
        ON CONFLICT DO NOTHING;
    END IF;
END
$$;

-- Writes new memories whole: the right to the folders, the files with their texts, what is known of them, and vectors.
-- In one statement: each of them took as long to send and answer as to do.
CREATE FUNCTION memory.add(in_folders text[], in_files jsonb, in_chunks jsonb, in_items jsonb, in_model text,
                           in_dims integer, in_keys text[], in_hashes text[], in_vectors text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM memory.claim(folder) FROM unnest(in_folders) AS folder;
    PERFORM 1 FROM kernel.put_files(NULL, in_files, in_chunks);
    PERFORM memory.note(in_items);
    IF in_keys <> '{}' THEN
        PERFORM memory.add_vectors(in_model, in_dims, in_keys, in_hashes, in_vectors);
    END IF;
END
$$;

-- Runs ANALYZE on the tables of memories that have doubled, their vectors included: without statistics they are read
-- whole, and a search of 3,000 memories takes 130 ms in place of 8.
GRANT MAINTAIN ON memory.item TO pecia_system;
CREATE FUNCTION memory.analyze_grown() RETURNS integer
LANGUAGE sql SET search_path = kernel, pg_temp AS $$
    SELECT kernel.analyze_grown(ARRAY(
        SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = to_regclass('kernel.vector')
        UNION ALL SELECT 'memory.item'::regclass))
$$;
REVOKE ALL ON FUNCTION memory.analyze_grown FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory.analyze_grown TO pecia_system;

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
ALTER FUNCTION memory.find OWNER TO pecia_system;
ALTER FUNCTION memory.hold OWNER TO pecia_system;
ALTER FUNCTION memory.hits OWNER TO pecia_system;
ALTER FUNCTION memory.recall OWNER TO pecia_system;
ALTER FUNCTION memory.linked_files OWNER TO pecia_system;
ALTER FUNCTION memory.neighbours OWNER TO pecia_system;
ALTER FUNCTION memory.standing OWNER TO pecia_system;
ALTER FUNCTION memory.unindexed OWNER TO pecia_system;
ALTER FUNCTION memory.add_vectors OWNER TO pecia_system;
ALTER FUNCTION memory.add OWNER TO pecia_system;
ALTER FUNCTION memory.forget_user OWNER TO pecia_system;
REVOKE ALL ON FUNCTION memory.open_source, memory.claim, memory.note, memory.find, memory.hold, memory.hits, memory.recall,
    memory.linked_files, memory.neighbours, memory.unindexed, memory.standing, memory.add_vectors, memory.add,
    memory.forget_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory.open_source, memory.claim, memory.hits, memory.add_vectors TO pecia_system;
GRANT EXECUTE ON FUNCTION memory.note, memory.find, memory.hold, memory.recall, memory.linked_files, memory.neighbours,
    memory.unindexed, memory.standing, memory.add TO pecia_app, pecia_system;

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

-- Writing files with their texts, and the policies of texts and chunks.
--
-- Each file is looked up by its key, whatever the statistics say: while a source is being filled there are none,
-- and a plan for an empty table reads all of it for every batch. OFFSET 0 keeps the lookup a lookup.

-- Callers work in their own tenant. The system has none and names it.
CREATE FUNCTION kernel.acting_tenant(in_tenant uuid) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF kernel.tenant() = COALESCE(in_tenant, kernel.tenant()) THEN
        RETURN kernel.tenant();
    END IF;
    IF kernel.tenant() IS NULL AND in_tenant IS NOT NULL AND pg_has_role(session_user, 'pecia_system', 'MEMBER') THEN
        RETURN in_tenant;
    END IF;
    RAISE EXCEPTION 'a file belongs to a tenant, and to no other' USING ERRCODE = 'PE403';
END
$$;

CREATE TYPE kernel.put_plan AS (
    place integer, source_id text, key text, old_revision bigint, new_revision bigint, changed boolean, retitled boolean);

-- A source that does not exist and one that is hidden are refused with the same message as a file that the
-- caller may not write.
CREATE FUNCTION kernel.require_may_put(in_tenant uuid, in_files jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    missing text;
BEGIN
    IF kernel.tenant() IS NOT NULL
       AND EXISTS (SELECT 1 FROM jsonb_to_recordset(in_files) AS f (source_id text, key text)
                    WHERE NOT kernel.may_write(f.source_id, f.key)) THEN
        RAISE EXCEPTION 'this file is not yours to write' USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT f.source_id INTO missing FROM jsonb_to_recordset(in_files) AS f (source_id text)
     WHERE NOT EXISTS (SELECT 1 FROM kernel.source s WHERE s.tenant_id = in_tenant AND s.id = f.source_id) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'no source %', missing USING ERRCODE = 'PE404';
    END IF;
END
$$;

-- What is to be done about each text. The rows are held from here on, in the order of their keys.
CREATE FUNCTION kernel.plan_put(in_tenant uuid, in_files jsonb) RETURNS kernel.put_plan[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    plans kernel.put_plan[];
BEGIN
    -- Locked one after the other, as the loop meets them.
    PERFORM 1 FROM (SELECT source_id, key FROM jsonb_to_recordset(in_files) AS a (source_id text, key text)
                     ORDER BY source_id COLLATE "C", key COLLATE "C") AS a
      CROSS JOIN LATERAL (SELECT 1 FROM kernel.file x
                           WHERE x.tenant_id = in_tenant AND x.source_id = a.source_id AND x.key = a.key
                             FOR NO KEY UPDATE) AS f;
    SELECT array_agg((p.place, p.source_id, p.key, p.revision_id,
                      CASE WHEN NOT p.changed THEN p.revision_id
                           WHEN p.sha256 IS NOT NULL THEN nextval(pg_get_serial_sequence('kernel.revision', 'id')) END,
                      p.changed, p.has_text AND p.title IS DISTINCT FROM p.old_title)::kernel.put_plan)
      INTO plans
      FROM (SELECT a.place, a.source_id, a.key, a.has_text, a.title, a.sha256, f.revision_id, f.title AS old_title,
                   a.has_text AND decode(a.sha256, 'hex') IS DISTINCT FROM f.sha256 AS changed
              FROM jsonb_to_recordset(in_files)
                   AS a (place integer, source_id text, key text, has_text boolean, title text, sha256 text)
              LEFT JOIN LATERAL (SELECT x.title, x.revision_id,
                                        (SELECT r.sha256 FROM kernel.revision r
                                          WHERE r.tenant_id = in_tenant AND r.id = x.revision_id) AS sha256
                                   FROM kernel.file x
                                  WHERE x.tenant_id = in_tenant AND x.source_id = a.source_id AND x.key = a.key
                                 OFFSET 0) AS f ON true) AS p;
    RETURN plans;
END
$$;

CREATE FUNCTION kernel.put_rows(in_tenant uuid, in_files jsonb, plans kernel.put_plan[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    INSERT INTO kernel.file AS f (
        tenant_id, source_id, key, size_bytes, modified_at, etag, content_type, storage_class, owner, posix_mode,
        posix_uid, posix_gid, revision_id, title, language, chunk_count, status, reason)
    SELECT in_tenant, a.source_id, a.key, a.size_bytes, a.modified_at, a.etag, a.content_type, a.storage_class, a.owner,
           a.posix_mode, a.posix_uid, a.posix_gid, p.new_revision, COALESCE(a.title, ''), COALESCE(a.language, ''),
           COALESCE(a.chunk_count, 0), COALESCE(a.status, 'waiting'), COALESCE(a.reason, '')
      FROM jsonb_to_recordset(in_files) AS a (
               place integer, source_id text, key text, size_bytes bigint, modified_at timestamptz, etag text,
               content_type text, storage_class text, owner text, posix_mode integer, posix_uid bigint, posix_gid bigint,
               title text, language text, chunk_count integer, status text, reason text)
      JOIN unnest(plans) AS p ON p.place = a.place
     ORDER BY a.source_id, a.key
    ON CONFLICT (tenant_id, source_id, key) DO UPDATE
       SET size_bytes = EXCLUDED.size_bytes, modified_at = EXCLUDED.modified_at, etag = EXCLUDED.etag,
           content_type = EXCLUDED.content_type, storage_class = EXCLUDED.storage_class, owner = EXCLUDED.owner,
           posix_mode = EXCLUDED.posix_mode, posix_uid = EXCLUDED.posix_uid, posix_gid = EXCLUDED.posix_gid,
           revision_id = EXCLUDED.revision_id,
           -- Facts alone leave the text, and all that is known of it, as it was.
           title = CASE WHEN EXCLUDED.status = 'waiting' THEN f.title ELSE EXCLUDED.title END,
           language = CASE WHEN EXCLUDED.status = 'waiting' THEN f.language ELSE EXCLUDED.language END,
           chunk_count = CASE WHEN EXCLUDED.revision_id IS NOT DISTINCT FROM f.revision_id THEN f.chunk_count
                              ELSE EXCLUDED.chunk_count END,
           status = CASE WHEN EXCLUDED.status = 'waiting' THEN f.status ELSE EXCLUDED.status END,
           reason = CASE WHEN EXCLUDED.status = 'waiting' THEN f.reason ELSE EXCLUDED.reason END;
$$;

CREATE FUNCTION kernel.put_revisions(in_tenant uuid, in_files jsonb, plans kernel.put_plan[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    INSERT INTO kernel.revision (tenant_id, id, file_id, sha256, text, units, extractor) OVERRIDING SYSTEM VALUE
    SELECT in_tenant, p.new_revision, f.id, decode(a.sha256, 'hex'), a.text, a.units, a.extractor
      FROM unnest(plans) AS p
      JOIN jsonb_to_recordset(in_files) AS a (place integer, sha256 text, text text, units jsonb, extractor text)
        ON a.place = p.place
      CROSS JOIN LATERAL (SELECT x.id FROM kernel.file x
                           WHERE x.tenant_id = in_tenant AND x.source_id = p.source_id AND x.key = p.key OFFSET 0) AS f
     WHERE p.changed AND p.new_revision IS NOT NULL;
$$;

-- A file that is written here may be crawled before its writer commits: the text is the same then, and its author
-- comes with the second.
CREATE FUNCTION kernel.put_authors(in_tenant uuid, in_files jsonb, plans kernel.put_plan[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    WITH authored AS (
        UPDATE kernel.revision r SET extractor = a.extractor
          FROM unnest(plans) AS p
          JOIN jsonb_to_recordset(in_files) AS a (place integer, extractor text) ON a.place = p.place
         WHERE NOT p.changed AND r.tenant_id = in_tenant AND r.id = p.old_revision
           AND kernel.authors('wiki', a.extractor, '') <> '{}' AND kernel.authors('wiki', r.extractor, '') = '{}'
        RETURNING r.file_id
    )
    SELECT kernel.log_changes(array_agg(in_tenant), array_agg(file_id)) FROM authored HAVING count(*) > 0;
$$;

-- The new chunks take the place of the old. Words that stay keep their chunk: the first of two equal
-- chunks is the first of the old ones, and so on.
CREATE FUNCTION kernel.put_chunks(in_tenant uuid, in_chunks jsonb, plans kernel.put_plan[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    revised bigint[] := ARRAY(
        SELECT f.id FROM unnest(plans) AS p
          CROSS JOIN LATERAL (SELECT x.id FROM kernel.file x
                           WHERE x.tenant_id = in_tenant AND x.source_id = p.source_id AND x.key = p.key OFFSET 0) AS f
         WHERE p.changed AND p.old_revision IS NOT NULL);
    gone bigint[];
BEGIN
    IF revised <> '{}' THEN
        WITH were AS (
            SELECT id, file_id, text_hash, row_number() OVER (PARTITION BY file_id, text_hash ORDER BY seq) AS nth
              FROM kernel.chunk WHERE tenant_id = in_tenant AND file_id = ANY (revised)
        ), come AS (
            SELECT f.id AS file_id, decode(c.text_hash, 'hex') AS text_hash, c.seq,
                   row_number() OVER (PARTITION BY f.id, c.text_hash ORDER BY c.seq) AS nth,
                   c.char_start, c.char_end, c.text, c.unit_label, c.page_no, c.ts_start_ms, c.ts_end_ms
              FROM jsonb_to_recordset(in_chunks) AS c (
                       place integer, seq integer, text_hash text, char_start integer, char_end integer, text text,
                       unit_label text, page_no integer, ts_start_ms bigint, ts_end_ms bigint)
              JOIN unnest(plans) AS p ON p.place = c.place
              CROSS JOIN LATERAL (SELECT x.id FROM kernel.file x
                           WHERE x.tenant_id = in_tenant AND x.source_id = p.source_id AND x.key = p.key OFFSET 0) AS f
             WHERE p.changed AND p.old_revision IS NOT NULL
        ), paired AS (
            -- Grouped and not joined: how many there are is not known to the planner, and a nested loop over the
            -- chunks of a large file takes seconds.
            SELECT max(it.id) AS id, max(it.seq) AS seq, max(it.char_start) AS char_start, max(it.char_end) AS char_end,
                   max(it.text) AS text, max(it.unit_label) AS unit_label, max(it.page_no) AS page_no,
                   max(it.ts_start_ms) AS ts_start_ms, max(it.ts_end_ms) AS ts_end_ms
              FROM (SELECT file_id, text_hash, nth, id, NULL::integer AS seq, NULL::integer AS char_start,
                           NULL::integer AS char_end, NULL AS text, NULL AS unit_label, NULL::integer AS page_no,
                           NULL::bigint AS ts_start_ms, NULL::bigint AS ts_end_ms FROM were
                     UNION ALL
                    SELECT file_id, text_hash, nth, NULL, seq, char_start, char_end, text, unit_label, page_no,
                           ts_start_ms, ts_end_ms FROM come) AS it
             GROUP BY it.file_id, it.text_hash, it.nth
            HAVING max(it.id) IS NOT NULL
        ), kept AS (
            UPDATE kernel.chunk c
               SET seq = n.seq, char_start = n.char_start, char_end = n.char_end, text = n.text,
                   unit_label = n.unit_label, page_no = n.page_no, ts_start_ms = n.ts_start_ms, ts_end_ms = n.ts_end_ms
              FROM paired n
             WHERE c.tenant_id = in_tenant AND c.id = n.id AND n.seq IS NOT NULL
               -- Those before an edit stay as they are, and are not written again.
               AND (c.seq, c.char_start, c.char_end, c.text, c.unit_label, c.page_no, c.ts_start_ms, c.ts_end_ms)
                   IS DISTINCT FROM
                   (n.seq, n.char_start, n.char_end, n.text, n.unit_label, n.page_no, n.ts_start_ms, n.ts_end_ms)
            RETURNING c.id
        ), dropped AS (
            DELETE FROM kernel.chunk c USING paired n
             WHERE c.tenant_id = in_tenant AND c.id = n.id AND n.seq IS NULL
            RETURNING c.id
        )
        SELECT array_agg(dropped.id) INTO gone FROM dropped;
        PERFORM kernel.forget_vectors(in_tenant, gone, NULL);
    END IF;
    INSERT INTO kernel.chunk (tenant_id, file_id, seq, char_start, char_end, prefix, text, headings, unit_label, page_no,
                              ts_start_ms, ts_end_ms, text_hash)
    SELECT in_tenant, f.id, c.seq, c.char_start, c.char_end, c.prefix, c.text, c.headings, c.unit_label, c.page_no,
           c.ts_start_ms, c.ts_end_ms, decode(c.text_hash, 'hex')
      FROM jsonb_to_recordset(in_chunks) AS c (
               place integer, seq integer, char_start integer, char_end integer, prefix text, text text, headings text[],
               unit_label text, page_no integer, ts_start_ms bigint, ts_end_ms bigint, text_hash text)
      JOIN unnest(plans) AS p ON p.place = c.place
      CROSS JOIN LATERAL (SELECT x.id FROM kernel.file x
                           WHERE x.tenant_id = in_tenant AND x.source_id = p.source_id AND x.key = p.key OFFSET 0) AS f
     WHERE p.changed
       AND NOT EXISTS (SELECT 1 FROM kernel.chunk k
                        WHERE k.tenant_id = in_tenant AND k.file_id = f.id AND k.seq = c.seq OFFSET 0)
     ORDER BY p.place, c.seq;
END
$$;

-- The only way texts are written. The program computes the chunks; it leaves them out where the stored text is
-- the same, and must retry if that is no longer so.
CREATE FUNCTION kernel.put_files(in_tenant uuid, in_files jsonb, in_chunks jsonb)
RETURNS TABLE (place integer, file_id bigint, revision_id bigint, changed boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    of_tenant uuid := kernel.acting_tenant(in_tenant);
    plans kernel.put_plan[];
BEGIN
    PERFORM kernel.require_may_put(of_tenant, in_files);
    plans := kernel.plan_put(of_tenant, in_files);
    IF EXISTS (SELECT 1 FROM unnest(plans) AS p
                 JOIN jsonb_to_recordset(in_files) AS a (place integer, has_chunks boolean) ON a.place = p.place
                WHERE p.changed AND NOT a.has_chunks) THEN
        RAISE EXCEPTION 'the text changed meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM kernel.put_rows(of_tenant, in_files, plans);
    PERFORM kernel.put_revisions(of_tenant, in_files, plans);
    PERFORM kernel.put_authors(of_tenant, in_files, plans);
    PERFORM kernel.put_chunks(of_tenant, in_chunks, plans);
    PERFORM kernel.forget_vectors(of_tenant, NULL, ARRAY(
        SELECT f.id FROM unnest(plans) AS p
          CROSS JOIN LATERAL (SELECT x.id, x.revision_id FROM kernel.file x
                           WHERE x.tenant_id = of_tenant AND x.source_id = p.source_id AND x.key = p.key OFFSET 0) AS f
         WHERE p.retitled AND NOT p.changed));
    RETURN QUERY
    SELECT p.place, f.id, f.revision_id, p.changed FROM unnest(plans) AS p
      CROSS JOIN LATERAL (SELECT x.id, x.revision_id FROM kernel.file x
                           WHERE x.tenant_id = of_tenant AND x.source_id = p.source_id AND x.key = p.key OFFSET 0) AS f
     ORDER BY p.place;
END
$$;

-- Deletes files with their texts and removes their keys from the audit log. Writers may remove a file; changing
-- the audit log takes an owner of the source.
CREATE FUNCTION kernel.purge_files(in_tenant uuid, in_source text, in_key text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    of_tenant uuid := kernel.acting_tenant(in_tenant);
    gone bigint;
BEGIN
    IF kernel.tenant() IS NOT NULL AND NOT kernel.may_govern(in_source) THEN
        RAISE EXCEPTION 'purging needs the role owner and the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    DELETE FROM kernel.file WHERE tenant_id = of_tenant AND source_id = in_source AND key = COALESCE(in_key, key);
    GET DIAGNOSTICS gone = ROW_COUNT;
    UPDATE kernel.audit SET arguments = '{"purged": true}', keys = '{}'
     WHERE tenant_id = of_tenant AND in_source = ANY (sources)
       AND (in_key IS NULL OR in_key = ANY (keys) OR position(to_jsonb(in_key)::text IN arguments::text) > 0);
    RETURN gone;
END
$$;

-- OFFSET 0 keeps PostgreSQL from listing all files that may be seen before it asks about a few: rows of
-- these tables are read by the dozen, and it does not count on that.
CALL kernel.guard('kernel.revision');
CREATE POLICY see ON kernel.revision FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant())
           AND EXISTS (SELECT 1 FROM kernel.file f WHERE f.tenant_id = revision.tenant_id AND f.id = revision.file_id
                        OFFSET 0));
GRANT SELECT ON kernel.revision TO pecia_app;

CALL kernel.guard('kernel.chunk');
CREATE POLICY see ON kernel.chunk FOR SELECT TO pecia_app
    USING (tenant_id = (SELECT kernel.tenant())
           AND EXISTS (SELECT 1 FROM kernel.file f WHERE f.tenant_id = chunk.tenant_id AND f.id = chunk.file_id
                        OFFSET 0));
GRANT SELECT ON kernel.chunk TO pecia_app;

DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p
              WHERE p.pronamespace = 'kernel'::regnamespace AND p.prosecdef AND p.proowner <> 'pecia_system'::regrole
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO pecia_system', f);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO pecia_system', f);
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION kernel.put_files, kernel.purge_files, kernel.clock, kernel.own_clock, kernel.is_behind
    TO pecia_app;

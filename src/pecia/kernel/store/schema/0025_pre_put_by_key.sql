-- Putting files looks each one up by its key, whatever the statistics say: while a source is being filled
-- there are none, and a plan that takes the table for empty reads all of it for every batch. OFFSET 0
-- keeps the look-up a look-up.

CREATE OR REPLACE FUNCTION kernel.plan_put(in_tenant uuid, in_files jsonb) RETURNS kernel.put_plan[]
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

CREATE OR REPLACE FUNCTION kernel.put_revisions(in_tenant uuid, in_files jsonb, plans kernel.put_plan[]) RETURNS void
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

CREATE OR REPLACE FUNCTION kernel.put_chunks(in_tenant uuid, in_chunks jsonb, plans kernel.put_plan[]) RETURNS void
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
        ), kept AS (
            UPDATE kernel.chunk c
               SET seq = n.seq, char_start = n.char_start, char_end = n.char_end, text = n.text,
                   unit_label = n.unit_label, page_no = n.page_no, ts_start_ms = n.ts_start_ms, ts_end_ms = n.ts_end_ms
              FROM were o JOIN come n USING (file_id, text_hash, nth)
             WHERE c.tenant_id = in_tenant AND c.id = o.id
            RETURNING c.id
        ), dropped AS (
            DELETE FROM kernel.chunk c USING were o
             WHERE c.tenant_id = in_tenant AND c.id = o.id
               AND NOT EXISTS (SELECT 1 FROM come n WHERE (n.file_id, n.text_hash, n.nth) = (o.file_id, o.text_hash, o.nth))
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

CREATE OR REPLACE FUNCTION kernel.put_files(in_tenant uuid, in_files jsonb, in_chunks jsonb)
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

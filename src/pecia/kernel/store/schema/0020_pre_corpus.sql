-- What a file says: its text by revision, cut into chunks.
--
-- Only kernel.put_files writes here, so that a file, its text, its chunks and the counts of its class
-- cannot disagree. A text is seen by whoever sees its file: no class is copied.

-- One canonical text per revision. `units` say where its pages, slides or cues begin and end.
CREATE TABLE kernel.revision (
    tenant_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    file_id bigint NOT NULL,
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
    text text NOT NULL,
    units jsonb NOT NULL DEFAULT '[]',
    extractor text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, file_id) REFERENCES kernel.file (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX revision_of_file ON kernel.revision (tenant_id, file_id, id);

ALTER TABLE kernel.file
    ADD COLUMN revision_id bigint,
    ADD COLUMN title text NOT NULL DEFAULT '',
    ADD COLUMN language text NOT NULL DEFAULT '',
    ADD COLUMN chunk_count integer NOT NULL DEFAULT 0,
    ADD COLUMN status text NOT NULL DEFAULT 'waiting' CHECK (status IN (
        'waiting', 'ok', 'empty', 'encrypted', 'corrupt', 'too_large', 'timeout', 'crashed', 'unsupported')),
    ADD COLUMN reason text NOT NULL DEFAULT '';

-- Slices of the canonical text. `prefix` repeats a table's caption and header where it was split.
-- A chunk whose words stay keeps its id when the text around it changes, and so keeps its vector.
CREATE TABLE kernel.chunk (
    tenant_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    file_id bigint NOT NULL,
    seq integer NOT NULL,
    char_start integer NOT NULL,
    char_end integer NOT NULL,
    prefix text NOT NULL DEFAULT '',
    text text NOT NULL,
    headings text[] NOT NULL DEFAULT '{}',
    unit_label text NOT NULL DEFAULT '',
    page_no integer,
    ts_start_ms bigint,
    ts_end_ms bigint,
    -- Of the headings, the prefix and the words: what is indexed and embedded.
    text_hash bytea NOT NULL CHECK (octet_length(text_hash) = 16),
    PRIMARY KEY (tenant_id, id),
    -- Judged when a statement ends: chunks change places within one.
    UNIQUE (tenant_id, file_id, seq) DEFERRABLE INITIALLY IMMEDIATE,
    FOREIGN KEY (tenant_id, file_id) REFERENCES kernel.file (tenant_id, id) ON DELETE CASCADE
);

GRANT USAGE ON ALL SEQUENCES IN SCHEMA kernel TO pecia_system;

-- Classes and tenants count chunks as they count files.
ALTER TYPE kernel.file_move ADD ATTRIBUTE chunks bigint;

CREATE OR REPLACE FUNCTION kernel.count_moves(moves kernel.file_move[]) RETURNS void
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

CREATE OR REPLACE FUNCTION kernel.count_files() RETURNS trigger
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

-- Texts of files: one canonical text per revision, split into chunks.
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

-- The authors of a text, as searches filter by them. Of what was written here: `agent` or `person`, and the ids of
-- their users. Of a git repository: the name in the last commit. Of other files nobody knows.
CREATE FUNCTION kernel.authors(in_protocol text, in_extractor text, in_owner text) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT COALESCE(CASE
        WHEN in_protocol = 'wiki'
        THEN string_to_array(substring(in_extractor FROM ' ((?:agent|person)(?: [0-9a-f-]{36})*)$'), ' ')
        WHEN in_protocol = 'git' AND in_owner <> '' THEN ARRAY['name:' || lower(in_owner)] END, '{}')
$$;

GRANT USAGE ON ALL SEQUENCES IN SCHEMA kernel TO pecia_system;

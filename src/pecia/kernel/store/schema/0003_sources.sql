-- Sources and their files, and what decides who sees them: roles, folder grants, ACL classes.
--
-- A class (kernel.acl) is the set of principals who may see the files that carry it. It is an identity,
-- not its set: when all its files change together it is edited in place, and only splits move files.
-- `granted`, `reading` and `writing` are facts; `principals` is derived from them and from the source,
-- here and nowhere else, so that a read asks one question: does the class intersect the caller's principals?

CREATE TABLE kernel.source (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 1 AND 500),
    protocol text NOT NULL CHECK (length(protocol) BETWEEN 1 AND 50),
    trim_mode text NOT NULL DEFAULT 'per_file' CHECK (trim_mode IN ('per_file', 'source_only', 'open')),
    enabled boolean NOT NULL DEFAULT true,
    config jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    last_indexed_at timestamptz,
    -- Most sources can be read again, so earlier texts of their files are deleted after a while. Where this
    -- server has the only copy, as of memories, revisions stay as long as their file.
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE kernel.source_role (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    principal_id integer NOT NULL,
    role text NOT NULL CHECK (role IN ('reader', 'writer', 'owner')),
    PRIMARY KEY (tenant_id, source_id, principal_id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, principal_id) REFERENCES kernel.principal (tenant_id, id) ON DELETE CASCADE
);

-- A grant on everything below a folder. `prefix` ends in a slash, or is empty for the whole source.
CREATE TABLE kernel.folder_grant (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    prefix text COLLATE "C" NOT NULL CHECK (prefix = '' OR right(prefix, 1) = '/'),
    principal_id integer NOT NULL,
    role text NOT NULL CHECK (role IN ('reader', 'writer')),
    PRIMARY KEY (tenant_id, source_id, principal_id, prefix),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, principal_id) REFERENCES kernel.principal (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE kernel.acl (
    tenant_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    source_id text COLLATE "C" NOT NULL,
    granted integer[] NOT NULL DEFAULT '{}',
    reading integer[] NOT NULL DEFAULT '{}',
    writing integer[] NOT NULL DEFAULT '{}',
    -- Whether the files' own grants have been captured. Until then they count as none.
    known boolean NOT NULL DEFAULT true,
    -- The one class of each source that says who sees the source itself; no file carries it.
    is_source boolean NOT NULL DEFAULT false,
    facts text COLLATE "C" NOT NULL,
    principals integer[] NOT NULL,
    files bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, source_id, id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX acl_by_facts ON kernel.acl (tenant_id, source_id, facts);

CREATE TABLE kernel.file (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 2000),
    id bigint GENERATED ALWAYS AS IDENTITY,
    acl_id bigint NOT NULL,
    size_bytes bigint,
    modified_at timestamptz,
    etag text,
    content_type text,
    storage_class text,
    owner text,
    posix_mode integer,
    posix_uid bigint,
    posix_gid bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    revision_id bigint,
    title text NOT NULL DEFAULT '',
    language text NOT NULL DEFAULT '',
    chunk_count integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN (
        'waiting', 'ok', 'empty', 'encrypted', 'corrupt', 'too_large', 'timeout', 'crashed', 'unsupported')),
    reason text NOT NULL DEFAULT '',
    -- Since when what it says no longer holds: search leaves it out, who has its key still reads it.
    ended_at timestamptz,
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, source_id, acl_id) REFERENCES kernel.acl (tenant_id, source_id, id)
);
CREATE UNIQUE INDEX file_by_id ON kernel.file (tenant_id, id);
CREATE INDEX file_of_class ON kernel.file (tenant_id, acl_id);
-- Files that could not be read: few, and listed and counted often.
CREATE INDEX file_unread ON kernel.file (tenant_id, source_id, key) WHERE status NOT IN ('ok', 'waiting');

GRANT USAGE ON ALL SEQUENCES IN SCHEMA kernel TO pecia_system, pecia_app;

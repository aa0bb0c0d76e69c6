-- Crawls: the state of each source's last one, the files it found and has yet to read, and what it knows of them.

CREATE SCHEMA lake;
GRANT USAGE ON SCHEMA lake TO pecia_app;
GRANT USAGE, CREATE ON SCHEMA lake TO pecia_system;

-- The last crawl of a source. What it counts includes files that not everybody may see.
CREATE TABLE lake.crawl (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    state text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'listing', 'reading', 'done', 'stopped', 'failed')),
    started_at timestamptz NOT NULL DEFAULT now(),
    listed_at timestamptz,
    ended_at timestamptz,
    -- The last commit of the tenant when it ended: an index that has applied it finds what was crawled.
    ended_n bigint,
    seen bigint NOT NULL DEFAULT 0,
    added bigint NOT NULL DEFAULT 0,
    changed bigint NOT NULL DEFAULT 0,
    gone bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    read bigint NOT NULL DEFAULT 0,
    passed jsonb NOT NULL DEFAULT '{}',
    problem text NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, source_id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('lake.crawl');
COMMENT ON TABLE lake.crawl IS 'system-only: counts hidden files too; owners ask lake.crawl_of, pecia_app has no privilege here';

-- Files that the crawl found new or changed. A row goes in the transaction that stores its text, so
-- whatever dies on the way is read again. Shards let several workers read one source at once.
CREATE TABLE lake.todo (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    shard smallint NOT NULL,
    seen jsonb NOT NULL,
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX todo_of_shard ON lake.todo (tenant_id, source_id, shard, key);
CALL kernel.guard('lake.todo');
COMMENT ON TABLE lake.todo IS 'system-only: names files before anybody may see them; pecia_app has no privilege here';

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lake TO pecia_system;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA lake TO pecia_system;

-- Owners of a source start and stop its crawl. Workers run it.
CREATE FUNCTION lake.begin_crawl(in_source text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_govern(in_source) THEN
        RAISE EXCEPTION 'crawling a source needs the role owner and the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    INSERT INTO lake.crawl AS c (tenant_id, source_id) VALUES (kernel.tenant(), in_source)
    ON CONFLICT (tenant_id, source_id) DO UPDATE
        SET state = 'waiting', started_at = now(), listed_at = NULL, ended_at = NULL, seen = 0, added = 0,
            changed = 0, gone = 0, failed = 0, read = 0, passed = '{}', problem = ''
        WHERE c.state IN ('done', 'stopped', 'failed');
    RETURN FOUND;
END
$$;

CREATE FUNCTION lake.stop_crawl(in_source text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_govern(in_source) THEN
        RAISE EXCEPTION 'stopping a crawl needs the role owner and the scope pecia.admin' USING ERRCODE = 'PE403';
    END IF;
    UPDATE lake.crawl SET state = 'stopped', ended_at = now()
     WHERE tenant_id = kernel.tenant() AND source_id = in_source AND state IN ('waiting', 'listing', 'reading');
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM lake.todo WHERE tenant_id = kernel.tenant() AND source_id = in_source;
    RETURN true;
END
$$;
CREATE FUNCTION lake.crawl_of(in_source text) RETURNS SETOF lake.crawl
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT * FROM lake.crawl WHERE tenant_id = kernel.tenant() AND source_id = in_source AND kernel.owns(in_source)
$$;
ALTER FUNCTION lake.crawl_of OWNER TO pecia_system;
ALTER FUNCTION lake.begin_crawl OWNER TO pecia_system;
ALTER FUNCTION lake.stop_crawl OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.begin_crawl, lake.stop_crawl, lake.crawl_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.begin_crawl, lake.stop_crawl, lake.crawl_of TO pecia_app, pecia_system;

-- Progress of files that take long to extract, in pages.

-- Rows live as long as the extraction; losing them loses nothing.
CREATE UNLOGGED TABLE lake.extraction_progress (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    pages_read integer NOT NULL,
    pages integer NOT NULL,
    told_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('lake.extraction_progress');
COMMENT ON TABLE lake.extraction_progress IS 'system-only: names hidden files too; owners ask lake.extraction_progress_of, pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.extraction_progress TO pecia_system;

-- Recent rows only: a worker that died leaves a stale one. Storing a long file takes a while too.
CREATE FUNCTION lake.extraction_progress_of(in_source text) RETURNS SETOF lake.extraction_progress
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT * FROM lake.extraction_progress
     WHERE tenant_id = kernel.tenant() AND source_id = in_source AND kernel.owns(in_source)
       AND told_at > now() - interval '5 minutes'
     ORDER BY key
$$;
ALTER FUNCTION lake.extraction_progress_of OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.extraction_progress_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.extraction_progress_of TO pecia_app, pecia_system;

-- The rights of a file at its origin, as last captured. A change of rights alone does not make a file changed, so it
-- is not read again.

CREATE TABLE lake.captured (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    rights text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id, key) REFERENCES kernel.file (tenant_id, source_id, key) ON DELETE CASCADE
);
CALL kernel.guard('lake.captured');
COMMENT ON TABLE lake.captured IS 'system-only: names hidden files too; pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.captured TO pecia_system;

-- The crawl's own table is analyzed with those of the corpus.
GRANT MAINTAIN ON lake.todo TO pecia_system;

CREATE FUNCTION lake.analyze_grown() RETURNS integer
LANGUAGE sql SET search_path = kernel, pg_temp AS
$$ SELECT kernel.analyze_grown('{lake.todo}') $$;
REVOKE ALL ON FUNCTION lake.analyze_grown FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.analyze_grown TO pecia_system;

-- Uploaded files. The original exists nowhere else, so it is stored.

CREATE TABLE lake.upload (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 2000),
    body bytea NOT NULL,
    sha256 text COLLATE "C" NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('lake.upload');
COMMENT ON TABLE lake.upload IS 'system-only: originals, which a worker reads and a link opens; pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON lake.upload TO pecia_system;

-- Stores the file and queues a crawl, which reads it: the caller may not own the source.
CREATE FUNCTION lake.keep_upload(in_source text, in_key text, in_body bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_write(in_source, in_key) THEN
        RAISE EXCEPTION 'sending a file needs the role writer and the scope pecia.write' USING ERRCODE = 'PE403';
    END IF;
    INSERT INTO lake.upload AS u (tenant_id, source_id, key, body, sha256)
    VALUES (kernel.tenant(), in_source, in_key, in_body, encode(sha256(in_body), 'hex'))
    ON CONFLICT (tenant_id, source_id, key) DO UPDATE
        SET body = EXCLUDED.body, sha256 = EXCLUDED.sha256, at = now() WHERE u.sha256 <> EXCLUDED.sha256;
    PERFORM lake.wake_crawl(in_source);
END
$$;

CREATE FUNCTION lake.drop_upload(in_source text, in_key text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_write(in_source, in_key) THEN
        RAISE EXCEPTION 'removing a file needs the role writer and the scope pecia.write' USING ERRCODE = 'PE403';
    END IF;
    DELETE FROM lake.upload WHERE tenant_id = kernel.tenant() AND source_id = in_source AND key = in_key;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM kernel.file WHERE tenant_id = kernel.tenant() AND source_id = in_source AND key = in_key;
    RETURN true;
END
$$;

CREATE FUNCTION lake.wake_crawl(in_source text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    INSERT INTO lake.crawl AS c (tenant_id, source_id) VALUES (kernel.tenant(), in_source)
    ON CONFLICT (tenant_id, source_id) DO UPDATE
        SET state = 'waiting' WHERE c.state IN ('done', 'stopped', 'failed')
$$;

ALTER FUNCTION lake.keep_upload OWNER TO pecia_system;
ALTER FUNCTION lake.drop_upload OWNER TO pecia_system;
ALTER FUNCTION lake.wake_crawl OWNER TO pecia_system;
REVOKE ALL ON FUNCTION lake.keep_upload, lake.drop_upload, lake.wake_crawl FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lake.keep_upload, lake.drop_upload TO pecia_app, pecia_system;

-- A git remote of a space. For each file, what local and remote had in common last is a row that is written in the
-- transaction of the file: a sync that is killed at any point is continued by the next one (ADR 96).

CREATE TABLE wiki.remote (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
    branch text CHECK (length(branch) BETWEEN 1 AND 200),
    subfolder text NOT NULL DEFAULT '',
    mode text NOT NULL CHECK (mode IN ('pull', 'pull_and_push')),
    every_s integer NOT NULL CHECK (every_s >= 10),
    authors text[] NOT NULL DEFAULT '{}',
    confined boolean NOT NULL,
    run bigint NOT NULL DEFAULT 0,
    allow_deletions boolean NOT NULL DEFAULT false,
    tip text,
    problem text,
    failures integer NOT NULL DEFAULT 0,
    skipped jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(skipped) = 'object'),
    pulled bigint NOT NULL DEFAULT 0,
    pushed bigint NOT NULL DEFAULT 0,
    tried_at timestamptz,
    synced_at timestamptz,
    due_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, source_id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.remote');
COMMENT ON TABLE wiki.remote IS 'system-only: administrators reach it by wiki.my_remote; pecia_app has no privilege here';
COMMENT ON COLUMN wiki.remote.confined IS 'whether the URL must be within what the operator allows the tenant';
COMMENT ON COLUMN wiki.remote.run IS 'the number of the latest sync: one that was taken over by another commits nothing more';
COMMENT ON COLUMN wiki.remote.authors IS 'USER=NAME <EMAIL>: who of ours is who in commits';
COMMENT ON COLUMN wiki.remote.skipped IS 'files that the last sync left alone, with the reason';

CREATE TABLE wiki.remote_file (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 2000),
    base_id text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES wiki.remote (tenant_id, source_id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.remote_file');
COMMENT ON TABLE wiki.remote_file IS 'system-only: names of files that not everybody may see; pecia_app has no privilege here';
COMMENT ON COLUMN wiki.remote_file.base_id IS 'the blob that local and remote had in common last';

CREATE TABLE wiki.remote_push (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    commit_id text NOT NULL,
    parent_id text,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, source_id, commit_id),
    FOREIGN KEY (tenant_id, source_id) REFERENCES wiki.remote (tenant_id, source_id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.remote_push');
COMMENT ON TABLE wiki.remote_push IS 'system-only: pushes that were begun; once the remote has the commit, its files are common; pecia_app has no privilege here';

CREATE TABLE wiki.remote_conflict (
    tenant_id uuid NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 2000),
    base bytea,
    remote bytea,
    remote_id text,
    renamed_to text,
    commit_id text NOT NULL,
    author text NOT NULL,
    subject text NOT NULL,
    found_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES wiki.remote (tenant_id, source_id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.remote_conflict');
COMMENT ON TABLE wiki.remote_conflict IS 'system-only: whoever may see a document reaches its conflict by wiki.my_conflicts; pecia_app has no privilege here';
COMMENT ON COLUMN wiki.remote_conflict.remote IS 'the file as the remote has it; NULL where it was deleted there';
COMMENT ON COLUMN wiki.remote_conflict.renamed_to IS 'the name that the remote gave to the document, which has another one here';

CREATE FUNCTION wiki.set_my_remote(
    in_source text, in_url text, in_branch text, in_subfolder text, in_mode text, in_every integer, in_authors text[],
    in_confined boolean)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    IF NOT kernel.may_administer() THEN
        RAISE EXCEPTION 'only administrators set the remote of a space' USING ERRCODE = 'PE403';
    END IF;
    -- Another repository has nothing in common with us yet.
    DELETE FROM wiki.remote
     WHERE tenant_id = kernel.tenant() AND source_id = in_source
       AND (url, branch, subfolder) IS DISTINCT FROM (in_url, in_branch, in_subfolder);
    INSERT INTO wiki.remote (tenant_id, source_id, url, branch, subfolder, mode, every_s, authors, confined)
    VALUES (kernel.tenant(), in_source, in_url, in_branch, in_subfolder, in_mode, in_every, in_authors, in_confined)
    ON CONFLICT (tenant_id, source_id) DO UPDATE
        SET mode = in_mode, every_s = in_every, authors = in_authors, confined = in_confined, due_at = now(), run = remote.run + 1;
END
$$;

CREATE FUNCTION wiki.drop_my_remote(in_source text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    IF NOT kernel.may_administer() THEN
        RAISE EXCEPTION 'only administrators remove the remote of a space' USING ERRCODE = 'PE403';
    END IF;
    DELETE FROM wiki.remote WHERE tenant_id = kernel.tenant() AND source_id = in_source;
    RETURN FOUND;
END
$$;

CREATE FUNCTION wiki.my_remote(in_source text)
RETURNS SETOF wiki.remote LANGUAGE sql STABLE SECURITY DEFINER ROWS 1 SET search_path = wiki, pg_temp AS $$
    SELECT * FROM wiki.remote
     WHERE tenant_id = kernel.tenant() AND source_id = in_source AND kernel.may_administer()
$$;

CREATE FUNCTION wiki.allow_my_deletions(in_source text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    UPDATE wiki.remote SET allow_deletions = true
     WHERE tenant_id = kernel.tenant() AND source_id = in_source AND kernel.may_administer()
$$;

-- By key, from `in_after` on. Whoever sees the document sees that its remote contradicts it; where there is none here,
-- whoever may write it. Of one that was renamed on both sides, the other name must be visible too, and the text that
-- both had is from a third: it is for who sees the whole space.
CREATE FUNCTION wiki.my_conflicts(in_source text, in_key text, in_after text, in_limit integer)
RETURNS SETOF wiki.remote_conflict LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT c.tenant_id, c.source_id, c.key,
           CASE WHEN c.renamed_to IS NULL OR wiki.sees_path(c.source_id, '') THEN c.base END,
           c.remote, c.remote_id, c.renamed_to, c.commit_id, c.author, c.subject, c.found_at
      FROM wiki.remote_conflict c
     WHERE c.tenant_id = kernel.tenant() AND c.source_id = in_source AND (in_key IS NULL OR c.key = in_key)
       AND (in_after IS NULL OR c.key > in_after) AND wiki.sees_suggestion(c.source_id, c.key, NULL, '{}')
       AND (c.renamed_to IS NULL OR wiki.sees_path(c.source_id, c.renamed_to))
     ORDER BY c.key LIMIT in_limit
$$;

-- The document as it will be is what both sides have in common with what the remote had. False where the remote has
-- changed since the caller read the conflict.
CREATE FUNCTION wiki.resolve_my_conflict(in_source text, in_key text, in_remote_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    IF NOT kernel.may_write(in_source, in_key) THEN
        RAISE EXCEPTION 'whoever may write the document resolves its conflict' USING ERRCODE = 'PE403';
    END IF;
    DELETE FROM wiki.remote_conflict
     WHERE tenant_id = kernel.tenant() AND source_id = in_source AND key = in_key
       AND remote_id IS NOT DISTINCT FROM in_remote_id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF in_remote_id IS NULL THEN
        DELETE FROM wiki.remote_file WHERE tenant_id = kernel.tenant() AND source_id = in_source AND key = in_key;
    ELSE
        INSERT INTO wiki.remote_file (tenant_id, source_id, key, base_id)
        VALUES (kernel.tenant(), in_source, in_key, in_remote_id)
        -- Not `at`: who wrote here since both were equal is still to be named by the next push.
        ON CONFLICT (tenant_id, source_id, key) DO UPDATE SET base_id = in_remote_id;
    END IF;
    UPDATE wiki.remote SET due_at = now() WHERE tenant_id = kernel.tenant() AND source_id = in_source;
    RETURN true;
END
$$;

ALTER FUNCTION wiki.set_my_remote OWNER TO pecia_system;
ALTER FUNCTION wiki.drop_my_remote OWNER TO pecia_system;
ALTER FUNCTION wiki.my_remote OWNER TO pecia_system;
ALTER FUNCTION wiki.allow_my_deletions OWNER TO pecia_system;
ALTER FUNCTION wiki.my_conflicts OWNER TO pecia_system;
ALTER FUNCTION wiki.resolve_my_conflict OWNER TO pecia_system;
REVOKE ALL ON FUNCTION wiki.set_my_remote, wiki.drop_my_remote, wiki.my_remote, wiki.allow_my_deletions,
    wiki.my_conflicts, wiki.resolve_my_conflict FROM PUBLIC;
GRANT EXECUTE ON FUNCTION wiki.set_my_remote, wiki.drop_my_remote, wiki.my_remote, wiki.allow_my_deletions,
    wiki.my_conflicts, wiki.resolve_my_conflict TO pecia_app, pecia_system;

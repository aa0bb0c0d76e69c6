-- Live documents: CRDT texts that several editors change at once. Updates are numbered rows, in one order for every
-- process. A flush writes them to the file and to `base`, and deletes the rows.

CREATE TABLE wiki.live (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    source_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 2000),
    house_id bigint NOT NULL,
    base bytea NOT NULL,
    digest bytea NOT NULL,
    head bigint NOT NULL DEFAULT 0,
    filed bigint NOT NULL DEFAULT 0 CHECK (filed <= head),
    owners jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(owners) = 'object'),
    last_writer text,
    changed_at timestamptz NOT NULL DEFAULT now(),
    gone_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES kernel.source (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.live');
COMMENT ON TABLE wiki.live IS 'system-only: whoever may write a document reaches it by wiki.my_live; pecia_app has no privilege here';
COMMENT ON COLUMN wiki.live.base IS 'a state with all changes up to `filed`, whose text the file has; `digest` is the file''s';
COMMENT ON COLUMN wiki.live.owners IS 'under which id of the editor who wrote: nobody else may use it';
COMMENT ON COLUMN wiki.live.last_writer IS 'of the newest change; kept after its row went into `base`';
COMMENT ON COLUMN wiki.live.gone_at IS 'when a program had removed the file; NULL while there is one. A file that comes back goes on from here';
CREATE INDEX live_unfiled ON wiki.live (tenant_id, source_id) WHERE head > filed;

CREATE TABLE wiki.live_change (
    tenant_id uuid NOT NULL,
    live_id uuid NOT NULL,
    seq bigint NOT NULL,
    writer text NOT NULL,
    change bytea NOT NULL,
    PRIMARY KEY (tenant_id, live_id, seq),
    FOREIGN KEY (tenant_id, live_id) REFERENCES wiki.live (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.live_change');
COMMENT ON TABLE wiki.live_change IS 'system-only: whoever may write a document reaches it by wiki.my_live_changes; pecia_app has no privilege here';

-- Wakes the processes that have the document open; they read the rows. Where only changes were added, the number of the
-- last one is said too: whoever has it, as the process that added it, need not read.
CREATE FUNCTION wiki.notify_live() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.key = OLD.key AND NEW.gone_at IS NOT DISTINCT FROM OLD.gone_at THEN
        PERFORM pg_notify('pecia_live', NEW.id || ' ' || NEW.head);
    ELSE
        PERFORM pg_notify('pecia_live', OLD.id::text);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER notified AFTER DELETE OR UPDATE OF head, key, gone_at ON wiki.live
    FOR EACH ROW EXECUTE FUNCTION wiki.notify_live();

-- Changes at the end of the others, in the order given. Nothing where there is no such document.
CREATE FUNCTION wiki.add_live_changes(in_tenant uuid, in_id uuid, in_changes bytea[], in_writers text[], in_owners jsonb)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
DECLARE
    last bigint;
BEGIN
    UPDATE wiki.live SET head = head + cardinality(in_changes), owners = owners || in_owners, changed_at = now(),
           last_writer = coalesce(in_writers[cardinality(in_writers)], last_writer)
     WHERE tenant_id = in_tenant AND id = in_id RETURNING head INTO last;
    INSERT INTO wiki.live_change (tenant_id, live_id, seq, writer, change)
    SELECT in_tenant, in_id, last - cardinality(in_changes) + it.place, it.writer, it.change
      FROM unnest(in_changes, in_writers) WITH ORDINALITY AS it (change, writer, place)
     WHERE last IS NOT NULL;
    RETURN last;
END
$$;

-- The same for the server's own changes, made over a base whose text the file has.
CREATE FUNCTION wiki.base_live(
    in_tenant uuid, in_id uuid, in_changes bytea[], in_writers text[], in_base bytea, in_digest bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    PERFORM wiki.add_live_changes(in_tenant, in_id, in_changes, in_writers, '{}');
    UPDATE wiki.live SET base = in_base, digest = in_digest, gone_at = NULL WHERE tenant_id = in_tenant AND id = in_id;
END
$$;

-- All changes up to one are in the file: what is needed to go on is in the base.
CREATE FUNCTION wiki.file_live(in_tenant uuid, in_id uuid, in_head bigint, in_base bytea, in_digest bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    UPDATE wiki.live SET base = in_base, digest = in_digest, filed = in_head WHERE tenant_id = in_tenant AND id = in_id;
    DELETE FROM wiki.live_change WHERE tenant_id = in_tenant AND live_id = in_id AND seq <= in_head;
END
$$;

-- For callers: each function checks first whether they may write the document.

CREATE FUNCTION wiki.my_live(in_source text, in_key text)
RETURNS TABLE (id uuid, house_id bigint, base bytea, digest bytea, head bigint, filed bigint, is_gone boolean)
LANGUAGE sql VOLATILE SECURITY DEFINER ROWS 1 SET search_path = wiki, pg_temp AS $$
    SELECT l.id, l.house_id, l.base, l.digest, l.head, l.filed, l.gone_at IS NOT NULL FROM wiki.live l
     WHERE l.tenant_id = kernel.tenant() AND l.source_id = in_source AND l.key = in_key
       AND kernel.may_write(in_source, in_key)
       FOR UPDATE
$$;

CREATE FUNCTION wiki.my_live_keys(in_source text, in_keys text[]) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT l.key FROM wiki.live l
     WHERE l.tenant_id = kernel.tenant() AND l.source_id = in_source AND l.key = ANY (in_keys)
       AND kernel.may_write(in_source, l.key)
$$;

CREATE FUNCTION wiki.my_live_changes(in_id uuid) RETURNS TABLE (seq bigint, writer text, change bytea)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 20 SET search_path = wiki, pg_temp AS $$
    SELECT c.seq, c.writer, c.change FROM wiki.live_change c
      JOIN wiki.live l ON l.tenant_id = c.tenant_id AND l.id = c.live_id
     WHERE c.tenant_id = kernel.tenant() AND c.live_id = in_id AND kernel.may_write(l.source_id, l.key)
     ORDER BY c.seq
$$;

CREATE FUNCTION wiki.base_my_live(in_id uuid, in_changes bytea[], in_writers text[], in_base bytea, in_digest bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM wiki.live l WHERE l.tenant_id = kernel.tenant() AND l.id = in_id
                  AND kernel.may_write(l.source_id, l.key)) THEN
        PERFORM wiki.base_live(kernel.tenant(), in_id, in_changes, in_writers, in_base, in_digest);
    END IF;
END
$$;

CREATE FUNCTION wiki.end_my_live(in_source text, in_key text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    DELETE FROM wiki.live WHERE tenant_id = kernel.tenant() AND source_id = in_source AND key = in_key
       AND kernel.may_write(in_source, in_key)
$$;

CREATE FUNCTION wiki.move_my_live(in_source text, in_key text, in_to text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    -- There is no file at the new key, so no document there is live.
    DELETE FROM wiki.live WHERE tenant_id = kernel.tenant() AND source_id = in_source AND key = in_to
       AND kernel.may_write(in_source, in_to);
    UPDATE wiki.live SET key = in_to WHERE tenant_id = kernel.tenant() AND source_id = in_source AND key = in_key
       AND kernel.may_write(in_source, in_key) AND kernel.may_write(in_source, in_to)
$$;

ALTER FUNCTION wiki.notify_live OWNER TO pecia_system;
ALTER FUNCTION wiki.add_live_changes OWNER TO pecia_system;
ALTER FUNCTION wiki.base_live OWNER TO pecia_system;
ALTER FUNCTION wiki.file_live OWNER TO pecia_system;
ALTER FUNCTION wiki.my_live OWNER TO pecia_system;
ALTER FUNCTION wiki.my_live_keys OWNER TO pecia_system;
ALTER FUNCTION wiki.my_live_changes OWNER TO pecia_system;
ALTER FUNCTION wiki.base_my_live OWNER TO pecia_system;
ALTER FUNCTION wiki.end_my_live OWNER TO pecia_system;
ALTER FUNCTION wiki.move_my_live OWNER TO pecia_system;
REVOKE ALL ON FUNCTION wiki.notify_live, wiki.add_live_changes, wiki.base_live, wiki.file_live, wiki.my_live,
    wiki.my_live_keys, wiki.my_live_changes, wiki.base_my_live, wiki.end_my_live, wiki.move_my_live FROM PUBLIC;
GRANT EXECUTE ON FUNCTION wiki.add_live_changes, wiki.base_live, wiki.file_live TO pecia_system;
GRANT EXECUTE ON FUNCTION wiki.my_live, wiki.my_live_keys, wiki.my_live_changes, wiki.base_my_live,
    wiki.end_my_live, wiki.move_my_live TO pecia_app, pecia_system;

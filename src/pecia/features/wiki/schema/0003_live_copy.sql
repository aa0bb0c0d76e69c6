-- A live document's file is replaced by exchange: the new file and the old one swap names in one step, and
-- the old one is kept for a while, because a program may have written it just before, or may still have it
-- open. What is about to be exchanged is a row before it happens, so that whoever comes after a kill can tell
-- our own text from that of somebody else.

CREATE TABLE wiki.live_copy (
    tenant_id uuid NOT NULL,
    live_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    inode text NOT NULL,
    base bytea NOT NULL,
    digest bytea NOT NULL,
    head bigint NOT NULL,
    swapped_at double precision,
    PRIMARY KEY (tenant_id, live_id, name),
    FOREIGN KEY (tenant_id, live_id) REFERENCES wiki.live (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('wiki.live_copy');
COMMENT ON TABLE wiki.live_copy IS 'system-only: whoever may write a document reaches it by wiki.my_live_copies; pecia_app has no privilege here';
COMMENT ON COLUMN wiki.live_copy.inode IS 'of the new file: as long as `name` has it, the exchange has not happened';
COMMENT ON COLUMN wiki.live_copy.base IS 'before the exchange: the state that the file will have, with all changes up to `head`; afterwards: the state whose text the old file is known to have';
COMMENT ON COLUMN wiki.live_copy.swapped_at IS 'seconds since 1970 on the clock of the file system; NULL before the exchange is recorded';
-- One exchange at a time.
CREATE UNIQUE INDEX live_copy_intent ON wiki.live_copy (tenant_id, live_id) WHERE swapped_at IS NULL;

-- The exchange has happened: the document's base is what was intended, the old file has what was the base.
CREATE FUNCTION wiki.settle_live(in_tenant uuid, in_id uuid, in_name text, in_at double precision)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
DECLARE
    intent wiki.live_copy;
    was wiki.live;
BEGIN
    SELECT * INTO intent FROM wiki.live_copy
     WHERE tenant_id = in_tenant AND live_id = in_id AND name = in_name AND swapped_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO was FROM wiki.live WHERE tenant_id = in_tenant AND id = in_id FOR UPDATE;
    UPDATE wiki.live_copy SET base = was.base, digest = was.digest, head = was.filed, swapped_at = in_at
     WHERE tenant_id = in_tenant AND live_id = in_id AND name = in_name;
    PERFORM wiki.file_live(in_tenant, in_id, intent.head, intent.base, intent.digest);
END
$$;

CREATE FUNCTION wiki.drop_live_copy(in_tenant uuid, in_id uuid, in_name text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    DELETE FROM wiki.live_copy WHERE tenant_id = in_tenant AND live_id = in_id AND name = in_name
$$;

-- For callers: each function checks first whether they may write the document.

CREATE FUNCTION wiki.my_live_copies(in_id uuid)
RETURNS TABLE (name text, inode text, base bytea, digest bytea, head bigint, swapped_at double precision)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 2 SET search_path = wiki, pg_temp AS $$
    SELECT c.name, c.inode, c.base, c.digest, c.head, c.swapped_at FROM wiki.live_copy c
      JOIN wiki.live l ON l.tenant_id = c.tenant_id AND l.id = c.live_id
     WHERE c.tenant_id = kernel.tenant() AND c.live_id = in_id AND kernel.may_write(l.source_id, l.key)
     ORDER BY c.swapped_at, c.name
$$;

CREATE FUNCTION wiki.settle_my_live(in_id uuid, in_name text, in_at double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM wiki.live l WHERE l.tenant_id = kernel.tenant() AND l.id = in_id
                  AND kernel.may_write(l.source_id, l.key)) THEN
        PERFORM wiki.settle_live(kernel.tenant(), in_id, in_name, in_at);
    END IF;
END
$$;

CREATE FUNCTION wiki.see_my_live_copy(in_id uuid, in_name text, in_base bytea, in_digest bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    UPDATE wiki.live_copy c SET base = in_base, digest = in_digest FROM wiki.live l
     WHERE c.tenant_id = kernel.tenant() AND c.live_id = in_id AND c.name = in_name AND c.swapped_at IS NOT NULL
       AND l.tenant_id = c.tenant_id AND l.id = c.live_id AND kernel.may_write(l.source_id, l.key)
$$;

CREATE FUNCTION wiki.drop_my_live_copy(in_id uuid, in_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM wiki.live l WHERE l.tenant_id = kernel.tenant() AND l.id = in_id
                  AND kernel.may_write(l.source_id, l.key)) THEN
        PERFORM wiki.drop_live_copy(kernel.tenant(), in_id, in_name);
    END IF;
END
$$;

-- Whether the files of a space are behind what was written in it, or a replaced file may still say something new.
CREATE FUNCTION wiki.has_unfiled(in_source text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM wiki.live
                    WHERE tenant_id = kernel.tenant() AND source_id = in_source AND head > filed AND gone_at IS NULL)
        OR EXISTS (SELECT 1 FROM wiki.live_copy c
                     JOIN wiki.live l ON l.tenant_id = c.tenant_id AND l.id = c.live_id
                    WHERE c.tenant_id = kernel.tenant() AND l.source_id = in_source AND l.gone_at IS NULL)
$$;

ALTER FUNCTION wiki.settle_live OWNER TO pecia_system;
ALTER FUNCTION wiki.drop_live_copy OWNER TO pecia_system;
ALTER FUNCTION wiki.my_live_copies OWNER TO pecia_system;
ALTER FUNCTION wiki.settle_my_live OWNER TO pecia_system;
ALTER FUNCTION wiki.see_my_live_copy OWNER TO pecia_system;
ALTER FUNCTION wiki.drop_my_live_copy OWNER TO pecia_system;
ALTER FUNCTION wiki.has_unfiled OWNER TO pecia_system;
REVOKE ALL ON FUNCTION wiki.settle_live, wiki.drop_live_copy, wiki.my_live_copies, wiki.settle_my_live,
    wiki.see_my_live_copy, wiki.drop_my_live_copy, wiki.has_unfiled FROM PUBLIC;
GRANT EXECUTE ON FUNCTION wiki.settle_live, wiki.drop_live_copy TO pecia_system;
GRANT EXECUTE ON FUNCTION wiki.my_live_copies, wiki.settle_my_live, wiki.see_my_live_copy,
    wiki.drop_my_live_copy, wiki.has_unfiled TO pecia_app, pecia_system;

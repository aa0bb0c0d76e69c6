-- The change log: which files changed, in commit order. Indexes follow it.
--
-- A sequence would not do: a number taken early may commit late, and a reader would skip it. Each transaction that changes files of a tenant has a tick, which gets its number
-- from the tenant's clock at the very end; the clock's row is locked from then until the commit, so
-- numbers have no gaps and are in commit order.

CREATE TABLE kernel.tenant_clock (
    tenant_id uuid PRIMARY KEY REFERENCES kernel.tenant ON DELETE CASCADE,
    n bigint NOT NULL DEFAULT 0,
    trimmed bigint NOT NULL DEFAULT 0,
    -- A restored copy gets another, so that an index of the original is not taken for one of the copy.
    epoch uuid NOT NULL DEFAULT gen_random_uuid()
) WITH (fillfactor = 10);

CREATE TABLE kernel.tick (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- NULL only until its own transaction ends.
    n bigint,
    -- Who wrote, so that their next search waits for it, and for nobody else's. A purge clears it.
    user_id uuid,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES kernel.user_account (tenant_id, id) ON DELETE SET NULL (user_id)
);
CREATE UNIQUE INDEX tick_by_number ON kernel.tick (tenant_id, n);
CREATE INDEX tick_of_user ON kernel.tick (tenant_id, user_id, n) WHERE user_id IS NOT NULL;

CREATE TABLE kernel.change (
    tenant_id uuid NOT NULL,
    tick_id bigint NOT NULL,
    file_id bigint NOT NULL,
    PRIMARY KEY (tenant_id, tick_id, file_id),
    FOREIGN KEY (tenant_id, tick_id) REFERENCES kernel.tick (tenant_id, id) ON DELETE CASCADE
);

-- How far each node's index of a tenant has come. The log is trimmed below the slowest.
CREATE TABLE kernel.index_node (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    node text NOT NULL CHECK (length(node) BETWEEN 1 AND 200),
    n bigint NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, node)
);
GRANT USAGE ON ALL SEQUENCES IN SCHEMA kernel TO pecia_system;

CALL kernel.guard('kernel.tenant_clock');
COMMENT ON TABLE kernel.tenant_clock IS 'system-only: counts commits, those of hidden files too; pecia_app has no privilege here';
CALL kernel.guard('kernel.tick');
COMMENT ON TABLE kernel.tick IS 'system-only: numbers commits, those of hidden files too; pecia_app has no privilege here';
CALL kernel.guard('kernel.change');
COMMENT ON TABLE kernel.change IS 'system-only: names files, whoever may see them; pecia_app has no privilege here';
CALL kernel.guard('kernel.index_node');
COMMENT ON TABLE kernel.index_node IS 'system-only: kept by processes that build indexes; pecia_app has no privilege here';

-- The tick of this transaction for a tenant; NULL when the whole tenant is going, and its log with it.
CREATE FUNCTION kernel.own_tick(in_tenant uuid) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    taken text := current_setting('pecia.tick', true);
    own bigint;
BEGIN
    IF taken LIKE in_tenant || ':%' THEN
        -- One that has its number is another's, or is over.
        SELECT id INTO own FROM kernel.tick
         WHERE tenant_id = in_tenant AND id = split_part(taken, ':', 2)::bigint AND n IS NULL;
    END IF;
    IF own IS NULL THEN
        INSERT INTO kernel.tick (tenant_id, user_id)
        SELECT id, kernel.user_id() FROM kernel.tenant WHERE id = in_tenant AND status <> 'deleting'
        RETURNING id INTO own;
        PERFORM set_config('pecia.tick', in_tenant || ':' || own, true);
    END IF;
    RETURN own;
END
$$;

CREATE FUNCTION kernel.log_changes(in_tenants uuid[], in_files bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    of_tenant uuid;
    own bigint;
BEGIN
    FOR of_tenant IN SELECT DISTINCT t FROM unnest(in_tenants) AS t ORDER BY t LOOP
        own := kernel.own_tick(of_tenant);
        CONTINUE WHEN own IS NULL;
        INSERT INTO kernel.change (tenant_id, tick_id, file_id)
        SELECT DISTINCT t, own, f FROM unnest(in_tenants, in_files) AS u (t, f) WHERE t = of_tenant
            ON CONFLICT DO NOTHING;
    END LOOP;
END
$$;

CREATE FUNCTION kernel.log_files() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM kernel.log_changes(array_agg(tenant_id), array_agg(id)) FROM come_rows;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM kernel.log_changes(array_agg(tenant_id), array_agg(id)) FROM left_rows;
    ELSE
        PERFORM kernel.log_changes(array_agg(c.tenant_id), array_agg(c.id))
           FROM come_rows c JOIN left_rows l ON l.tenant_id = c.tenant_id AND l.id = c.id
          WHERE c IS DISTINCT FROM l;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER logged_in AFTER INSERT ON kernel.file
    REFERENCING NEW TABLE AS come_rows FOR EACH STATEMENT EXECUTE FUNCTION kernel.log_files();
CREATE TRIGGER logged_out AFTER DELETE ON kernel.file
    REFERENCING OLD TABLE AS left_rows FOR EACH STATEMENT EXECUTE FUNCTION kernel.log_files();
CREATE TRIGGER logged_over AFTER UPDATE ON kernel.file
    REFERENCING OLD TABLE AS left_rows NEW TABLE AS come_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kernel.log_files();

CREATE FUNCTION kernel.number_tick() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    number bigint;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM kernel.tick WHERE tenant_id = NEW.tenant_id AND id = NEW.id) THEN
        RETURN NULL;
    END IF;
    INSERT INTO kernel.tenant_clock AS c (tenant_id, n) VALUES (NEW.tenant_id, 1)
        ON CONFLICT (tenant_id) DO UPDATE SET n = c.n + 1 RETURNING n INTO number;
    UPDATE kernel.tick SET n = number WHERE tenant_id = NEW.tenant_id AND id = NEW.id;
    PERFORM pg_notify('pecia_changes', NEW.tenant_id::text);
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER logged_last AFTER INSERT ON kernel.tick
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION kernel.number_tick();

-- The number of the tenant's last commit, so that a search can wait for it.
CREATE FUNCTION kernel.clock() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS
$$ SELECT COALESCE((SELECT n FROM kernel.tenant_clock WHERE tenant_id = kernel.tenant()), 0) $$;

-- The number of the caller's last write that an index may not hold yet; 0 when there is none.
CREATE FUNCTION kernel.own_clock() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE((SELECT max(n) FROM kernel.tick
                      WHERE tenant_id = kernel.tenant() AND user_id = kernel.user_id()), 0)
$$;

-- Whether the job that embeds has yet to apply commits of the caller's tenant. `in_node` names the job.
CREATE FUNCTION kernel.is_behind(in_node text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE((SELECT n FROM kernel.index_node WHERE tenant_id = kernel.tenant() AND node = in_node), 0)
           < kernel.clock()
$$;

-- Who wrote last, so that a search can wait for the asker's own writes and for nobody else's.

ALTER TABLE kernel.tick ADD COLUMN user_id uuid,
    -- A purged user leaves no trace here either.
    ADD FOREIGN KEY (tenant_id, user_id) REFERENCES kernel.user_account (tenant_id, id) ON DELETE SET NULL (user_id);
CREATE INDEX tick_of_user ON kernel.tick (tenant_id, user_id, n) WHERE user_id IS NOT NULL;

CREATE OR REPLACE FUNCTION kernel.own_tick(in_tenant uuid) RETURNS bigint
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
        INSERT INTO kernel.tick (tenant_id, user_id) SELECT id, kernel.user_id() FROM kernel.tenant WHERE id = in_tenant
        RETURNING id INTO own;
        PERFORM set_config('pecia.tick', in_tenant || ':' || own, true);
    END IF;
    RETURN own;
END
$$;

-- The number of the caller's last write that an index may not hold yet; 0 when there is none.
CREATE FUNCTION kernel.own_clock() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT COALESCE((SELECT max(n) FROM kernel.tick
                      WHERE tenant_id = kernel.tenant() AND user_id = kernel.user_id()), 0)
$$;
ALTER FUNCTION kernel.own_clock OWNER TO pecia_system;
REVOKE ALL ON FUNCTION kernel.own_clock FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kernel.own_clock TO pecia_app;

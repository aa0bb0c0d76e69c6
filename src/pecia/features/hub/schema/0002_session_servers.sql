-- Servers that a client's session brought. Each session that uses one renews its hold; a server without holds is
-- removed. Servers of administrators and of the operator's file have no holds.
CREATE TABLE hub.hold (
    tenant_id uuid NOT NULL,
    server text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL CHECK (length(holder) BETWEEN 1 AND 64),
    until timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, server, holder),
    FOREIGN KEY (tenant_id, server) REFERENCES hub.server (tenant_id, name) ON DELETE CASCADE
);
CALL kernel.guard('hub.hold');
COMMENT ON TABLE hub.hold IS 'system-only: callers hold servers by hub.hold_server; pecia_app has no privilege here';

-- A session needs this server for so long; for no time, it needs it no more. `in_new`: it brought it just now.
-- False where there is no such server.
CREATE FUNCTION hub.hold_server(in_name text, in_holder text, in_seconds integer, in_new boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM hub.require_admin();
    IF in_new THEN
        UPDATE hub.server SET origin = 'session' WHERE tenant_id = kernel.tenant() AND name = in_name;
    END IF;
    INSERT INTO hub.hold AS h (tenant_id, server, holder, until)
    SELECT s.tenant_id, s.name, in_holder, now() + make_interval(secs => in_seconds) FROM hub.server s
     WHERE s.tenant_id = kernel.tenant() AND s.name = in_name AND s.origin = 'session'
    ON CONFLICT (tenant_id, server, holder) DO UPDATE SET until = EXCLUDED.until;
    RETURN EXISTS (SELECT 1 FROM hub.server s WHERE s.tenant_id = kernel.tenant() AND s.name = in_name);
END
$$;
ALTER FUNCTION hub.hold_server OWNER TO pecia_system;
REVOKE ALL ON FUNCTION hub.hold_server FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.hold_server TO pecia_app, pecia_system;

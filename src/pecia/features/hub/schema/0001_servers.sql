-- Upstream servers of a tenant and their tools. A tool's definition is stored as it was approved; a later change is
-- detected.

CREATE SCHEMA hub;
GRANT USAGE ON SCHEMA hub TO pecia_app;
GRANT USAGE, CREATE ON SCHEMA hub TO pecia_system;

CREATE TABLE hub.server (
    tenant_id uuid NOT NULL REFERENCES kernel.tenant ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
    origin text NOT NULL DEFAULT 'caller' CHECK (origin IN ('caller', 'file', 'session')),
    place jsonb NOT NULL CHECK (jsonb_typeof(place) = 'object'),
    options jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(options) = 'object'),
    enabled boolean NOT NULL DEFAULT true,
    readers integer[] NOT NULL DEFAULT '{}',
    position bigint GENERATED ALWAYS AS IDENTITY,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);
CREATE UNIQUE INDEX server_by_letters ON hub.server (tenant_id, lower(name));
CALL kernel.guard('hub.server');
COMMENT ON TABLE hub.server IS 'system-only: callers ask hub.servers, which shows those that are open to them; pecia_app has no privilege here';

-- `approved` is what callers are shown and what holds; `offered` is what the server says now, where that is
-- something else. A tool without `exposed` lost its name to another that was there before.
CREATE TABLE hub.tool (
    tenant_id uuid NOT NULL,
    server text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    exposed text COLLATE "C" CHECK (length(exposed) BETWEEN 1 AND 64),
    approved jsonb,
    offered jsonb,
    is_gone boolean NOT NULL DEFAULT false,
    seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, server, name),
    UNIQUE (tenant_id, exposed),
    FOREIGN KEY (tenant_id, server) REFERENCES hub.server (tenant_id, name) ON DELETE CASCADE,
    CHECK (approved IS NOT NULL OR offered IS NOT NULL)
);
CALL kernel.guard('hub.tool');
COMMENT ON TABLE hub.tool IS 'system-only: callers ask hub.tools, which shows those of servers that are open to them; pecia_app has no privilege here';

-- Notifies the processes that list tools.
CREATE FUNCTION hub.notify_tools() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('pecia_tools', COALESCE(NEW.tenant_id, OLD.tenant_id)::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER notified AFTER INSERT OR UPDATE OR DELETE ON hub.server
    FOR EACH ROW EXECUTE FUNCTION hub.notify_tools();
CREATE TRIGGER notified AFTER INSERT OR UPDATE OR DELETE ON hub.tool
    FOR EACH ROW EXECUTE FUNCTION hub.notify_tools();

-- Counted against the tenant's quota.
CREATE FUNCTION hub.count_servers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    INSERT INTO kernel.usage AS u (tenant_id, kind, used)
    SELECT t.id, 'upstreams', CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END FROM kernel.tenant t
     WHERE t.id = COALESCE(NEW.tenant_id, OLD.tenant_id)
    ON CONFLICT (tenant_id, kind) DO UPDATE SET used = u.used + EXCLUDED.used;
    RETURN NULL;
END
$$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON hub.server
    FOR EACH ROW EXECUTE FUNCTION hub.count_servers();

-- The servers open to the caller. Only administrators see their addresses.
CREATE FUNCTION hub.servers()
RETURNS TABLE (name text, origin text, place jsonb, options jsonb, enabled boolean, readers text[], version bigint, created_at timestamptz, changed_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT s.name, s.origin, CASE WHEN kernel.is_admin() THEN s.place END, s.options, s.enabled,
           CASE WHEN kernel.is_admin() THEN ARRAY(SELECT kernel.principal_name(it) FROM unnest(s.readers) AS it ORDER BY 1) END,
           s.version, s.created_at, s.changed_at
      FROM hub.server s
     WHERE s.tenant_id = kernel.tenant() AND kernel.is_member()
       AND (s.readers && kernel.me() OR kernel.is_admin())
     ORDER BY s.position
$$;

-- The tools of those, or of one, the servers in the order in which they came. `open`: the caller may call it;
-- `stamp`: another where what holds of it is another.
CREATE FUNCTION hub.tools(in_server text, in_name text)
RETURNS TABLE (server text, name text, exposed text, approved jsonb, offered jsonb, is_gone boolean, enabled boolean, open boolean, stamp text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT t.server, t.name, t.exposed, t.approved, t.offered, t.is_gone, s.enabled, s.readers && kernel.me(), md5(concat(t.exposed, t.approved))
      FROM hub.tool t JOIN hub.server s ON s.tenant_id = t.tenant_id AND s.name = t.server
     WHERE t.tenant_id = kernel.tenant() AND kernel.is_member()
       AND (s.readers && kernel.me() OR kernel.is_admin())
       AND (in_server IS NULL OR t.server = in_server) AND (in_name IS NULL OR t.name = in_name)
     ORDER BY s.position, t.name
$$;

CREATE FUNCTION hub.require_admin() RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF NOT kernel.may_administer() THEN
        RAISE EXCEPTION 'servers are for administrators to change' USING ERRCODE = 'PE403';
    END IF;
END
$$;

-- False where the name is taken.
CREATE FUNCTION hub.add_server(in_name text, in_place jsonb, in_options jsonb, in_readers integer[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM hub.require_admin();
    INSERT INTO hub.server (tenant_id, name, place, options, readers)
    VALUES (kernel.tenant(), in_name, in_place, in_options, in_readers) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- What is NULL stays as it is. False where there is no such server.
CREATE FUNCTION hub.set_server(in_name text, in_place jsonb, in_options jsonb, in_enabled boolean, in_readers integer[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM hub.require_admin();
    UPDATE hub.server s
       SET place = COALESCE(in_place, s.place), options = COALESCE(in_options, s.options),
           enabled = COALESCE(in_enabled, s.enabled), readers = COALESCE(in_readers, s.readers),
           version = s.version + 1, changed_at = now()
     WHERE s.tenant_id = kernel.tenant() AND s.name = in_name;
    RETURN FOUND;
END
$$;

CREATE FUNCTION hub.remove_server(in_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM hub.require_admin();
    IF EXISTS (SELECT 1 FROM hub.server s WHERE s.tenant_id = kernel.tenant() AND s.name = in_name AND s.origin = 'file') THEN
        RAISE EXCEPTION 'this server stands in a file of the operator; it can be switched off' USING ERRCODE = 'PE403';
    END IF;
    DELETE FROM hub.server s WHERE s.tenant_id = kernel.tenant() AND s.name = in_name;
    RETURN FOUND;
END
$$;

-- A tool as it now holds. One writer at a time decides on the names of a tenant.
CREATE FUNCTION hub.keep_tool(in_server text, in_name text, in_exposed text, in_approved jsonb, in_offered jsonb, in_gone boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM hub.require_admin();
    INSERT INTO hub.tool (tenant_id, server, name, exposed, approved, offered, is_gone)
    VALUES (kernel.tenant(), in_server, in_name, in_exposed, in_approved, in_offered, in_gone)
    ON CONFLICT (tenant_id, server, name) DO UPDATE
       SET exposed = EXCLUDED.exposed, approved = EXCLUDED.approved, offered = EXCLUDED.offered,
           is_gone = EXCLUDED.is_gone, seen_at = now();
END
$$;

ALTER FUNCTION hub.count_servers OWNER TO pecia_system;
ALTER FUNCTION hub.servers OWNER TO pecia_system;
ALTER FUNCTION hub.tools OWNER TO pecia_system;
ALTER FUNCTION hub.require_admin OWNER TO pecia_system;
ALTER FUNCTION hub.add_server OWNER TO pecia_system;
ALTER FUNCTION hub.set_server OWNER TO pecia_system;
ALTER FUNCTION hub.remove_server OWNER TO pecia_system;
ALTER FUNCTION hub.keep_tool OWNER TO pecia_system;
REVOKE ALL ON FUNCTION hub.count_servers, hub.servers, hub.tools, hub.require_admin, hub.add_server, hub.set_server,
    hub.remove_server, hub.keep_tool FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.servers, hub.tools, hub.require_admin, hub.add_server, hub.set_server, hub.remove_server, hub.keep_tool
    TO pecia_app, pecia_system;

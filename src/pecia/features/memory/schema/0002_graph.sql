-- The knowledge graph of each user. Every function below works on the caller's own graph and takes no other.

CREATE TABLE memory.node (
    tenant_id uuid NOT NULL,
    owner uuid NOT NULL,
    id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 1 AND 200),
    labels text[] NOT NULL CHECK (cardinality(labels) BETWEEN 1 AND 20),
    properties jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(properties) = 'object'),
    PRIMARY KEY (tenant_id, owner, id),
    FOREIGN KEY (tenant_id, owner) REFERENCES kernel.user_account (tenant_id, id) ON DELETE CASCADE
);
CALL kernel.guard('memory.node');
COMMENT ON TABLE memory.node IS 'system-only: callers ask memory.nodes, which gives their own; pecia_app has no privilege here';

CREATE TABLE memory.edge (
    tenant_id uuid NOT NULL,
    owner uuid NOT NULL,
    id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 1 AND 700),
    type text NOT NULL CHECK (length(type) BETWEEN 1 AND 100),
    start_id text COLLATE "C" NOT NULL,
    end_id text COLLATE "C" NOT NULL,
    properties jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(properties) = 'object'),
    PRIMARY KEY (tenant_id, owner, id),
    FOREIGN KEY (tenant_id, owner, start_id) REFERENCES memory.node (tenant_id, owner, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner, end_id) REFERENCES memory.node (tenant_id, owner, id) ON DELETE CASCADE
);
CREATE INDEX edge_from ON memory.edge (tenant_id, owner, start_id);
CREATE INDEX edge_to ON memory.edge (tenant_id, owner, end_id);
CALL kernel.guard('memory.edge');
COMMENT ON TABLE memory.edge IS 'system-only: callers ask memory.edges, which gives their own; pecia_app has no privilege here';

CREATE FUNCTION memory.nodes() RETURNS TABLE (id text, labels text[], properties jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT n.id, n.labels, n.properties FROM memory.node n
     WHERE n.tenant_id = kernel.tenant() AND n.owner = kernel.user_id() ORDER BY n.id
$$;

CREATE FUNCTION memory.edges() RETURNS TABLE (id text, type text, start_id text, end_id text, properties jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
    SELECT e.id, e.type, e.start_id, e.end_id, e.properties FROM memory.edge e
     WHERE e.tenant_id = kernel.tenant() AND e.owner = kernel.user_id() ORDER BY e.id
$$;

-- Checks that the caller may write, and locks the graph: one writer at a time.
CREATE FUNCTION memory.hold_graph() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    IF kernel.user_id() IS NULL OR NOT kernel.is_member() OR NOT kernel.has_scope('pecia.write') THEN
        RAISE EXCEPTION 'changing a graph needs a user and the scope pecia.write' USING ERRCODE = 'PE403';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(kernel.tenant() || 'graph' || kernel.user_id(), 1));
END
$$;

CREATE FUNCTION memory.put_node(in_id text, in_labels text[], in_properties jsonb, in_most integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    used bigint;
BEGIN
    PERFORM memory.hold_graph();
    INSERT INTO memory.node AS n (tenant_id, owner, id, labels, properties)
    VALUES (kernel.tenant(), kernel.user_id(), in_id, in_labels, in_properties)
    ON CONFLICT (tenant_id, owner, id) DO UPDATE SET labels = EXCLUDED.labels, properties = EXCLUDED.properties;
    SELECT count(*) INTO used FROM memory.node WHERE tenant_id = kernel.tenant() AND owner = kernel.user_id();
    IF used > in_most THEN
        RAISE EXCEPTION 'graph nodes' USING ERRCODE = 'PE429', DETAIL = in_most || ' ' || used;
    END IF;
END
$$;

CREATE FUNCTION memory.put_edge(in_id text, in_type text, in_start text, in_end text, in_properties jsonb, in_most integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
DECLARE
    used bigint;
BEGIN
    PERFORM memory.hold_graph();
    INSERT INTO memory.edge AS e (tenant_id, owner, id, type, start_id, end_id, properties)
    VALUES (kernel.tenant(), kernel.user_id(), in_id, in_type, in_start, in_end, in_properties)
    ON CONFLICT (tenant_id, owner, id) DO UPDATE
        SET type = EXCLUDED.type, start_id = EXCLUDED.start_id, end_id = EXCLUDED.end_id, properties = EXCLUDED.properties;
    SELECT count(*) INTO used FROM memory.edge WHERE tenant_id = kernel.tenant() AND owner = kernel.user_id();
    IF used > in_most THEN
        RAISE EXCEPTION 'graph edges' USING ERRCODE = 'PE429', DETAIL = in_most || ' ' || used;
    END IF;
END
$$;

-- The nodes go with their edges.
CREATE FUNCTION memory.drop_from_graph(in_nodes text[], in_edges text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = kernel, pg_temp AS $$
BEGIN
    PERFORM memory.hold_graph();
    DELETE FROM memory.edge WHERE tenant_id = kernel.tenant() AND owner = kernel.user_id() AND id = ANY (in_edges);
    DELETE FROM memory.node WHERE tenant_id = kernel.tenant() AND owner = kernel.user_id() AND id = ANY (in_nodes);
END
$$;

ALTER FUNCTION memory.nodes OWNER TO pecia_system;
ALTER FUNCTION memory.edges OWNER TO pecia_system;
ALTER FUNCTION memory.hold_graph OWNER TO pecia_system;
ALTER FUNCTION memory.put_node OWNER TO pecia_system;
ALTER FUNCTION memory.put_edge OWNER TO pecia_system;
ALTER FUNCTION memory.drop_from_graph OWNER TO pecia_system;
REVOKE ALL ON FUNCTION memory.nodes, memory.edges, memory.hold_graph, memory.put_node, memory.put_edge,
    memory.drop_from_graph FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory.nodes, memory.edges, memory.hold_graph, memory.put_node, memory.put_edge,
    memory.drop_from_graph TO pecia_app, pecia_system;

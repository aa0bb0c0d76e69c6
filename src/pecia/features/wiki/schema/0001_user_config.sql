-- A user's own settings of spaces, on a server. In local mode they are a file.

CREATE SCHEMA wiki;
GRANT USAGE ON SCHEMA wiki TO pecia_app;
GRANT USAGE, CREATE ON SCHEMA wiki TO pecia_system;

CREATE TABLE wiki.user_config (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    yaml text NOT NULL,
    PRIMARY KEY (tenant_id, user_id),
    FOREIGN KEY (tenant_id) REFERENCES kernel.tenant ON DELETE CASCADE
);
CALL kernel.guard('wiki.user_config');
COMMENT ON TABLE wiki.user_config IS 'system-only: each user asks wiki.my_config for their own; pecia_app has no privilege here';
GRANT SELECT, INSERT, UPDATE, DELETE ON wiki.user_config TO pecia_system;

CREATE FUNCTION wiki.my_config() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
    SELECT yaml FROM wiki.user_config WHERE tenant_id = kernel.tenant() AND user_id = kernel.user_id()
$$;

CREATE FUNCTION wiki.set_my_config(in_yaml text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    IF NOT kernel.is_member() OR NOT kernel.has_scope('pecia.write') OR kernel.user_id() IS NULL THEN
        RAISE EXCEPTION 'settings of your own need a user and the scope pecia.write' USING ERRCODE = 'PE403';
    END IF;
    INSERT INTO wiki.user_config (tenant_id, user_id, yaml) VALUES (kernel.tenant(), kernel.user_id(), in_yaml)
    ON CONFLICT (tenant_id, user_id) DO UPDATE SET yaml = EXCLUDED.yaml;
END
$$;

-- Purging a user deletes their settings.
CREATE FUNCTION wiki.forget_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wiki, pg_temp AS $$
BEGIN
    DELETE FROM wiki.user_config WHERE tenant_id = OLD.tenant_id AND user_id = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER wiki_config_forgotten AFTER DELETE ON kernel.user_account
    FOR EACH ROW EXECUTE FUNCTION wiki.forget_user();

ALTER FUNCTION wiki.my_config OWNER TO pecia_system;
ALTER FUNCTION wiki.set_my_config OWNER TO pecia_system;
ALTER FUNCTION wiki.forget_user OWNER TO pecia_system;
REVOKE ALL ON FUNCTION wiki.my_config, wiki.set_my_config, wiki.forget_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION wiki.my_config, wiki.set_my_config TO pecia_app, pecia_system;
